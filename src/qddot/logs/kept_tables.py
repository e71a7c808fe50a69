"""Tables of files that are gone through several times and parsed once."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from itertools import count

from qddot.errors import InputError
from qddot.logs.table import Table
from qddot.thresholds import KEPT_IN_MEMORY


class KeptTables:
    """Tables as they are read, which further passes take from a temporary file: doubles are read a hundred times as fast as text.

    A pass may end early; the next one goes on reading where it ended.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = iter(tables)
        self._file = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # not before, for nobody knows how many passes there are
        self._places: list[int] = []
        self._error: InputError | None = None

    def __iter__(self) -> Iterator[Table]:
        for k in count():
            if k == len(self._places) and not self._one_more():
                return
            self._file.seek(self._places[k])
            yield pickle.load(self._file)

    def _one_more(self) -> bool:
        """Read another table and keep it; False where there is none.

        Raises:
            InputError: the file cannot be read any further, or there is no room for what was read.
        """
        if self._error is not None:
            raise self._error
        try:
            table = next(self._tables, None)
        except InputError as error:
            self._error = error
            raise
        if table is None:
            return False
        end = self._file.seek(0, 2)
        try:
            pickle.dump(table, self._file, protocol=5)
        except OSError as error:
            room = f"{tempfile.gettempdir()}: no room for a recording that is read piece by piece ({error.strerror})"
            raise InputError(f"{room}: name a folder with room in TMPDIR") from None
        self._places.append(end)
        return True
