"""Rows of results, as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from timing import Spread

from robots import TITLES

TOLERANCE = 1e-6
"""A peer whose numbers differ by more, relative to the largest, is not computing the same."""


@dataclass(frozen=True)
class Row:
    """One comparison: times of one state in s; `ratio` is the peer's time over qddot's, of interleaved pairs."""

    work: str
    robot: str
    peer: str
    qddot: Spread
    other: Spread
    ratio: Spread
    deviation: float
    target: float | None = None

    @property
    def verdict(self) -> str:
        if not self.deviation < TOLERANCE:
            return "DIFFERENT NUMBERS"
        if self.ratio.median < 1:
            return "loses"
        if self.target is None:
            return ""
        return f"target {self.target:.3g} " + ("met" if self.ratio.median >= self.target else "MISSED")


HEAD = ("work", "robot", "qddot", "peer", "peer's time", "ratio", "quartiles", "deviation", "share of the limit", "")
MARKDOWN_HEAD = ("work", "robot", "qddot", "peer", "ratio", "spread")


def cells(row: Row, share: str) -> tuple[str, ...]:
    return (
        row.work,
        TITLES[row.robot],
        duration(row.qddot.median),
        row.peer,
        duration(row.other.median),
        factor(row.ratio.median),
        f"{factor(row.ratio.low)} .. {factor(row.ratio.high)}",
        f"{row.deviation:.0e}",
        share,
        row.verdict,
    )


def markdown_cells(row: Row) -> tuple[str, ...]:
    doubt = "" if row.deviation < TOLERANCE else " (other numbers)"
    peer = f"{row.peer}{doubt}: {duration(row.other.median)}"
    spread = f"{factor(row.ratio.low)} .. {factor(row.ratio.high)}"
    return row.work, TITLES[row.robot], duration(row.qddot.median), peer, factor(row.ratio.median), spread


def plain(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """ParameterSet as wide as needed."""
    widths = [max(len(line[k]) for line in (head, *lines)) for k in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in (head, *lines))


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table for a Markdown document."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines))


def duration(seconds: float) -> str:
    """In the unit that suits: `36 ns`, `1.2 us`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def factor(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def as_json(rows: Sequence[Row]) -> list[dict]:
    return [{**asdict(row), "verdict": row.verdict} for row in rows]
