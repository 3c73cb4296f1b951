"""Folders that a command writes into."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from trainer.errors import CannotWrite, ConfigError, refusal_of_system

LAST, BEST = "checkpoint.pt", "checkpoint-best.pt"  # in the folder of a training


def make_folder(folder: Path, option: str) -> None:
    """Make sure that files can be written there; ConfigError names the option."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "no permission to write there"
    except OSError as error:
        reason = os.strerror(error.errno)
    if reason:
        raise ConfigError(f"{option}: {folder} cannot be written ({reason}); name another folder")


@contextlib.contextmanager
def refusal_told(path: Path, *, resumes_from: Path | None = None) -> Iterator[None]:
    """CannotWrite where the system refuses; a run with a checkpoint can be resumed from that."""
    try:
        yield
    except Exception as error:
        if refusal := refusal_of_system(error):
            resumable = resumes_from is not None and resumes_from.is_file()
            raise CannotWrite(path.name, path.parent, refusal, resumable=resumable) from error
        raise
