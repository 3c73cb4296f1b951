"""The learning rate of each step: linear warm-up, cosine, then its lowest, by the size of the batch."""

import math
from dataclasses import dataclass

from trainer.data.batches.update_cut import UpdateCut

LOWEST = 0.01  # of the largest rate


@dataclass(frozen=True)
class RateSchedule:
    learning_rate: float  # the largest, of a declared batch
    warmup_updates: int
    end: int  # update from which on it is lowest
    cut: UpdateCut

    def rate(self, step: int) -> float:
        """Learning rate of a step; steps count from 1, the first of the warm-up is not 0.

        A batch k times as large gets sqrt(k) of it: Adam's rule (Malladi et al. 2022, arXiv:2205.10287), and
        Muon's updates are scaled to the size of Adam's.
        """
        update, largest = self.cut.position(step), self._largest
        if update <= self.warmup_updates:
            return largest * update / self.warmup_updates
        return largest * self._falling(update)

    def effective(self) -> dict[str, str]:
        """When the rate is at its largest, and from when on at its lowest, by the rates of all steps."""
        return {"learning_rate_warm_up": self._warm_up(), "learning_rate_schedule": self._end()}

    def _warm_up(self) -> str:
        if self.warmup_updates == 0:
            return "none"
        for step in range(1, self.cut.steps + 1):
            if math.isclose(self.rate(step), self._largest):
                return f"largest at update {math.ceil(self.cut.position(step))}"
        return f"never largest in {self.cut.declared_updates} updates"

    def _end(self) -> str:
        updates = self.cut.declared_updates
        positions = (self.cut.position(step) for step in range(1, self.cut.steps + 1))
        falling = (update for update in positions if update > self.warmup_updates)
        first = next((update for update in falling if self._falling(update) == LOWEST), None)
        if first is None:
            return f"never lowest in {updates} updates"
        return f"lowest from update {math.ceil(first)} of {updates}"

    @property
    def _largest(self) -> float:
        return self.learning_rate * math.sqrt(self.cut.factor)

    def _falling(self, update: float) -> float:
        """Share of the largest rate after the warm-up."""
        progress = (update - self.warmup_updates) / (self.end - self.warmup_updates)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1, progress)))
        return LOWEST + (1 - LOWEST) * cosine
