"""One training at a time in a folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from trainer.errors import ConfigError
from trainer.run.world import World

LOCK = "training.lock"  # stays, empty: who removed it could take it from one that has just opened it


@contextmanager
def hold_folder(out: Path, world: World) -> Iterator[None]:
    """Hold the folder of a training; ConfigError on every rank if another training holds it."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOCK).open("a") if world.rank == 0 else nullcontext() as file:
        found = "held" if file and _is_held(file) else "free"
        if "held" in world.gather_text(found):
            raise ConfigError(
                f"--out: {out}: another training is running in it; name another folder or wait for its end"
            )
        yield


def _is_held(file: TextIO) -> bool:
    """Whether another process holds it; else this one does until it closes the file or ends, however that is.

    Not flock: the data loader's workers would hold that too, and live a little longer than a killed run.
    """
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # a file system without locks
        return False
    return False
