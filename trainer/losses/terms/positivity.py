"""Predicted values below 0; trains encoder, operator and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def positivity_loss(prediction: Float[Tensor, "pairs fields queries"]) -> Float[Tensor, ""]:
    return (-prediction.float()).relu().square().mean()


TERM = Term(
    name="positivity",
    inputs=("prediction",),
    loss=positivity_loss,
    of=lambda task: task.positive,
    group="priors",
    order=5,
)
