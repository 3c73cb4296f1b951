"""How the batch grows: an update takes 1, then 2, then 4 ... of the declared updates together."""

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Growth:
    """The same pairs in the same order as without growth, in fewer steps; both count from 1."""

    declared_updates: int
    doubled_after: tuple[int, ...] = ()  # declared updates after which the batch doubles

    @property
    def steps(self) -> int:
        return sum(len(stage) for stage in self._stages())

    @property
    def largest_factor(self) -> int:
        return 2 ** len(self.doubled_after)

    def factor(self, step: int) -> int:
        """Return how many declared updates a step takes together."""
        return len(self.taken_together(step))

    def taken_together(self, step: int) -> range:
        """Return the declared updates of a step; a profile goes on past the end."""
        *stages, last = self._stages()
        for stage in stages:
            if step <= len(stage):
                return range(stage[step - 1], stage[step - 1] + stage.step)
            step -= len(stage)
        start = last.start + (step - 1) * last.step
        return range(start, start + last.step)

    def _stages(self) -> list[range]:
        """Return the first declared update of each step, one range per size of the batch."""
        edges = pairwise((0, *self.doubled_after, self.declared_updates))
        return [range(start + 1, end + 1, 2**index) for index, (start, end) in enumerate(edges)]
