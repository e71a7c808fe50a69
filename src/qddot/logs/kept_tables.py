"""Cache for tables or logs that are read one by one, so that they are parsed and converted once and used in several passes."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from qddot.errors import InputError
from qddot.thresholds import KEPT_IN_MEMORY

T = TypeVar("T")


class Place(NamedTuple):
    """Position of a part in the file, and the numbers of bytes of its objects (`head`) and of each of its arrays."""

    start: int
    head: int
    arrays: list[int]


class Kept(Generic[T]):
    """Cached iterable: further passes read from a temporary file, a hundred times as fast as parsing text.

    A pass may end early; the next one continues reading the source where it ended.
    """

    def __init__(self, parts: Iterable[T]) -> None:
        self._parts = iter(parts)
        self._file = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # the file stays open, since the number of passes is unknown
        self._places: list[Place] = []
        self._error: InputError | None = None

    def __iter__(self) -> Iterator[T]:
        for k in count():
            if k == len(self._places) and not self._one_more():
                return
            yield self._read(self._places[k])

    def for_the_last_time(self) -> Iterator[T]:
        """Yield the cached parts, and then the rest without caching it."""
        for place in self._places:
            yield self._read(place)
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
        """Read another part and cache it; return False at the end. Raises InputError: the file cannot be read any further, or
        there is no space to cache the part."""
        if (part := self._next()) is None:
            return False
        self._keep(part)
        return True

    def _keep(self, part: T) -> None:
        """Write a part to the temporary file."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]  # views of the arrays' memory, which is written without a copy
        start = self._file.seek(0, 2)
        try:
            for data in (head, *arrays):
                self._file.write(data)
        except OSError as error:
            room = f"{tempfile.gettempdir()}: no room for a recording that is read piece by piece ({error.strerror})"
            raise InputError(f"{room}: name a folder with room in TMPDIR") from None
        self._places.append(Place(start, len(head), [array.nbytes for array in arrays]))

    def _read(self, place: Place) -> T:
        """Return a part, read from the temporary file."""
        self._file.seek(place.start)
        head = self._file.read(place.head)
        arrays = [np.empty(size, np.uint8) for size in place.arrays]
        for array in arrays:
            self._file.readinto(array.data)
            array.setflags(write=False)
        return pickle.loads(head, buffers=arrays)
