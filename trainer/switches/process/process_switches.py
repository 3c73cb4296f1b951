"""The switches of a process: cuDNN's autotuning, anomaly detection, clean-up, reads, trace, NCCL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from trainer.config.schema import SpeedConfig
from trainer.errors import Diverged
from trainer.process.world import World
from trainer.switches.process.memory_cleanup import MemoryCleanup
from trainer.switches.process.nccl import observed_nccl
from trainer.switches.process.outside_trace import outside_trace
from trainer.switches.process.trace import Trace


class ProcessSwitches:
    """On from its making until it is closed; `before` and `after` belong around every update.

    `read` and `clean_up` belong to it, and to its time.
    """

    def __init__(
        self, speed: SpeedConfig, steps: int, out: Path, world: World, *, detect_anomaly: bool = False
    ) -> None:
        """steps: how many this process takes."""
        self.nccl = speed.nccl
        torch.backends.cudnn.benchmark = speed.cudnn_autotune
        torch.autograd.set_detect_anomaly(detect_anomaly)
        self.metric_reads, self.updates_read = speed.metric_reads, 0
        self.cleanup = MemoryCleanup(speed.memory_cleanup_updates)
        self.trace = Trace(speed.trace_updates, steps, out, world.rank)
        self.outside_trace = outside_trace(world.device)

    def before(self) -> None:
        self.trace.before()

    def read(self, loss: Tensor, gradient_norm: Tensor | None) -> None:
        """Where it waits for the device, the device waits for the next update."""
        if self.metric_reads == "update":
            loss.item()
            if gradient_norm is not None:
                gradient_norm.item()
            self.updates_read += 1

    def clean_up(self, step: int) -> None:
        self.cleanup.clean_up(step)

    def after(self) -> None:
        self.trace.after()
        if self.outside_trace is not None:
            self.outside_trace.after_step()
        self.cleanup.settle()

    def effective(self) -> dict[str, str | int]:
        return {
            "cudnn_autotune": torch.backends.cudnn.benchmark,
            "detect_anomaly": torch.is_anomaly_enabled(),
            "metric_reads": self.metric_reads,
            "traced_updates": self.trace.updates,
            **self.cleanup.effective(),
            **observed_nccl(self.nccl),
        }

    def nccl_warnings(self) -> int | None:
        """Of this rank so far; None where none are asked for."""
        return observed_nccl(self.nccl)["nccl_warnings"] if self.nccl else None

    def close(self) -> None:
        torch.backends.cudnn.benchmark = False
        torch.autograd.set_detect_anomaly(False)
        self.cleanup.close()
        self.trace.close()
        if self.outside_trace is not None:
            self.outside_trace.finish()


@contextmanager
def anomaly_named(step: int) -> Iterator[None]:
    """Raise Diverged where anomaly detection, which has no error of its own, found a NaN."""
    try:
        yield
    except RuntimeError as error:
        found = re.match(r"Function '(.+)' returned nan values", str(error))
        if found is None:
            raise
        raise Diverged(step, f"the gradient of step {step} is nan, first in {found[1]}") from error
