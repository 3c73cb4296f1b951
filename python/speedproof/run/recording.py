"""What a run has measured so far, and how it becomes events."""

from __future__ import annotations

import atexit
import math
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from speedproof.profile.capture import Capture, capture_of_environment
from speedproof.run.clock import Clock, clock_for
from speedproof.run.events import EventWriter
from speedproof.run.metrics_file import MetricsFile, write_reason
from speedproof.run.ranks import OneProcess, Ranks, Row

# To write a window and to gather it from all ranks belongs to no step: of short steps it hides a part.
LEAST_STEPS, MOST_STEPS = 20, 500
WINDOW_SECONDS = 5.0
# Speedproof holds step seconds against when they are reported, and the last ones come at once.
STEPS_OF_A_LATE_REPORT = 2
NO_STEP = (
    "no optimizer step was seen. A captured step, an optimizer of your own, or one that is not a "
    "torch.optim.Optimizer calls no hook: call speedproof.Recorder in the loop instead"
)


@dataclass
class Step:
    """Tensors stay on their device until the step is reported: reading one costs a wait."""

    spans: list[tuple[Any, Any]]
    samples: int | None
    loss: float | torch.Tensor | None
    learning_rate: float | None
    skipped: bool | list[torch.Tensor]

    def is_skipped(self) -> bool:
        return any(bool(found) for found in self.skipped) if isinstance(self.skipped, list) else self.skipped


@dataclass
class Recording:
    folder: Path
    ranks: Ranks
    clock: Clock
    device: torch.device
    describe: Callable[[], dict[str, object]]  # what run_start says, read after the first steps
    _events: EventWriter | None = None  # on rank 0, while the run may still be measured
    _steps: list[Step] = field(default_factory=list)
    _spans: list[tuple[Any, Any]] = field(default_factory=list)
    _from: Any = None
    _shared: int = 0
    _window: int = LEAST_STEPS
    _reason: str | None = None
    _started: bool = False
    _end_rows: list[Row] | None = None
    _has_shared_end: bool = False
    _capture: Capture | None = None
    is_over: bool = False

    def __post_init__(self) -> None:
        if self.is_over:
            return
        if self.ranks.rank == 0:
            try:
                self._events = EventWriter(MetricsFile(self.folder), self.describe)
            except FileExistsError:
                self.is_over = True
                raise
        self._capture = capture_of_environment(self.device)
        _left_open.append((os.getpid(), self))

    @property
    def steps_taken(self) -> int:
        return self._shared + len(self._steps)

    @property
    def has_ended_steps(self) -> bool:
        return self._has_shared_end

    @property
    def is_paused(self) -> bool:
        return self._from is None

    def restart(self) -> None:
        """What happened since the last step belongs to none."""
        self._spans, self._from = [], self.clock.mark()

    def restart_at(self, mark: Any) -> None:
        self._spans, self._from = [], mark

    def pause(self) -> None:
        if self._from is not None:
            self._spans.append((self._from, self.clock.mark()))
            self._from = None

    def resume(self) -> None:
        if self._from is None:
            self._from = self.clock.mark()

    def end_step(
        self,
        mark: Any = None,
        samples: int | None = None,
        loss: float | torch.Tensor | None = None,
        learning_rate: float | None = None,
        skipped: bool | list[torch.Tensor] = False,
    ) -> None:
        """Count a step that ended at the mark, or now."""
        if self.is_over:
            return
        is_now = mark is None
        mark = self.clock.mark() if is_now else mark
        if self._from is not None:
            self._spans.append((self._from, mark))
        self._steps.append(Step(self._spans, samples, _kept(loss), learning_rate, skipped))
        self._spans, self._from = [], mark
        if self._is_due():
            self._share(self._window)
            # Writing and gathering belong to no step. A GPU that is not waited for does not see the former.
            if is_now and (self.ranks.waits or not self.clock.lag):
                self.restart()
        if self._capture is not None:
            self._capture.after_step()

    def _is_due(self) -> bool:
        late = len(self._steps) - self._window
        if late < 0 or not self.clock.lag:
            return late >= 0
        if self.ranks.waits:  # all at the same step, whatever the device of each has done
            return late >= STEPS_OF_A_LATE_REPORT
        spans = self._steps[self._window - 1].spans
        return late >= LEAST_STEPS or not spans or self.clock.has_passed(spans[-1][1])

    def between(self, event: str, **values: object) -> None:
        """An event after the steps so far."""
        if self._events and not self.is_over:
            self._events.add(self.steps_taken, event, values)

    def end_steps(self) -> None:
        """Report the steps that are left. No steps follow, though an evaluation may."""
        if self.is_over or self._has_shared_end:
            return
        self._has_shared_end = True
        if self._capture is not None:
            self._capture.finish()
        while self._steps:
            self._share(min(len(self._steps), self._window))
        if self._shared == 0 and self._reason is None:
            self._reason = NO_STEP
        self._share_start()
        self.ranks.share({"kind": "end", "reason": self._reason, "memory": self._memory()})
        missing = self.ranks.finish()
        self._combine()
        if missing and self._reason is None:
            self._refuse_in_file(missing)

    def close(self) -> None:
        """Report what is left, and that the run has finished."""
        if self.is_over:
            return
        self.end_steps()
        self.is_over = True
        if self._events:
            if self._end_rows:
                self._events.write_end(self._end_rows)
            self._events.close()

    def abandon(self) -> None:
        """End without run_end, after an error: other ranks may be gone."""
        self.is_over = True
        if self._events:
            self._events.close()

    def refuse(self, reason: str) -> None:
        """End with the reason why this cannot be measured, without waiting for other ranks."""
        if self.is_over:
            return
        self.is_over, self._reason = True, reason
        if self.ranks.rank == 0:
            self._refuse_in_file(reason)
        elif not self.ranks.waits:
            self.ranks.share({"kind": "end", "reason": reason, "memory": None})
            self.ranks.finish()

    def _refuse_in_file(self, reason: str) -> None:
        self._reason = reason
        say(f"not measured: {reason}")
        if self._events:
            self._events.close()
            self._events = None
            write_reason(self.folder, reason)

    def _share_start(self) -> None:
        if not self._started:
            self._started = True
            self.ranks.share({"kind": "start", "device": _device_name(self.device)})

    def _share(self, count: int) -> None:
        steps, self._steps = self._steps[:count], self._steps[count:]
        self._share_start()
        self._shared += count
        leading = self.ranks.share(
            {
                "kind": "steps",
                "seconds": [
                    sum(self.clock.seconds(start, end) for start, end in step.spans) for step in steps
                ],
                "samples": _column([step.samples for step in steps]),
                "loss": _column([None if step.loss is None else float(step.loss) for step in steps]),
                "learning_rate": _column([step.learning_rate for step in steps]),
                "skipped": [step.is_skipped() for step in steps],
            }
        )
        if self.ranks.waits or self.ranks.size == 1:  # else the ranks do not know each other's windows
            mean = math.fsum(leading["seconds"]) / count
            self._window = min(max(LEAST_STEPS, round(WINDOW_SECONDS / max(mean, 1e-9))), MOST_STEPS)
        self._combine()

    def _combine(self) -> None:
        """On rank 0: write what all ranks have shared."""
        for rows in self.ranks.complete():
            if self._events is None:
                continue
            reasons = [row["reason"] for row in rows if row.get("reason")]
            shapes = {(row["kind"], len(row.get("seconds", ()))) for row in rows}
            if reasons:
                self._refuse_in_file(reasons[0])
            elif len(shapes) > 1:
                self._refuse_in_file("the ranks took different numbers of optimizer steps")
            elif rows[0]["kind"] == "start":
                self._events.write_start(rows)
            elif rows[0]["kind"] == "steps":
                self._events.write_window(rows)
            else:
                self._end_rows = rows

    def _memory(self) -> dict[str, int] | None:
        if self.device.type != "cuda":
            return None
        return {
            "peak_memory_allocated_bytes": torch.cuda.max_memory_allocated(self.device),
            "peak_memory_reserved_bytes": torch.cuda.max_memory_reserved(self.device),
            "allocation_retries": torch.cuda.memory_stats(self.device)["num_alloc_retries"],
        }


def nothing_recorded() -> Recording:
    """One that is over before it begins."""
    device = torch.device("cpu")
    return Recording(Path(), OneProcess(), clock_for(device), device, dict, is_over=True)


_left_open: list[tuple[int, Recording]] = []


@atexit.register
def close_left_open() -> None:
    """At the end of the process that opened them, since an evaluation may come as late as that."""
    while _left_open:
        process, recording = _left_open.pop()
        # Steps that only a collective could still report are of a run that did not come to its end.
        if process == os.getpid() and recording.has_ended_steps:
            recording.close()


def say(text: str) -> None:
    print(f"speedproof: {text}", file=sys.stderr, flush=True)  # noqa: T201 - it has no other voice


def _kept(loss: float | torch.Tensor | None) -> float | torch.Tensor | None:
    if not isinstance(loss, torch.Tensor):
        return loss
    if loss.device.type == "cpu":
        return loss.item()
    return loss.detach().clone()  # a graph's static output is overwritten by the next replay


def _column(values: list[Any]) -> list[Any] | None:
    return None if any(value is None for value in values) else values


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU"
