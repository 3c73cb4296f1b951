"""What lies between two matrix products in one pass over memory each way, by kernels of ours.

In the decoder's layers residual sums, norms, biases and GELU; in the operator's blocks bias and GELU.
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from trainer.model.decoder import DecoderLayer
from trainer.model.feed_forward import FeedForward
from trainer.model.latent_operator import LatentPdeOperator


def fuse_pointwise(model: LatentPdeOperator) -> None:
    """Put the kernels in place; the keys of the state dict stay."""
    for layer in model.decoder.layers:
        layer.tail = partial(fused_tail, layer)
    for block in model.operator.blocks:
        block.mlp.hidden = partial(fused_hidden, block.mlp)


def fused_layers(model: LatentPdeOperator) -> int:
    """How many layers and blocks would run the kernels."""
    layers = sum("tail" in layer.__dict__ for layer in model.decoder.layers)
    return layers + sum("hidden" in block.mlp.__dict__ for block in model.operator.blocks)


def fused_hidden(feed_forward: FeedForward, x: Tensor) -> Tensor:
    """What takes the place of FeedForward.hidden."""
    from trainer.kernels.bias_gelu import bias_gelu  # needs Triton

    first = feed_forward[0]
    return bias_gelu(nn.functional.linear(x, first.weight), first.bias)


def fused_tail(layer: DecoderLayer, x: Tensor, attended: Tensor) -> Tensor:
    """What takes the place of DecoderLayer.tail."""
    from trainer.kernels.decoder_tail import decoder_tail  # needs Triton

    out, (first, _, second) = layer.attention.out, layer.feed_forward
    norms = layer.attention_norm, layer.feed_forward_norm
    weights = [
        *(out.weight, out.bias, norms[0].weight, norms[0].bias),
        *(first.weight, first.bias, second.weight, second.bias, norms[1].weight, norms[1].bias),
    ]
    return decoder_tail(x.to(attended.dtype), attended, weights, norms[0].eps)[0]
