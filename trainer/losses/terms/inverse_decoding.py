"""Encoding, decoded and encoded again, against itself without gradient; trains encoder, decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def inverse_decoding_loss(
    again: Float[Tensor, "pairs tokens latent"], once: Float[Tensor, "pairs tokens latent"]
) -> Float[Tensor, ""]:
    return (again.float() - once.detach().float()).square().mean()


TERM = Term(
    name="inverse_decoding",
    inputs=("encoded_again", "encoded_once"),
    loss=inverse_decoding_loss,
    group="inverse",
    order=10,
)
