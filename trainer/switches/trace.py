"""A Chrome trace of a few updates, once everything has warmed up."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

SKIPPED = 10  # updates before the window


class Trace:
    """Records `count` updates of one rank, behind the first SKIPPED of this process, into trace-RANK.json."""

    def __init__(self, count: int, out: Path, rank: int) -> None:
        self.first, self.last = SKIPPED + 1, SKIPPED + count
        self.done = 0  # counted here, since a resumed run does not start at step 1
        self.path = out / f"trace-{rank}.json"
        self.profiler: profile | None = None

    @property
    def updates(self) -> int:
        return self.last - SKIPPED

    def before(self) -> None:
        if self.done + 1 != self.first or self.last < self.first:
            return
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self.profiler = profile(activities=activities)
        self.profiler.start()

    def after(self) -> None:
        self.done += 1
        if self.profiler is None or self.done != self.last:
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.profiler.stop()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.profiler.export_chrome_trace(str(self.path))
        self.profiler = None
