"""Takes locks and holds them until its standard input ends, as it does when its parent does.

    python -I -S lock.py OWNER FILE ...

Prints `waiting HOLDER` for a lock that somebody holds, `locked` once all are taken, or `failed REASON`. The
locks are flock(2) on the files, which the kernel gives back however this process ends.
"""

import contextlib
import fcntl
import os
import select
import sys
from pathlib import Path

POLL_SECONDS = 0.2
MAX_OWNER_BYTES = 200


def main(arguments: list[str]) -> int:
    owner, files = arguments[0], arguments[1:]
    try:
        # In one order for everybody: two that want the same locks cannot wait for each other.
        for path in sorted(files):
            file = open_lock(Path(path))
            while True:
                if not take(file):
                    return 0
                if is_there(file, Path(path)):
                    break
                os.close(file)
                file = open_lock(Path(path))
            note_owner(file, owner)
    except OSError as error:
        tell("failed", error)
        return 1
    tell("locked")
    while not parent_is_gone(None):
        pass
    return 0


def open_lock(path: Path) -> int:
    """Opens the lock file, which any user may lock and nobody needs to write."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            # Without O_CREAT: fs.protected_regular refuses it for other users' files in a sticky folder.
            return os.open(path, os.O_RDWR | flags)
        except PermissionError:
            return os.open(path, os.O_RDONLY | flags)
        except FileNotFoundError:
            pass
        try:
            created = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
        except FileExistsError:
            continue
        os.fchmod(created, 0o666)  # whatever the umask
        return created


def take(file: int) -> bool:
    """Waits for the lock; False when the parent is gone first."""
    is_told = False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not is_told:
                tell("waiting", os.pread(file, MAX_OWNER_BYTES, 0).decode(errors="replace"))
            is_told = True
            if parent_is_gone(POLL_SECONDS):
                return False
        else:
            return True


def is_there(file: int, path: Path) -> bool:
    """Of a file that was removed meanwhile, everybody else takes the lock of the new one."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


def note_owner(file: int, owner: str) -> None:
    # It fails on another user's file: the lock counts all the same, the note is for people.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, owner.encode()[:MAX_OWNER_BYTES], 0)


def parent_is_gone(timeout_seconds: float | None) -> bool:
    readable, _, _ = select.select([0], [], [], timeout_seconds)
    return bool(readable) and os.read(0, 1) == b""


def tell(*words: object) -> None:
    # Escaped, since the note of another user may hold anything, line ends too.
    print(" ".join(map(str, words)).encode("unicode_escape").decode(), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
