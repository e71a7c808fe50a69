"""Reading and writing of files: only regular files are read, up to a size limit, and a file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class NotAFileError(OSError):
    """A FIFO, a device or a directory, which might never end."""


class TooLargeError(OSError):
    """A file beyond a limit; the message says how to raise the limit."""


class Limit:
    """A limit that protects a reader, and that an environment variable may change. `variable`: its name; `default`: the limit if it
    is not set to a positive whole number."""

    def __init__(self, variable: str, default: int) -> None:
        self.variable, self.default = variable, default

    @property
    def value(self) -> int:
        text = os.environ.get(self.variable, "")
        return int(text) if text.isdecimal() and int(text) > 0 else self.default

    def over(self, what: str, found: int) -> str:
        """Return the rule that is broken, for an error message; empty if the limit is kept."""
        most = self.value
        return f"{what} {found} is over the limit of {most} (raise it by the environment variable {self.variable})" * (found > most)


DESCRIPTION_BYTES = Limit("QDDOT_MAX_DESCRIPTION_BYTES", 64 * 2**20)
"""Size of an XML file."""

DOCUMENT_BYTES = Limit("QDDOT_MAX_DOCUMENT_BYTES", 4 * 2**20)
"""Size of a TOML, JSON or YAML file; it takes more memory, since each value keeps its place."""

LOG_BYTES = Limit("QDDOT_MAX_LOG_BYTES", 2 * 2**30)
"""Unpacked size of a recording in memory."""

LOG_COLUMNS = Limit("QDDOT_MAX_LOG_COLUMNS", 10_000)

LOG_LINE = Limit("QDDOT_MAX_LOG_LINE", 10**6)
"""Length of a line of text in a recording, in characters."""


def refuse_irregular(path: str | os.PathLike[str] | int) -> None:
    """Refuse a path or handle that is not a regular file, before a library opens it. Raises NotAFileError: not a regular file."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotAFileError(f"it is {KINDS.get(stat.S_IFMT(mode), 'something else')} and not a file")


def open_regular(path: str | os.PathLike[str], flags: int = 0) -> BinaryIO:
    """Open a file for reading, without waiting, as opening a FIFO would. Raises NotAFileError: not a regular file."""
    never_wait = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, os.O_RDONLY | never_wait | flags)
    try:
        refuse_irregular(handle)
    except NotAFileError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_whole(path: str | Path, limit: Limit) -> bytes:
    """Return the content of a regular file. Raises NotAFileError: not a regular file; TooLargeError: over the limit; OSError: it
    cannot be read."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(size, limit.value) + 1)  # `read` makes a buffer of this size, so it is not always the limit's
        if rule := limit.over("file size", max(len(data), size)):
            raise TooLargeError(rule)
    return data


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, and rename it when it is complete. Raises OSError: the file cannot be written; the
    error names the path given."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    import secrets  # imported only here, since it imports hashes and random numbers

    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
        os.replace(draft, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None  # with this name, not the draft's
    finally:
        draft.unlink(missing_ok=True)
