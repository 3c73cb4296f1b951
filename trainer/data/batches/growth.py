"""How large the batch of each step is: a part of a declared update, or several of them together."""

import math
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Growth:
    """The pairs of the declared updates in their order, in steps of another size; all count from 1.

    A declared update has `cut_into` parts. A step takes one, and twice as many after each of `doubled_after`.
    """

    declared_updates: int
    doubled_after: tuple[int, ...] = ()  # declared updates after which the batch doubles
    cut_into: int = 1

    @property
    def steps(self) -> int:
        return sum(len(stage) for stage in self._stages())

    @property
    def largest_factor(self) -> float:
        return 2 ** len(self.doubled_after) / self.cut_into

    @property
    def stages(self) -> list[tuple[int, float]]:
        """Return how many steps have a batch of one size, and that size in declared ones."""
        return [(len(stage), stage.step / self.cut_into) for stage in self._stages()]

    def factor(self, step: int) -> float:
        """Return the size of a step's batch in declared ones."""
        return len(self.parts(step)) / self.cut_into

    def position(self, step: int) -> float:
        """Return the number of declared updates whose pairs have been taken when a step ends."""
        return self.parts(step)[-1] / self.cut_into

    def completed(self, step: int) -> range:
        """Return the declared updates whose last part a step takes."""
        parts = self.parts(step)
        return range(math.ceil(parts.start / self.cut_into), parts[-1] // self.cut_into + 1)

    def is_due(self, step: int, every: int) -> bool:
        """Whether a step completes a declared update that is an every-th; 0 is never."""
        return every > 0 and any(update % every == 0 for update in self.completed(step))

    def parts(self, step: int) -> range:
        """Return the parts that a step takes; a profile goes on past the end."""
        *stages, last = self._stages()
        for stage in stages:
            if step <= len(stage):
                return range(stage[step - 1], stage[step - 1] + stage.step)
            step -= len(stage)
        start = last.start + (step - 1) * last.step
        return range(start, start + last.step)

    def _stages(self) -> list[range]:
        """Return the first part of each step, one range per size of the batch."""
        ends = [update * self.cut_into for update in (0, *self.doubled_after, self.declared_updates)]
        return [range(start + 1, end + 1, 2**index) for index, (start, end) in enumerate(pairwise(ends))]
