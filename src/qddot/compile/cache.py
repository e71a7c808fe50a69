"""Machine code kept on disk, so that a robot compiled once starts at once the next time.

The key is a digest of everything the code follows from: the IR itself (which holds model, quantity, options and precision), the
processor and its features, LLVM's version and the effort. So an entry can be missing or broken, but never stale. Each file carries
a checksum of its content, is written beside its place and moved there in one step, and is only trusted in a directory that belongs
to this user alone. A directory that cannot be used means no cache, and nothing else.

QDDOT_CACHE names another directory; `off` turns the cache off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

VARIABLE = "QDDOT_CACHE"
MAGIC = b"qddot machine code 1\n"
DIGEST = hashlib.sha256().digest_size


def directory() -> Path | None:
    """Where the cache is, if there is to be one."""
    asked = os.environ.get(VARIABLE)
    if asked is not None and asked.strip().lower() in ("", "0", "off", "no", "false"):
        return None
    if asked:
        return Path(asked).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    try:
        return (Path(base) if base else Path.home() / ".cache") / "qddot"
    except RuntimeError:  # no home
        return None


def recall(parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """The code for these parts: from disk if it is there and sound, else made now and kept if possible."""
    folder = directory()
    if folder is None:
        return make()
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = folder / key[:2] / key
    found = read(folder, path)
    if found is None:
        found = make()
        keep(path, found)
    return found


def read(folder: Path, path: Path) -> bytes | None:
    """The content of an entry, or None if it is missing, damaged or not ours alone."""
    try:
        if not all(is_private(place.stat()) for place in (folder, path.parent)):
            return None
        with path.open("rb") as file:
            content = file.read() if is_private(os.fstat(file.fileno())) else b""
    except (OSError, ValueError):
        return None
    start = len(MAGIC) + DIGEST
    checksum, code = content[len(MAGIC) : start], content[start:]
    sound = content.startswith(MAGIC) and hashlib.sha256(code).digest() == checksum
    return code if sound else None


def is_private(status: os.stat_result) -> bool:
    """True if no other user could have put code there."""
    return os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def keep(path: Path, code: bytes) -> None:
    """Write an entry as a whole or not at all; what cannot be written is not kept."""
    with contextlib.suppress(OSError, ValueError):
        path.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix="draft-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(draft, path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise


def entries() -> list[Path]:
    """Every file in the cache."""
    folder = directory()
    if folder is None or not folder.is_dir():
        return []
    ours = re.compile(r"[0-9a-f]{2}/([0-9a-f]{64}|draft-\w+)")
    return [p for p in folder.glob("??/*") if p.is_file() and ours.fullmatch(p.relative_to(folder).as_posix())]


def clear() -> int:
    """Delete every entry; returns how many there were."""
    found = entries()
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
