"""NCCL's environment, set before the first communicator, and what NCCL says about it."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timezone
from pathlib import Path

LOG = "NCCL_DEBUG_FILE"


def set_nccl_environment(settings: tuple[str, ...], out: Path, rank: int) -> None:
    """Set NAME=value pairs; NCCL then logs into a separate file of this rank and process."""
    if not settings:
        return
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NCCL_DEBUG", "WARN")
    own = str(out / f"nccl-{rank}-{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%S.%fZ}.log")
    # Whoever started this process may read its log too, and has named it by a pattern.
    given = os.environ.get(LOG, "")
    expanded = given.replace("%h", socket.gethostname().split(".")[0]).replace("%p", str(os.getpid()))
    os.environ[LOG] = expanded if "%p" in given else own
    for setting in settings:
        name, _, value = setting.partition("=")
        os.environ[name] = value


def observed_nccl(settings: tuple[str, ...]) -> dict[str, str | int]:
    """The asked variables as this process has them, and the warnings in the log so far."""
    names = [setting.partition("=")[0] for setting in settings]
    found = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    log = Path(os.environ.get(LOG, ""))
    said = log.read_text(errors="replace") if settings and log.is_file() else ""
    warnings = said.count(" WARN ")
    return {"nccl": " ".join(found) or "default", "nccl_warnings": warnings}
