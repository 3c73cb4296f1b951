"""NCCL's environment, set before the first communicator, and what NCCL says about it."""

from __future__ import annotations

import os
from pathlib import Path

LOG_NAME = "nccl-{rank}.log"


def set_nccl_environment(settings: tuple[str, ...], out: Path, rank: int) -> None:
    """Set NAME=value pairs; NCCL then logs into a file of this rank."""
    if not settings:
        return
    out.mkdir(parents=True, exist_ok=True)
    path = out / LOG_NAME.format(rank=rank)
    path.unlink(missing_ok=True)  # NCCL appends
    os.environ.setdefault("NCCL_DEBUG", "WARN")
    os.environ["NCCL_DEBUG_FILE"] = str(path)
    for setting in settings:
        name, _, value = setting.partition("=")
        os.environ[name] = value


def observed_nccl(settings: tuple[str, ...], out: Path, rank: int) -> dict[str, str | int]:
    """The asked variables as this process has them, and the warnings in the log so far."""
    names = [setting.partition("=")[0] for setting in settings]
    found = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    log = out / LOG_NAME.format(rank=rank)
    said = log.read_text(errors="replace") if settings and log.exists() else ""  # not that of an earlier run
    warnings = said.count(" WARN ")
    return {"nccl": " ".join(found) or "default", "nccl_warnings": warnings}
