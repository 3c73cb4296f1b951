"""Decoded encoding against u(t) itself; trains encoder and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def inverse_encoding_loss(
    reconstruction: Float[Tensor, "pairs fields queries"], field: Float[Tensor, "pairs fields queries"]
) -> Float[Tensor, ""]:
    return (reconstruction.float() - field).square().mean()


TERM = Term(
    name="inverse_encoding",
    inputs=("reconstruction", "reconstructed"),
    loss=inverse_encoding_loss,
    group="inverse",
    order=9,
)
