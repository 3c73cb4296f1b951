"""Attention of the decoder's layers by our kernel."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from trainer.model.attention import CrossAttention
from trainer.model.latent_operator import LatentPdeOperator


def replace_cross_attention(model: LatentPdeOperator) -> None:
    """Give every decoder layer our kernel; the keys of the state dict stay."""
    for layer in model.decoder.layers:
        layer.attention.mix = partial(_one_tile_cross, layer.attention)


def observed_cross_attention(model: LatentPdeOperator) -> str:
    """What the decoder's layers would run now, by the objects."""
    own = ["mix" in layer.attention.__dict__ for layer in model.decoder.layers]
    return "one-tile" if all(own) else "mixed" if any(own) else "auto"


def _one_tile_cross(attention: CrossAttention, query: Tensor, key_value: Tensor) -> Tensor:
    from trainer.kernels.attention.cross_attention import cross_attention  # needs Triton

    return cross_attention(query, key_value, attention.heads)[0]
