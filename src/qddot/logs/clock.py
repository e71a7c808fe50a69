"""Dates and times of day as texts, `2024-01-31T12:00:00.5+01:00`: seconds that two of them lie apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

STAMP = re.compile(
    r"(?:(?P<day>\d{4}-\d{2}-\d{2})[T ])?(?P<time>\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?)(?:\s?(?P<offset>Z|[+-]\d{2}(?::?\d{2})?))?"
)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def is_clock(text: str) -> bool:
    """`2024-01-31T12:00:00.5`, `12:00:00.5`, both also with an offset from UTC: `Z`, `+01:00`, `-0530`."""
    return STAMP.fullmatch(text) is not None


def has_day(text: str) -> bool:
    """Whether a time comes with its date."""
    return (match := STAMP.fullmatch(text)) is not None and match["day"] is not None


def is_day(text: str) -> bool:
    """Whether a text is a date, such as `2024-01-31`."""
    return DAY.fullmatch(text) is not None


@dataclass(frozen=True)
class Clock:
    """The clock of a file: seconds are counted from midnight of the first row's day where that was written, so that a double holds
    them to a nanosecond."""

    first: str
    """the first row's date and time, as written"""

    def seconds(self, text: str) -> float:
        """Seconds since that midnight; offsets from UTC are taken off. Raises ValueError: no date, or one with more or less than
        the first: no time lies between `12:00` and `12:00+01:00`."""
        stamp, first = matched(text), matched(self.first)
        for part, what in (("day", "a date"), ("offset", "an offset from UTC")):
            if (stamp[part] is None) != (first[part] is None):
                has = "without" if stamp[part] is None else "with"
                raise ValueError(f"is {has} {what}, unlike the first row, {self.first}")
        hours, minutes, rest = stamp["time"].replace(",", ".").split(":")
        days = 0 if stamp["day"] is None else day_of(stamp["day"]) - day_of(first["day"])
        east = 0 if stamp["offset"] == first["offset"] else eastward(stamp["offset"]) - eastward(first["offset"])
        return 86400.0 * days + 3600 * int(hours) + 60 * int(minutes) - east + float(rest)


def matched(text: str) -> re.Match[str]:
    if (match := STAMP.fullmatch(text)) is None:
        raise ValueError("is no date and no time")
    return match


def day_of(text: str) -> int:
    """Number of a day, counted from the first of the calendar."""
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        raise ValueError("is no day of the calendar") from None


def eastward(offset: str) -> int:
    """Seconds by which a clock is ahead of UTC: 7200 of `+02:00`."""
    if offset == "Z":
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return (-1 if offset[0] == "-" else 1) * (3600 * int(digits[:2]) + 60 * int(digits[2:]))
