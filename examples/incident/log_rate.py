"""A rate: counts over time in bucketed steps whose width grows with the span, so that any span has few
buckets.
"""

from collections import Counter
from collections.abc import Mapping

__all__ = ["Histogram", "core_span", "fitting_width", "merged"]

WIDTHS = (
    1,
    5,
    15,
    60,
    300,
    900,
    3600,
    14400,
    86400,
    604800,
    6048000,
    60480000,
    604800000,
    6048000000,
    60480000000,
)
"""Seconds (or lines, where a log has no times). Each divides the next, so that buckets can be joined."""
STRAGGLERS = 1000


class Histogram:
    """Counts of happenings over a position (seconds or lines), in at most `limit` buckets of equal width."""

    __slots__ = ("_level", "counts", "limit")

    def __init__(self, limit: int = 240) -> None:
        self.limit = limit
        self.counts: Counter[int] = Counter()
        self._level = 0

    @property
    def width(self) -> int:
        """How wide a bucket is, in seconds or lines."""
        return WIDTHS[self._level]

    def add(self, position: float, count: int = 1) -> None:
        """Count something at a position."""
        self.counts[int(position // WIDTHS[self._level])] += count
        while len(self.counts) > self.limit and self._level + 1 < len(WIDTHS):
            self.widen(WIDTHS[self._level + 1])

    def widen(self, width: int) -> None:
        """Join buckets until they are at least `width` wide."""
        while self.width < width:
            factor = WIDTHS[self._level + 1] // self.width
            joined: Counter[int] = Counter()
            for index, count in self.counts.items():
                joined[index // factor] += count
            self.counts = joined
            self._level += 1


def core_span(histogram: Histogram) -> tuple[float, float]:
    """Give where what was counted begins and ends, leaving out stragglers that lie far from all the rest.

    One line with the date of 1970 in a log of today would otherwise leave today in a single bucket.
    Stragglers are at most one in STRAGGLERS, and leaving them out must cut the span to less than half.
    """
    indexes = sorted(histogram.counts)
    allowed = sum(histogram.counts.values()) // STRAGGLERS
    first, last = 0, len(indexes) - 1
    while first < last:
        cheaper = first if histogram.counts[indexes[first]] <= histogram.counts[indexes[last]] else last
        allowed -= histogram.counts[indexes[cheaper]]
        if allowed < 0:
            break
        first, last = (first + 1, last) if cheaper == first else (first, last - 1)
    if indexes[last] - indexes[first] + 1 >= (indexes[-1] - indexes[0] + 1) / 2:
        first, last = 0, len(indexes) - 1
    return float(indexes[first] * histogram.width), float((indexes[last] + 1) * histogram.width - 1)


def merged(histogram: Histogram, width: int) -> Mapping[int, int]:
    """Give the counts by bucket at a width that is no narrower than the histogram's own."""
    histogram.widen(width)
    return histogram.counts


def fitting_width(first: float, last: float, buckets: int) -> int:
    """Give the narrowest width that covers a span in at most so many buckets."""
    return next((width for width in WIDTHS if last // width - first // width + 1 <= buckets), WIDTHS[-1])
