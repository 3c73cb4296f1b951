"""The learning rate of each step: linear warm-up, cosine, then its lowest, by the size of the batch."""

import math
from dataclasses import dataclass

from trainer.data.batches.growth import Growth


@dataclass(frozen=True)
class RateSchedule:
    learning_rate: float  # the largest, of a declared batch
    lowest: float  # share of it
    warmup_updates: int
    end: int  # update from which on it is lowest
    growth: Growth

    def rate(self, step: int) -> float:
        """Learning rate of a step; steps count from 1, the first of the warm-up is not 0.

        A batch k times as large gets sqrt(k) of it: Adam's rule (Malladi et al. 2022, arXiv:2205.10287), and
        Muon's updates are scaled to the size of Adam's.
        """
        update, largest = self.growth.position(step), self._largest(step)
        if update <= self.warmup_updates:
            return largest * update / self.warmup_updates
        return largest * self._falling(update)

    def effective(self) -> dict[str, str]:
        """When the rate is at its largest, and from when on at its lowest, by the rates of all steps."""
        return {"learning_rate_warm_up": self._warm_up(), "learning_rate_schedule": self._end()}

    def _warm_up(self) -> str:
        if self.warmup_updates == 0:
            return "none"
        for step in range(1, self.growth.steps + 1):
            if math.isclose(self.rate(step), self._largest(step)):
                return f"largest at update {math.ceil(self.growth.position(step))}"
        return f"never largest in {self.growth.declared_updates} updates"

    def _end(self) -> str:
        updates = self.growth.declared_updates
        positions = (self.growth.position(step) for step in range(1, self.growth.steps + 1))
        falling = (update for update in positions if update > self.warmup_updates)
        first = next((update for update in falling if self._falling(update) == self.lowest), None)
        if first is None:
            return f"never lowest in {updates} updates"
        return f"lowest from update {math.ceil(first)} of {updates}"

    def _largest(self, step: int) -> float:
        return self.learning_rate * math.sqrt(self.growth.factor(step))

    def _falling(self, update: float) -> float:
        """Share of the largest rate after the warm-up."""
        progress = (update - self.warmup_updates) / (self.end - self.warmup_updates)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1, progress)))
        return self.lowest + (1 - self.lowest) * cosine
