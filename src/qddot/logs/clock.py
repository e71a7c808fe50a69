"""Seconds from dates and times of day as texts, `2024-01-31T12:00:00.5+01:00`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

STAMP = re.compile(
    r"(?:(?P<day>\d{4}[-/]\d{2}[-/]\d{2}|\d{1,2}\.\d{1,2}\.\d{4})(?:[T ]|, ?))?(?P<time>\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?)"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?(?:\s?(?P<offset>Z|[+-]\d{2}(?::?\d{2})?))?"
)
DAY = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}|\d{1,2}\.\d{1,2}\.\d{4}")


def is_clock(text: str) -> bool:
    """Return True for a time: `2024-01-31T12:00:00.5`, `31.01.2024 12:00:00,5`, `12:00:00.5`, `11:59:59 PM`, also with `Z` or
    `+01:00`."""
    return STAMP.fullmatch(text) is not None


def has_day(text: str) -> bool:
    """Return True if a time comes with its date."""
    return (match := STAMP.fullmatch(text)) is not None and match["day"] is not None


def is_day(text: str) -> bool:
    """Return True for a date in an unambiguous order: `2024-01-31`, `2024/01/31`, `31.01.2024`, but not `01/31/2024`."""
    return DAY.fullmatch(text) is not None


@dataclass(frozen=True)
class Clock:
    """The clock of a file: it counts seconds from local midnight of the first row's day, so that a double holds nanoseconds."""

    first: str
    """date and time of the first row, as written"""

    def seconds(self, text: str) -> float:
        """Return seconds since that midnight; different offsets from UTC are compensated. Raises ValueError: no time, or one whose
        parts differ from the first row's: `12:00` and `12:00+01:00` cannot be compared."""
        stamp, first = matched(text), matched(self.first)
        for part, what in (("day", "a date"), ("half", "AM or PM"), ("offset", "an offset from UTC")):
            if (stamp[part] is None) != (first[part] is None):
                has = "without" if stamp[part] is None else "with"
                raise ValueError(f"is {has} {what}, unlike the first row, {self.first}")
        hours, minutes, rest = stamp["time"].replace(",", ".").split(":")
        days = 0 if stamp["day"] is None else day_of(stamp["day"]) - day_of(first["day"])
        east = 0 if stamp["offset"] == first["offset"] else eastward(stamp["offset"]) - eastward(first["offset"])
        return 86400.0 * days + 3600 * hour_of(int(hours), stamp["half"]) + 60 * int(minutes) - east + float(rest)


def matched(text: str) -> re.Match[str]:
    """Return the parts of a time. Raises ValueError: the text is none."""
    if (match := STAMP.fullmatch(text)) is None:
        raise ValueError("is no date and no time")
    return match


def hour_of(hour: int, half: str | None) -> int:
    """Return the hour of the day, 0 to 23, from that of a 12-hour clock: 0 for 12 AM, 12 for 12 PM."""
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("has an hour that no clock with AM and PM has")
    return hour % 12 + (12 if half in "Pp" else 0)


def day_of(text: str) -> int:
    """Return the number of a day in the calendar. Raises ValueError: there is no such day."""
    parts = [int(part) for part in re.split(r"[-/.]", text)]
    try:
        return date(*(parts[::-1] if "." in text else parts)).toordinal()
    except ValueError:
        raise ValueError("is no day of the calendar") from None


def eastward(offset: str) -> int:
    """Return the seconds by which a clock is ahead of UTC: 7200 for `+02:00`."""
    if offset == "Z":
        return 0
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return (-1 if offset[0] == "-" else 1) * (3600 * int(digits[:2]) + 60 * int(digits[2:]))
