"""Folders that a command writes into."""

import os
from pathlib import Path

from trainer.errors import ConfigError


def make_folder(folder: Path, option: str) -> None:
    """Make sure that files can be written there; ConfigError names the option."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK | os.X_OK) else "no permission to write there"
    except OSError as error:
        reason = os.strerror(error.errno)
    if reason:
        raise ConfigError(f"{option}: {folder} cannot be written ({reason}); name another folder")
