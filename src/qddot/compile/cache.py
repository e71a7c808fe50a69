"""The cache of machine code on disk, so that a robot that was compiled once starts faster the next time.

The key is a digest of everything that determines the code: the IR itself (which contains model, quantity, options and precision),
the processor and its features, LLVM's version, its target and the optimisation level. So an entry can be missing
or broken, but never stale.

Loading machine code means trusting it. An entry is loaded only from a directory and a file that belong to this user alone, and only
if its seal is right: a keyed digest of its key and its code, by a secret file beside the entries. So an entry that was damaged,
exchanged with another, or made elsewhere and copied here is made again. Entries are written to a draft file and moved to their
place in one step. If the directory cannot be used there is no cache, and no error.

QDDOT_CACHE names another directory; `off` turns the cache off.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from qddot.files import open_regular

VARIABLE = "QDDOT_CACHE"
MAGIC = b"qddot machine code 2\n"
DIGEST = hashlib.sha256().digest_size
MOST = 2**30  # bytes of an entry
SECRET = "secret"


def directory() -> Path | None:
    """Return the cache's directory, or None if it is turned off or cannot be determined."""
    asked = os.environ.get(VARIABLE)
    if asked is not None and asked.strip().lower() in ("", "0", "off", "no", "false"):
        return None
    try:
        return Path(asked).expanduser() if asked else usual_place(sys.platform, os.environ) / "qddot"
    except RuntimeError:  # no home, or none of that name
        return None


def usual_place(system: str, environment: Mapping[str, str]) -> Path:
    """Return the directory in which a system keeps caches."""
    given = environment.get("XDG_CACHE_HOME") or (environment.get("LOCALAPPDATA") if system == "win32" else None)
    return Path(given) if given else Path.home() / ("Library/Caches" if system == "darwin" else ".cache")


def recall(parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """Return the code for a key of these parts: from disk if there is a valid entry, else made now and kept if possible."""
    folder = directory()
    if folder is None:
        return make()
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = folder / key[:2] / key
    found = read(folder, path)
    if found is None:
        found = make()
        keep(folder, path, found)
    return found


def read(folder: Path, path: Path) -> bytes | None:
    """Return the code of an entry, or None if it is missing, damaged, another's, or writable by other users."""
    try:
        if not all(is_private(place.stat()) for place in (folder, path.parent)):
            return None
        secret, content = private(folder / SECRET), private(path)
    except (OSError, ValueError):
        return None
    start = len(MAGIC) + DIGEST
    code = content[start:]
    valid = content.startswith(MAGIC) and hmac.compare_digest(seal(secret, path.name, code), content[len(MAGIC) : start])
    return code if valid and len(secret) == DIGEST else None


def private(path: Path) -> bytes:
    """Return the content of a file that no other user could have written; nothing for any other file."""
    with open_regular(path, getattr(os, "O_NOFOLLOW", 0)) as file:
        status = os.fstat(file.fileno())
        return file.read(status.st_size) if is_private(status) and status.st_size <= MOST else b""


def seal(secret: bytes, key: str, code: bytes) -> bytes:
    """Return the keyed digest that binds code to its key and to this cache."""
    return hmac.digest(secret, key.encode() + b"\0" + code, "sha256")


def is_private(status: os.stat_result) -> bool:
    """Return True if no other user could have written there. On Windows it is always true: a user's folders are closed to
    others."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def keep(folder: Path, path: Path, code: bytes) -> None:
    """Write an entry as a whole or not at all; if it cannot be written, it is not kept."""
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        write(path, MAGIC + seal(secret_of(folder), path.name, code) + code)


def secret_of(folder: Path) -> bytes:
    """Return the secret of a cache, made when first needed; if several processes make one, the first wins."""
    path = folder / SECRET
    with contextlib.suppress(FileNotFoundError):
        if len(found := private(path)) == DIGEST:
            return found
        path.unlink()  # damaged, or writable by other users
    with contextlib.suppress(FileExistsError):
        write(path, os.urandom(DIGEST), os.link)
    return private(path)


def write(path: Path, content: bytes, move: Callable[[str, Path], None] = os.replace) -> None:
    """Write a file for this user alone, as a draft in the same directory that is then moved to its place in one step."""
    import tempfile  # takes 2 ms, and most programs only read

    handle, draft = tempfile.mkstemp(dir=path.parent, prefix="draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        move(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def entries() -> list[Path]:
    """Return every file in the cache except its secret."""
    folder = directory()
    if folder is None or not folder.is_dir():
        return []
    ours = re.compile(r"[0-9a-f]{2}/([0-9a-f]{64}|draft-\w+)|draft-\w+")
    found = (*folder.glob("??/*"), *folder.glob("draft-*"))
    return [p for p in found if p.is_file() and ours.fullmatch(p.relative_to(folder).as_posix())]


def clear() -> int:
    """Delete every entry, except those that Windows keeps because they are in use; return the number of deleted ones."""
    gone = 0
    for path in entries():
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            gone += 1
    return gone
