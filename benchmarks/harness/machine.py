"""What a measurement was made on and of, for its record."""

from __future__ import annotations

import subprocess
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


def commit() -> str:
    """What is checked out; unknown where there is no git or no repository."""
    # Without the last a tag's name comes in place of the commit.
    return _said_by("git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*") or "unknown"


def gpu() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


def driver() -> str | None:
    """Version of NVIDIA's driver; None where there is no GPU, or no nvidia-smi to say it."""
    if not torch.cuda.is_available():
        return None
    versions = _said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return versions.splitlines()[0] if versions else None


def _said_by(*command: str) -> str | None:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
