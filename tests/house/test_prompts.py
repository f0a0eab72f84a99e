"""Prompts come from one place: whatever makes a request of a model stands in the resolver (PX-5)."""

import ast

import pytest

from tests.house.project import name_of, sources, tree_of

RESOLVER = "src/interlock/perspective/resolver.py"
MODELS = "src/interlock/connector/model/"
"""These read a request back whose stored bytes are sent again; they make none."""
MADE_THERE = {"Request", "Resolver"}


@pytest.mark.rule("PX-5", "PX-1")
def test_nothing_but_the_resolver_makes_a_prompt() -> None:
    makers = {
        (name_of(path), node.func.id)
        for path in sources("src")
        if not name_of(path).startswith(MODELS)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE_THERE
    }
    assert makers == {(RESOLVER, name) for name in MADE_THERE}
