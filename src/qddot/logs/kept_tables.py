"""Cache for tables or logs that are read one by one, so that they are parsed and converted once and used in several passes."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Generic, TypeVar

from qddot.errors import InputError
from qddot.thresholds import KEPT_IN_MEMORY

T = TypeVar("T")


class Kept(Generic[T]):
    """Cached iterable: further passes read from a temporary file, a hundred times as fast as parsing text.

    A pass may end early; the next one continues reading the source where it ended.
    """

    def __init__(self, parts: Iterable[T]) -> None:
        self._parts = iter(parts)
        self._file = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # the file stays open, since the number of passes is unknown
        self._starts: list[int] = []
        self._error: InputError | None = None

    def __iter__(self) -> Iterator[T]:
        for k in count():
            if k == len(self._starts) and not self._one_more():
                return
            yield self._read(self._starts[k])

    def for_the_last_time(self) -> Iterator[T]:
        """Yield the cached parts, and then the rest without caching it."""
        yield from map(self._read, self._starts)
        while (part := self._next()) is not None:
            yield part

    def _next(self) -> T | None:
        """Return the next part of the source; None at its end. Raises InputError: the file cannot be read any further."""
        if self._error is not None:
            raise self._error
        try:
            return next(self._parts, None)
        except InputError as error:
            self._error = error
            raise

    def _one_more(self) -> bool:
        """Read another part and keep it; return False at the end."""
        part = self._next()
        if part is not None:
            self._keep(part)
        return part is not None

    def _keep(self, part: T) -> None:
        """Write a part to the temporary file. Raises InputError: there is no space for it."""
        start = self._file.seek(0, 2)
        try:
            pickle.dump(part, self._file, protocol=5)
        except OSError as error:
            room = f"{tempfile.gettempdir()}: no room for a recording that is read piece by piece ({error.strerror})"
            raise InputError(f"{room}: name a folder with room in TMPDIR") from None
        self._starts.append(start)

    def _read(self, start: int) -> T:
        self._file.seek(start)
        return pickle.load(self._file)
