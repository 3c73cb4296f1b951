"""Measures a training whose code is unchanged, by the hook that torch calls around each optimizer step.

One update is all calls of optimizers between two backward passes. It ends with the last of them.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from speedproof.run.clock import Clock, clock_for
from speedproof.run.metrics_file import NAME, write_reason
from speedproof.run.ranks import ByFiles, OneProcess, Ranks, ranks_by_environment
from speedproof.run.recording import NO_STEP, Recording, close_left_open, say
from speedproof.watch import readback
from speedproof.watch.patches import AutocastWatch, ScalerWatch, frames_inside, watch_backward

# DeepSpeed calls an optimizer once per group of parameters. More calls than this are several updates.
MOST_CALLS = 64
_STEPS = ("torch/optim/optimizer.py:wrapper", "speedproof/watch/patches.py:step")
_DEEPSPEED = ("deepspeed/runtime/zero/stage_1_and_2.py:step", "deepspeed/runtime/zero/stage3.py:step")

CAPTURED = "an optimizer step is captured in a CUDA graph, and a replay calls no hook"
IN_BACKWARD = "an optimizer steps inside the backward pass, so that updates have no end of their own"
NO_BACKWARD = (
    "an optimizer stepped again and again without a backward pass that torch.autograd saw, so that updates "
    "cannot be told apart"
)
ZERO = "DeepSpeed's ZeRO steps its optimizer in parts, whose end is not certain"
LATE = "a recorder started after optimizer steps that it does not know of"
INSTEAD = "Call speedproof.Recorder in the training loop instead."


class OptimizerHook:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scaler, self._autocast = ScalerWatch(), AutocastWatch()
        self._reset()

    def _reset(self) -> None:
        """A forked child is another process, which may train something else."""
        self._pid = os.getpid()
        self._recording: Recording | None = None
        self._clock: Clock | None = None
        self._start: Any = None
        self._depth = 0
        self._calls: dict[int, int] = {}  # of each optimizer in this update
        self._end: Any = None  # of this update, as far as it has come
        self._optimizers: dict[int, Any] = {}
        self._work: dict[str, str] = {}
        self._in_backward = 0
        self._backward_seen = False
        self._calls_without_backward = 0
        self._is_off = False
        self._has_failed = False
        self._lock = threading.RLock()

    def install(self) -> None:
        self._scaler.install()
        self._scaler.before, self._scaler.after = self._call_begins, self._call_ends
        self._autocast.install()
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: self._call_begins())
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self._call_ends(optimizer))
        watch_backward(self._around_backward)
        os.register_at_fork(after_in_child=self._reset)
        _before_every_exit(self)

    def stand_down(self, folder: Path) -> str | None:
        """Leave the measuring to a recorder that records into the same folder: it knows more.

        Return the reason where that is too late. A step of which nothing is written yet is a warm-up.
        """
        if self._is_off or folder.resolve() != self._folder.resolve():
            return None
        late = None if self._recording is None else LATE
        if late:
            self.refuse(late)
        self._switch_off()
        return late

    def _switch_off(self) -> None:
        self._is_off = True
        self._scaler.remove()
        self._autocast.remove()

    def refuse(self, reason: str) -> None:
        """End with the reason. The training itself goes on."""
        if self._is_off:
            return
        self._switch_off()
        reason = f"{reason}. {INSTEAD}"
        if self._recording is None:
            self._open()
        if self._recording is not None:
            self._recording.refuse(reason)

    def finish(self) -> None:
        """At the end of the process, whichever way it ends."""
        if self._pid != os.getpid() or self._is_off:
            return
        if self._calls:
            self._update_ends()
        self._is_off = True
        if self._recording is not None:
            self._recording.abandon() if self._has_failed else self._recording.close()
        elif self._backward_seen or self._calls_without_backward:
            rank, _ = ranks_by_environment()
            if rank == 0 and not (self._folder / NAME).exists() and not self._has_failed:
                say(f"not measured: {NO_STEP}")
                write_reason(self._folder, NO_STEP)

    def has_failed(self) -> None:
        self._has_failed = True

    def _call_begins(self) -> None:
        if self._is_off:
            return
        if self._in_backward:
            with self._lock:  # of the threads of the backward pass, the first tells
                self.refuse(IN_BACKWARD)
        elif torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
            self.refuse(CAPTURED)
        self._forget_calls_that_raised(1)
        self._depth += 1

    def _forget_calls_that_raised(self, own: int) -> None:
        """A call that raises has no end, and the script may go on. own: calls not counted yet."""
        if self._depth:
            self._depth = max(0, min(self._depth, frames_inside(*_STEPS) - own))

    def _call_ends(self, optimizer: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._is_off or self._depth:
            return
        if not self._backward_seen:
            self._calls_without_backward += 1
            if self._calls_without_backward > 2:  # one or two make the state before the training
                self.refuse(NO_BACKWARD)
            return
        key = id(optimizer)
        if key not in self._optimizers:
            self._optimizers[key] = optimizer
            if "deepspeed" in sys.modules and frames_inside(*_DEEPSPEED):
                self.refuse(ZERO)
                return
        self._calls[key] = self._calls.get(key, 0) + 1
        if self._calls[key] > MOST_CALLS:
            self.refuse(NO_BACKWARD)
        elif self._clock is not None:
            self._end = self._clock.mark()

    @contextmanager
    def _around_backward(self) -> Iterator[None]:
        if self._is_off:
            yield
            return
        if self._in_backward == 0:
            self._backward_begins()
        self._in_backward += 1
        try:
            yield
        finally:
            self._in_backward -= 1

    def _backward_begins(self) -> None:
        self._forget_calls_that_raised(0)
        if not self._backward_seen:
            self._backward_seen = True
            try:
                self._clock = clock_for(_device())
            except NotImplementedError as error:
                self.refuse(str(error))
                return
            self._start = self._clock.mark()
        if self._calls:
            self._update_ends()

    def _update_ends(self) -> None:
        if self._recording is None:
            self._open()
            if self._recording is None:
                return
            self._recording.restart_at(self._start)
            self._work = readback.work_of(self._plain_optimizers())
        self._recording.end_step(self._end, skipped=self._scaler.take())
        self._calls = {}

    def _open(self) -> None:
        try:
            device = _device()
            self._recording = Recording(
                self._folder, self._ranks(), self._clock or clock_for(device), device, self._describe
            )
        except FileExistsError as error:
            self._is_off = True
            reason = (
                f"{error.filename} exists: two processes trained as one rank, or an earlier run wrote there"
            )
            say(f"not measured: {reason}")
            write_reason(self._folder, reason)

    def _ranks(self) -> Ranks:
        rank, size = ranks_by_environment()
        return OneProcess() if size == 1 else ByFiles(self._folder, rank, size)

    def _plain_optimizers(self) -> list[Any]:
        return [readback.plain_optimizer(optimizer) for optimizer in self._optimizers.values()]

    def _describe(self) -> dict[str, object]:
        optimizers = self._plain_optimizers()
        parameters = readback.parameters_of(optimizers)
        return {
            "seed": readback.initial_seed(),
            "versions": readback.versions(),
            "parameter_count": readback.parameter_count(parameters),
            "effective": {
                **readback.effective(optimizers, parameters, None, self._autocast.seen),
                **self._work,
            },
            "work_keys": list(self._work) or None,
            # Nothing tells where a loop evaluates or writes a checkpoint.
            "steps_include": ["evaluation", "checkpoint"],
        }


active: OptimizerHook | None = None


def install(folder: str) -> None:
    global active
    if active is None:
        active = OptimizerHook(Path(folder))
        active.install()


def stand_down(folder: Path) -> str | None:
    return None if active is None else active.stand_down(folder)


def _device() -> torch.device:
    """Where a training runs whose process has begun to use a device."""
    if torch.cuda.is_initialized():
        return torch.device("cuda", torch.cuda.current_device())
    for name in ("mps", "xpu"):
        module = getattr(torch, name, None)
        is_initialized = getattr(module, "is_initialized", None)
        if is_initialized is not None and is_initialized():
            return torch.device(name)
    return torch.device("cpu")


def _before_every_exit(hook: OptimizerHook) -> None:
    """Finish at exit, and before os._exit, by which scripts and forked children leave without it."""
    atexit.register(hook.finish)
    leave, report = os._exit, sys.excepthook

    def leave_finished(status: int) -> Any:
        if status == 0:
            hook.finish()
            close_left_open()
        leave(status)

    def note_failure(*error: Any) -> None:
        hook.has_failed()
        report(*error)

    os._exit = leave_finished  # type: ignore[assignment]
    sys.excepthook = note_failure
