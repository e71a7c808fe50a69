"""Machine code kept on disk, so that a robot compiled once starts at once the next time.

The key is a digest of everything the code follows from: the IR itself (which holds model, quantity, options and precision), the
processor and its features, LLVM's version and the effort. So an entry can be missing or broken, but never stale.

To load machine code is a decision to trust it. An entry is loaded only from a directory and a file that belong to this user alone,
and only if its seal is right: a keyed digest of its key and its code, by a secret that lies beside the entries. So an entry that
was damaged, exchanged with another, or made elsewhere and copied here is made again. Entries are written beside their place and
moved there in one step. A directory that cannot be used means no cache, and nothing else.

QDDOT_CACHE names another directory; `off` turns the cache off.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from qddot.files import open_regular

VARIABLE = "QDDOT_CACHE"
MAGIC = b"qddot machine code 2\n"
DIGEST = hashlib.sha256().digest_size
MOST = 2**30  # bytes of an entry
SECRET = "secret"


def directory() -> Path | None:
    """Where the cache is, if there is to be one."""
    asked = os.environ.get(VARIABLE)
    if asked is not None and asked.strip().lower() in ("", "0", "off", "no", "false"):
        return None
    try:
        return Path(asked).expanduser() if asked else usual_place(sys.platform, os.environ) / "qddot"
    except RuntimeError:  # no home, or none of that name
        return None


def usual_place(system: str, environment: Mapping[str, str]) -> Path:
    """Where a system keeps what programs can make again."""
    given = environment.get("XDG_CACHE_HOME") or (environment.get("LOCALAPPDATA") if system == "win32" else None)
    return Path(given) if given else Path.home() / ("Library/Caches" if system == "darwin" else ".cache")


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
        keep(folder, path, found)
    return found


def read(folder: Path, path: Path) -> bytes | None:
    """The code of an entry, or None if it is missing, damaged, another's, or not ours alone."""
    try:
        if not all(is_private(place.stat()) for place in (folder, path.parent)):
            return None
        secret, content = private(folder / SECRET), private(path)
    except (OSError, ValueError):
        return None
    start = len(MAGIC) + DIGEST
    code = content[start:]
    sound = content.startswith(MAGIC) and hmac.compare_digest(seal(secret, path.name, code), content[len(MAGIC) : start])
    return code if sound and len(secret) == DIGEST else None


def private(path: Path) -> bytes:
    """The content of a file that no other user could have written; nothing of any other."""
    with open_regular(path, getattr(os, "O_NOFOLLOW", 0)) as file:
        status = os.fstat(file.fileno())
        return file.read(status.st_size) if is_private(status) and status.st_size <= MOST else b""


def seal(secret: bytes, key: str, code: bytes) -> bytes:
    """Digest that binds code to its key and to this cache."""
    return hmac.digest(secret, key.encode() + b"\0" + code, "sha256")


def is_private(status: os.stat_result) -> bool:
    """True if no other user could have put code there. Windows has no owners here: a user's folders are closed to others."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def keep(folder: Path, path: Path, code: bytes) -> None:
    """Write an entry as a whole or not at all; what cannot be written is not kept."""
    with contextlib.suppress(OSError, ValueError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        write(path, MAGIC + seal(secret_of(folder), path.name, code) + code)


def secret_of(folder: Path) -> bytes:
    """The secret of a cache, made when it is first needed; of several processes that make one, the first wins."""
    path = folder / SECRET
    with contextlib.suppress(FileNotFoundError):
        if len(found := private(path)) == DIGEST:
            return found
        path.unlink()  # damaged, or not ours alone
    with contextlib.suppress(FileExistsError):
        write(path, secrets.token_bytes(DIGEST), os.link)
    return private(path)


def write(path: Path, content: bytes, move: Callable[[str, Path], None] = os.replace) -> None:
    """Write a file for this user alone, beside its place, then move it there in one step."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix="draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        move(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def entries() -> list[Path]:
    """Every file in the cache but its secret."""
    folder = directory()
    if folder is None or not folder.is_dir():
        return []
    ours = re.compile(r"[0-9a-f]{2}/([0-9a-f]{64}|draft-\w+)|draft-\w+")
    found = (*folder.glob("??/*"), *folder.glob("draft-*"))
    return [p for p in found if p.is_file() and ours.fullmatch(p.relative_to(folder).as_posix())]


def clear() -> int:
    """Delete every entry, but those that Windows keeps because they are in use; returns how many are gone."""
    gone = 0
    for path in entries():
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            gone += 1
    return gone
