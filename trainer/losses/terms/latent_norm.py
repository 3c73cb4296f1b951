"""Keeps the encodings of finite size; trains the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def latent_norm_loss(latent: Float[Tensor, "pairs tokens latent"]) -> Float[Tensor, ""]:
    return latent.float().square().mean()


TERM = Term(
    name="latent_norm",
    inputs=("latent",),
    loss=latent_norm_loss,
    order=7,
)
