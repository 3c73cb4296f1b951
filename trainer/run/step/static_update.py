"""An update whose inputs and outputs lie at fixed addresses on the device, so that a graph can replay it."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from trainer.contracts.term import Phase
from trainer.data.batches.feed import ResidentFeed
from trainer.optimizer.learning_rate import RateSchedule
from trainer.run.step.learner import Learner


class StaticUpdate:
    """`put` the number of a step, then `run` its phase: the same calls for every step of a phase."""

    def __init__(self, learner: Learner, feed: ResidentFeed) -> None:
        config, device = learner.config, learner.world.device
        self.learner, self.feed = learner, feed
        numbers = self._pair_numbers(1)
        # Step and pair numbers side by side: one copy brings both.
        self._inputs = torch.empty(1 + numbers.size, dtype=torch.int64, device=device)
        self._step, self._numbers = self._inputs[0], self._inputs[1:].view(*numbers.shape)
        self._rates = rate_table(learner.rates).to(device)
        # The losses of a window are read together at its end; until then none may be overwritten.
        self.losses = torch.zeros(config.train.window_updates, device=device)
        self.norms = None if config.optimizer.clip_norm is None else torch.zeros_like(self.losses)
        self.skips = torch.zeros_like(self.losses) if learner.scaled_step.skips_on_device else None

    def put(self, step: int) -> None:
        """Bring the inputs of a step to the device, without waiting for it."""
        inputs = torch.from_numpy(np.append(step, self._pair_numbers(step)))
        on_gpu = self._inputs.device.type == "cuda"
        self._inputs.copy_(inputs.pin_memory() if on_gpu else inputs, non_blocking=True)

    def run(self, phase: Phase) -> None:
        """The whole update, by operations on tensors alone."""
        rate = self._rates.index_select(0, self._step[None])[0]
        batches = map(self.feed.pairs.read, self._numbers)
        loss, norm = self.learner.work(self._step, rate, batches, phase)
        slot = (self._step % len(self.losses))[None]
        self.losses.index_copy_(0, slot, loss[None])
        if self.norms is not None:
            self.norms.index_copy_(0, slot, norm[None])
        if self.skips is not None:
            self.skips.index_copy_(0, slot, self.learner.scaled_step.skipped[None])

    def loss(self, step: int) -> Float[Tensor, ""]:
        """The loss of a step, for as long as a window is; likewise the norm, and whether it was skipped."""
        return self.losses[step % len(self.losses)]

    def norm(self, step: int) -> Float[Tensor, ""] | None:
        return None if self.norms is None else self.norms[step % len(self.norms)]

    def skipped(self, step: int) -> Float[Tensor, ""] | bool:
        return False if self.skips is None else self.skips[step % len(self.skips)]

    def _pair_numbers(self, step: int) -> np.ndarray:
        """Numbers of this rank's pairs, (micro-steps, pairs)."""
        share = self.feed.share
        return np.stack([share.pairs(step, micro_step) for micro_step in range(share.micro_steps)])


def rate_table(schedule: RateSchedule) -> Float[Tensor, " steps"]:
    """Learning rate by step; entry 0 is of no step."""
    rates = [schedule.rate(step) for step in range(1, schedule.cut.steps + 1)]
    return torch.tensor([0.0, *rates])
