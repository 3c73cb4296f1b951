"""Hinge on the spread over the tokens of a pair; trains the encoder.

After VICReg (Bardes et al. 2022), where it is over the batch: the loss would depend on how a batch is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

LEAST_TOKEN_SPREAD = 1.0  # standard deviation over the tokens of a pair, in units of the latents


def diversity_loss(latent: Float[Tensor, "pairs tokens latent"]) -> Float[Tensor, ""]:
    spread = (latent.float().var(dim=1) + 1e-4).sqrt()  # the root has no gradient at 0
    return (LEAST_TOKEN_SPREAD - spread).relu().mean()


TERM = Term(
    name="diversity",
    inputs=("latent",),
    loss=diversity_loss,
    order=8,
)
