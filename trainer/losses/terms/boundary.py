"""Predicted values where the solution is 0; trains encoder, operator and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def boundary_loss(border: Float[Tensor, "pairs fields places"]) -> Float[Tensor, ""]:
    return border.float().square().mean()


TERM = Term(
    name="boundary",
    inputs=("border",),
    loss=boundary_loss,
    of=lambda task: task.zero_border,
    group="priors",
    order=3,
)
