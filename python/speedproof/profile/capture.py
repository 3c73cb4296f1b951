"""Traces a few steps of the training that is recorded, where SPEEDPROOF_PROFILE names a folder.

A GPU is traced twice. The first trace has the GPU alone, since to record operators slows the host and with it
the step. The second, shorter one has the names of the operators, and what memory is for.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from speedproof.profile.memory import memory_at_peak, start_memory_history
from speedproof.run.ranks import ranks_by_environment

VARIABLE = "SPEEDPROOF_PROFILE"
WINDOWS = "windows.json"
# Compilation, autotuning and the capture of graphs are over by then, as a rule.
AFTER_STEPS = 12
WARM_UP = 1  # the profiler's own: the first step that it sees is slower
STEPS = {"gpu": 4, "operators": 2, "cpu": 3}


@dataclass
class Window:
    """A trace under way."""

    name: str
    profiler: profile
    seen: int = 0  # steps since it was started
    is_written: bool = False


@dataclass
class Capture:
    folder: Path
    pending: list[str]
    written: list[dict[str, object]] = field(default_factory=list)
    _window: Window | None = None
    _steps: int = 0

    def after_step(self) -> None:
        """Count a step. What goes wrong here is written down, and the training goes on."""
        self._steps += 1
        if not self.pending and self._window is None:
            return
        try:
            self._advance()
        except Exception as error:
            self._give_up(f"step {self._steps}: {error!r}")

    def finish(self) -> None:
        """At the end of the steps: a trace that has begun is written as far as it has come."""
        if self._window is not None:
            try:
                self._stop(self._window)
            except Exception as error:
                self._give_up(f"at the end: {error!r}")
        elif self.pending:
            self._give_up(
                f"the training took {self._steps} steps. It is traced after step {AFTER_STEPS}: take more"
            )

    def _advance(self) -> None:
        if self._window is None:
            if self._steps >= AFTER_STEPS:
                self._window = self._started(self.pending.pop(0))
            return
        self._window.seen += 1
        if self._window.seen == WARM_UP and torch.cuda.is_initialized():
            torch.cuda.synchronize()  # else what is left of this step counts for the next ones
        self._window.profiler.step()
        if self._window.seen == WARM_UP + STEPS[self._window.name]:
            self._stop(self._window)
            if self.pending:
                self._window = self._started(self.pending.pop(0))

    def _started(self, name: str) -> Window:
        activities = {
            "gpu": [ProfilerActivity.CUDA],
            "operators": [ProfilerActivity.CPU, ProfilerActivity.CUDA],
            "cpu": [ProfilerActivity.CPU],
        }[name]
        if name == "operators":
            start_memory_history()
        window = Window(name, profile(activities=activities, schedule=_schedule(name)))
        window.profiler.start()
        return window

    def _stop(self, window: Window) -> None:
        self._window = None
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        steps = max(0, window.seen - WARM_UP)
        window.profiler.stop()
        if steps == 0:
            raise RuntimeError(f"the training ended before the first step of the trace {window.name}")
        file = self.folder / f"{window.name}-trace.json.gz"
        window.profiler.export_chrome_trace(str(file))
        found: dict[str, object] = {"name": window.name, "file": file.name, "steps": steps}
        if window.name == "operators":
            found["memory"] = memory_at_peak()
        self.written.append(found)
        self._write({"windows": self.written})

    def _give_up(self, problem: str) -> None:
        self.pending, self._window = [], None
        # A full disk is told by the summary, which then finds nothing.
        with contextlib.suppress(OSError):
            self._write({"windows": self.written, "problem": problem})

    def _write(self, found: dict[str, object]) -> None:
        (self.folder / WINDOWS).write_text(json.dumps(found))


def _schedule(name: str) -> Callable[[int], Any]:
    # One step more than is waited for: at its own end the profiler would start again.
    return schedule(wait=0, warmup=WARM_UP, active=STEPS[name] + 1, repeat=1)


_taken: set[str] = set()  # a second profiler of a process would refuse to start


def capture_of_environment(device: torch.device) -> Capture | None:
    """None where nothing is to be traced: without the variable, on other ranks, and for a second recorder."""
    folder = os.environ.get(VARIABLE)
    rank, _ = ranks_by_environment()
    if not folder or rank != 0 or folder in _taken:
        return None
    _taken.add(folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Capture(Path(folder), ["gpu", "operators"] if device.type == "cuda" else ["cpu"])
