"""Advanced latents against the encoding of u(t + dt), without its gradient; trains encoder, operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def latent_loss(
    advanced: Float[Tensor, "pairs tokens latent"], target: Float[Tensor, "pairs tokens latent"]
) -> Float[Tensor, ""]:
    return (advanced.float() - target.detach().float()).square().mean()


TERM = Term(
    name="latent",
    inputs=("advanced", "encoded_target"),
    loss=latent_loss,
    of=lambda task: not task.steady,  # what a steady task asks for is no state to encode
    order=6,
)
