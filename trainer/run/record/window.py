"""What the steps since the last `steps` event measured, over all ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trainer.errors import Diverged
from trainer.process.world import World
from trainer.run.record.metrics_file import MetricsFile


@dataclass(frozen=True)
class StepRecord:
    """Device tensors stay there until the window ends: reading one costs a wait."""

    loss: Tensor
    gradient_norm: Tensor | None
    samples: int  # over all ranks
    data_wait_seconds: float
    learning_rate: float
    compiled: bool
    skipped: bool | Tensor = False  # by a gradient scaler; a tensor is 1 or 0


@dataclass
class Window:
    first_step: int
    records: list[StepRecord] = field(default_factory=list)

    def report(self, seconds: list[float], world: World, metrics: MetricsFile) -> None:
        """Write the event from the numbers of all ranks, in one collective; all raise Diverged together."""
        losses = torch.stack([record.loss for record in self.records]).double()
        waits = [record.data_wait_seconds for record in self.records]
        host = torch.tensor([seconds, waits], dtype=torch.float64).to(world.device)
        everyone = world.gather(torch.cat([host, losses[None]])).cpu()  # (ranks, 3, steps)
        slowest, longest_wait = (_largest_sum(everyone[:, column]) for column in (0, 1))
        mean_loss = everyone[:, 2].mean(dim=0).tolist()
        finite = next((n for n, loss in enumerate(mean_loss) if not math.isfinite(loss)), len(mean_loss))
        if finite:
            self._write(finite, slowest, longest_wait, mean_loss, metrics)
        if finite < len(mean_loss):
            step = self.first_step + finite
            raise Diverged(step, f"the training loss of step {step} is {mean_loss[finite]}")

    def _write(
        self, steps: int, slowest: list[float], waits: list[float], losses: list[float], metrics: MetricsFile
    ) -> None:
        records = self.records[:steps]
        metrics.write(
            "steps",
            first_step=self.first_step,
            step_seconds=slowest[:steps],
            samples=[record.samples for record in records],
            train_loss=losses[:steps],
            learning_rate=[record.learning_rate for record in records],
            gradient_norm=_finite_or_null([record.gradient_norm for record in records]),
            data_wait_seconds=waits[:steps],
            skipped_updates=_count([record.skipped for record in records]),
        )
        for offset, record in enumerate(records):
            if record.compiled:
                metrics.phase("compile", slowest[offset], self.first_step + offset)


def _largest_sum(ranks: Tensor) -> list[float]:
    """The numbers of the rank whose sum is largest.

    Not the largest number of each step: a rank late to a collective makes its own step longer and the
    next one of all others, so that the time would count twice.
    """
    return ranks[ranks.sum(dim=1).argmax()].tolist()


def _finite_or_null(norms: list[Tensor | None]) -> list[float | None] | None:
    """Null for a step whose gradient overflowed; nothing where no norm is taken."""
    if norms[0] is None:
        return None
    return [norm if math.isfinite(norm) else None for norm in torch.stack(norms).tolist()]


def _count(skipped: list[bool | Tensor]) -> int:
    """One read where they lie on the device."""
    if isinstance(skipped[0], Tensor):
        return int(torch.stack(skipped).sum())
    return sum(skipped)
