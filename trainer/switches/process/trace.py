"""A Chrome trace of a few updates, once everything has warmed up."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from trainer.config.speed_rules import UNTRACED_UPDATES
from trainer.errors import CannotWrite
from trainer.process.folders import LAST, refusal_told

TRACES = "trace-*.json"  # of all ranks


class Trace:
    """Records `count` updates of one rank into trace-RANK.json, behind the UNTRACED_UPDATES of this process.

    Of a resumed run that has fewer steps left, as many as there are.
    """

    def __init__(self, count: int, steps: int, out: Path, rank: int) -> None:
        """steps: those of this process, which need not start at step 1."""
        self.updates = max(0, min(count, steps - UNTRACED_UPDATES))
        self.done = 0
        self.path = out / TRACES.replace("*", str(rank))
        self.profiler: profile | None = None

    def before(self) -> None:
        if self.done != UNTRACED_UPDATES or not self.updates:
            return
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self.profiler = profile(activities=activities)
        self.profiler.start()

    def after(self) -> None:
        self.done += 1
        if self.done == UNTRACED_UPDATES + self.updates:
            self.close()

    def close(self) -> None:
        """Write what is recorded so far."""
        profiler, self.profiler = self.profiler, None  # once, also where it cannot be written
        if profiler is None:
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        profiler.stop()
        _write(profiler, self.path)


def _write(profiler: profile, path: Path) -> None:
    """Raise CannotWrite where the system refuses: torch is silent, and leaves half a trace by either name."""
    partial = path.with_name(f"{path.name}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # of an earlier profile
    profiler.export_chrome_trace(str(path))
    try:
        with refusal_told(path, resumes_from=path.parent / LAST):
            with (path if path.exists() else partial).open("ab") as trace:
                trace.write(b"\n")  # which it refuses as well, and says why
            if not path.exists() or not _is_whole(path):  # refused, and there is room again
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except CannotWrite:
        for part in (path, partial):
            part.unlink(missing_ok=True)  # it may be what fills the disk
        raise


def _is_whole(trace: Path) -> bool:
    try:
        json.loads(trace.read_bytes())
    except ValueError:
        return False
    return True
