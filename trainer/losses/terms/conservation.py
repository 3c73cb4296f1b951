"""Change of the mean over a regular grid; trains encoder, operator and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def conservation_loss(
    prediction: Float[Tensor, "pairs fields *grid"], field: Float[Tensor, "pairs fields *grid"]
) -> Float[Tensor, ""]:
    return (prediction.float().flatten(2).mean(dim=2) - field.flatten(2).mean(dim=2)).square().mean()


TERM = Term(
    name="conservation",
    inputs=("prediction_on_grid", "field_on_grid"),
    loss=conservation_loss,
    of=lambda task: task.conserved,
    group="priors",
    order=4,
)
