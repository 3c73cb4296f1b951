"""When a run saves its state, and what it saves."""

from __future__ import annotations

import time
from pathlib import Path

import torch
from torch import Tensor

from trainer.config import Config, to_plain
from trainer.data.splits import Data
from trainer.errors import Diverged
from trainer.process.clock import seconds_since_start
from trainer.process.world import World
from trainer.run.checkpoint.files import CheckpointWriter
from trainer.run.checkpoint.resume import Earlier
from trainer.run.record.metrics_file import MetricsFile
from trainer.run.step.learner import Learner


class CheckpointManager:
    """Saves every so many updates, at the end, and, where the config says so, each new best."""

    def __init__(
        self,
        config: Config,
        seed: int,
        out: Path,
        world: World,
        data: Data,
        earlier: Earlier,
    ) -> None:
        self.config, self.seed, self.world, self.data, self.earlier = config, seed, world, data, earlier
        self.best_val_loss = earlier.best_val_loss
        self.writer = CheckpointWriter(
            out if world.rank == 0 else None, asynchronous=config.speed.async_checkpoint
        )

    def is_due(self, step: int) -> bool:
        cut = self.config.cut
        return step == cut.steps or cut.is_due(step, self.config.train.checkpoint_every_updates)

    def save_if_due(self, step: int, learner: Learner, metrics: MetricsFile, val_loss: float | None) -> None:
        """Save if it is time to; all ranks call this, since a sharded state is gathered from all."""
        is_best = val_loss is not None and val_loss < self.best_val_loss
        if is_best:
            self.best_val_loss = val_loss
        saves_best = is_best and self.config.train.keep_best
        if not self.is_due(step) and not saves_best:
            return
        started = time.perf_counter()
        self.writer.close()  # the one before is whole, also where this one is refused
        learned = learner.state_dict()
        require_finite_weights(learned["model"], self.world, step)
        state = {
            **learned,
            "normalisation": self.data.train.normalisation,
            "data_hash": self.data.content_hash,
            "step": step,
            "seed": self.seed,
            "config": to_plain(self.config),
            "seconds": self.earlier.seconds + seconds_since_start(),
            "best_val_loss": self.best_val_loss,
            "metrics_bytes": metrics.bytes_after_run_start(),
            "resumed_at_steps": self.earlier.resumed_at_steps,
        }
        self.writer.write(state, best=saves_best)
        metrics.phase("checkpoint", time.perf_counter() - started, step)

    def close(self) -> None:
        """Wait for a write that is still under way."""
        self.writer.close()


def require_finite_weights(weights: dict[str, Tensor], world: World, step: int) -> None:
    """Raise Diverged on every rank, naming the first weight that is not finite on one of them.

    The loss of a step comes before its update: nothing else would have seen what that made of the weights.
    """
    finite = torch.stack([weight.isfinite().all() for weight in weights.values()]).int()
    everywhere = world.gather(finite).amin(dim=0).tolist()
    for name, is_finite in zip(weights, everywhere, strict=True):
        if not is_finite:
            raise Diverged(step, f"{name} is not finite after step {step}")
