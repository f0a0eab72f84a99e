"""A judgement: the weighing of the sides of a conflict, by their evidence or by what a judge ruled (RS-3)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from interlock.catalogue import Text
from interlock.errors import InterlockError
from interlock.message.conflict import Conflict
from interlock.message.evidence import freshest, independent
from interlock.message.resolution import Resolution, Ruling

__all__ = ["resolve"]


def resolve(conflict: Conflict, ruling: Ruling | None = None) -> Conflict:
    """Give the conflict as a judge ruled, else as its evidence resolves it, else still open.

    Evidence resolves it if one side has more independent sources than every other one and none is fresher, or as many
    as the best of them and is fresher. Where number and freshness speak for different sides, it stays open.
    Raises InterlockError `conflict.other_ruling` or `conflict.no_side` if the ruling does not fit the conflict.
    """
    if ruling is not None:
        return replace(conflict, resolution=_ruled(conflict, ruling))
    return replace(conflict, resolution=_weighed(conflict))


def _ruled(conflict: Conflict, ruling: Ruling) -> Resolution:
    if ruling.conflict != conflict.key:
        raise InterlockError("conflict.other_ruling", value=ruling.conflict, accepted=conflict.key)
    for number, side in enumerate(conflict.sides):
        if ruling.value in side.values:
            reason = Text("conflict.by_judge", judge=ruling.judge, value=side.value, why=ruling.why)
            return Resolution(number, "judge", reason)
    values = [value for side in conflict.sides for value in side.values]
    raise InterlockError("conflict.no_side", value=ruling.value, accepted=values)


def _weighed(conflict: Conflict) -> Resolution | None:
    counts = [independent(side.evidence) for side in conflict.sides]
    times = [freshest(side.evidence) for side in conflict.sides]
    most = [number for number, count in enumerate(counts) if count == max(counts)]
    newest = _newest(times, most if len(most) > 1 else range(len(times)))
    if len(most) == 1 and newest in {None, most[0]}:
        side = conflict.sides[most[0]]
        others = max(count for number, count in enumerate(counts) if number != most[0])
        reason = Text("conflict.by_number", value=side.value, count=counts[most[0]], others=others)
        return Resolution(most[0], "evidence", reason)
    if len(most) > 1 and newest is not None and newest == _newest(times, range(len(times))):
        side, moment = conflict.sides[newest], times[newest]
        shown = moment.date().isoformat() if moment else ""
        return Resolution(newest, "evidence", Text("conflict.by_freshness", value=side.value, date=shown))
    return None


def _newest(times: Sequence[datetime | None], among: Sequence[int]) -> int | None:
    """Give the number of the one that is fresher than all others; None if it is not known of each, or none is."""
    known = {number: times[number] for number in among}
    moments = [moment for moment in known.values() if moment is not None]
    if len(moments) < len(known) or moments.count(max(moments)) > 1:
        return None
    return next(number for number, moment in known.items() if moment == max(moments))
