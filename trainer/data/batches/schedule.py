"""Which pairs make update n: a pure function of seed, step, rank, world size and micro-step."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from trainer.data.tasks import TASKS
from trainer.errors import ConfigError


@dataclass(frozen=True)
class BatchSchedule:
    """Updates take consecutive pairs of a shuffled pass over a task.

    A rest that fills no update is dropped, or filled up with pairs from the beginning of the same pass.
    The pairs of an update do not depend on how they are cut into ranks and micro-steps.
    """

    pairs: int
    pairs_per_update: int
    seed: int
    task: str
    rest: Literal["drop", "pad"] = "drop"
    cut_into: int = 1

    def __post_init__(self) -> None:
        if self.pairs < self.pairs_per_update and self.rest == "drop":
            raise ConfigError(
                f"train.pairs_per_update: got {self.pairs_per_update} of {self.task}, "
                f"expected at most its {self.pairs} training pairs. Lower it, or set train.rest to pad"
            )

    @property
    def updates_per_epoch(self) -> int:
        full, left = divmod(self.pairs, self.pairs_per_update)
        return full + (left > 0 and self.rest == "pad")

    def update(self, step: int) -> np.ndarray:
        """Pair numbers of a step, (pairs_per_update / cut_into,)."""
        update, part = divmod(step - 1, self.cut_into)
        return self._declared(update + 1).reshape(self.cut_into, -1)[part]

    def micro_batch(
        self, step: int, micro_step: int, micro_steps: int, rank: int, world_size: int
    ) -> np.ndarray:
        """The part of one rank and micro-step, (pairs of the step / (world_size * micro_steps),)."""
        return self.update(step).reshape(micro_steps, world_size, -1)[micro_step, rank]

    def _declared(self, update: int) -> np.ndarray:
        epoch, position = divmod(update - 1, self.updates_per_epoch)
        places = np.arange(self.pairs_per_update) + position * self.pairs_per_update
        return _shuffled(self.pairs, self.seed, epoch)[places % self.pairs]


# This pass and the next of each task: a batch takes from all of them, and to shuffle anew takes milliseconds.
@lru_cache(maxsize=2 * len(TASKS))
def _shuffled(pairs: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(pairs)
