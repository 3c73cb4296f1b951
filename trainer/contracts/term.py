"""A term of the loss, as the objective and the config know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

    from trainer.contracts.task import Task

OF_A_DECODED_PREDICTION = {"prediction", "prediction_on_grid", "border"}
OF_A_RECONSTRUCTION = {"reconstruction", "encoded_again"}
ON_A_REGULAR_GRID = {"prediction_on_grid", "target_on_grid", "field_on_grid"}


class Phase(NamedTuple):
    """Which groups of terms a step computes; it decides what work there is, so it is no tensor."""

    inverse: bool = True
    priors: bool = True


EVERYTHING = Phase()


@dataclass(frozen=True)
class Term:
    """`loss` is given the `inputs` in their order, named after methods of trainer/losses/term_inputs.py.

    It returns a mean over pairs in float32. Its weight is 0, with which it is not computed, until a config
    gives it one.
    """

    name: str
    inputs: tuple[str, ...]
    loss: Callable[..., Tensor]
    of: Callable[[Task], bool] = lambda task: True  # which tasks have it
    group: Literal["always", "inverse", "priors"] = "always"  # the recipe says when a group is due
    order: int = 100  # of the sum, whose last bits depend on it; equal ones by name

    def is_due(self, phase: Phase) -> bool:
        return self.group == "always" or getattr(phase, self.group)

    @property
    def decodes_prediction(self) -> bool:
        return not OF_A_DECODED_PREDICTION.isdisjoint(self.inputs)

    @property
    def needs_regular_grid(self) -> bool:
        return not ON_A_REGULAR_GRID.isdisjoint(self.inputs)
