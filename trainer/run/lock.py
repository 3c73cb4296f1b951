"""One training at a time in a folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from trainer.errors import ConfigError
from trainer.process.world import World

LOCK = "training.lock"  # stays, empty: who removed it could take it from one that has just opened it

_held: list[TextIO] = []


@contextmanager
def hold_folder(out: Path, world: World) -> Iterator[None]:
    """Hold the folder of a training; ConfigError on every rank if another training holds it.

    A training that does not come to its end holds it until its process ends: a thread may still be writing.
    """
    trouble = _take(out) if world.rank == 0 else ""
    if troubles := list(filter(None, world.gather_text(trouble))):
        raise ConfigError(f"--out: {out}: {troubles[0]}")
    yield
    if world.rank == 0:
        _held.pop().close()


def _take(out: Path) -> str:
    """Return what is in the way of holding it, or nothing.

    Not flock: the data loader's workers would hold that too, and live a little longer than a killed run.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        file = (out / LOCK).open("a")
    except OSError as error:
        return f"{LOCK} cannot be written in it: {error.strerror}; name another folder"
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return "another training is running in it; name another folder, or wait until it ends"
    except OSError:
        pass  # a file system without locks
    _held.append(file)
    return ""
