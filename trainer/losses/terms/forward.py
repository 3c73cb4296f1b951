"""Decoded prediction against u(t + dt); trains encoder, operator and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def forward_loss(
    prediction: Float[Tensor, "pairs fields queries"], target: Float[Tensor, "pairs fields queries"]
) -> Float[Tensor, ""]:
    return (prediction.float() - target).square().mean()


TERM = Term(
    name="forward",
    inputs=("prediction", "target"),
    loss=forward_loss,
    order=1,
)
