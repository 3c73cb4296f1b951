"""How many steps take the place of the declared updates: each update is cut into as many parts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class UpdateCut:
    """A step takes one part of a declared update, in their order; steps and updates count from 1."""

    declared_updates: int
    cut_into: int = 1

    @property
    def steps(self) -> int:
        return self.declared_updates * self.cut_into

    @property
    def factor(self) -> float:
        """The size of a step's batch in declared ones."""
        return 1 / self.cut_into

    def position(self, step: int) -> float:
        """Return the number of declared updates whose pairs have been taken when a step ends."""
        return step / self.cut_into

    def completed(self, step: int) -> int | None:
        """Return the declared update whose last part a step takes, if it does."""
        update, rest = divmod(step, self.cut_into)
        return None if rest else update

    def is_due(self, step: int, every: int) -> bool:
        """Whether a step completes a declared update that is an every-th; 0 is never."""
        return every > 0 and step % (self.cut_into * every) == 0
