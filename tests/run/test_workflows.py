"""Real workflows: the graphs of scientific computations run to the end, with every dependency kept."""

import asyncio
import gzip
import json
import os
from pathlib import Path

import pytest

from tests.run.scene import go_through, play
from tests.run.work_scene import PLANNER, result, working
from tests.work_graph.scene import function

EIGHT = 8


def workflows():
    """Read the collected graphs: names, and by task the places of those it needs."""
    folder = os.environ.get("INTERLOCK_CASES")
    if not folder:
        pytest.skip("INTERLOCK_CASES names no folder of cases")
    with gzip.open(Path(folder) / "workflows" / "wfinstances.jsonl.gz", "rt") as file:
        for line in file:
            form = json.loads(line)
            yield form["name"], [needs for _, _, needs in form["nodes"]]


@pytest.mark.rule("WG-3")
def test_real_workflows_run_to_the_end_eight_at_once_with_all_dependencies_kept(tmp_path):
    async def story(folder, needs):
        running, most = set(), 0

        async def do(node):
            nonlocal most
            running.add(node.node)
            most = max(most, len(running))
            await asyncio.sleep(0)
            running.discard(node.node)
            return [node.node, *(name for given in node.inputs.values() for name in given[:1])]

        nodes = [function(f"t{place}", *(f"t{at}" for at in before)) for place, before in enumerate(needs)]
        async with working(folder, nodes, {"work:do": do}, work_at_once=EIGHT) as runtime:
            run = await go_through(runtime, PLANNER)
            found = await result(runtime, run)
            assert (found["status"], found["done"]) == ("complete", len(needs)) and not found["not_done"]
            done, under_way = set(), set()
            for kind, body, _ in run.works[0].told:
                place = int(body["node"][1:])
                if kind == "work.started":
                    assert {edge["from"] for edge in body["edges"]} == {f"t{at}" for at in needs[place]}
                    assert done >= set(needs[place])
                    under_way.add(place)
                    assert len(under_way) <= EIGHT
                else:
                    assert kind == "work.ended" and body["outcome"] == "done"
                    under_way.discard(place)
                    done.add(place)
            assert len(done) == len(needs) and most <= EIGHT

    for place, (_, needs) in enumerate(workflows()):
        folder = tmp_path / str(place)
        folder.mkdir()
        play(story(folder, needs))
