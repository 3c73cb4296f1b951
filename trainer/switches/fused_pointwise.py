"""What lies between two matrix products in one pass over memory each way, by kernels of ours.

In the decoder's layers and the operator's blocks: biases and GELU; gates, residual sums and their norms,
also where one block or layer ends and the next begins.
"""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from trainer.model.decoder import AnyPointDecoder, DecoderLayer, spread_out
from trainer.model.latent_operator import LatentPdeOperator
from trainer.model.operator import LatentOperator


def fuse_pointwise(model: LatentPdeOperator) -> None:
    """Put the kernels in place; the keys of the state dict stay."""
    model.decoder.through = partial(fused_layers, model.decoder)
    model.operator.through = partial(fused_blocks, model.operator)


def observed_fused_layers(model: LatentPdeOperator) -> int:
    """How many layers and blocks would run the kernels."""
    stacks = (model.decoder, model.decoder.layers), (model.operator, model.operator.blocks)
    return sum(len(layers) for whole, layers in stacks if "through" in whole.__dict__)


def fused_blocks(
    operator: LatentOperator,
    x: Float[Tensor, "pairs tokens dim"],
    condition: Float[Tensor, "pairs condition"],
    branch_scale: Float[Tensor, "depth pairs"],
) -> Float[Tensor, "pairs tokens dim"]:
    """What takes the place of LatentOperator.through: a block's last sum goes with the norm of the next."""
    from trainer.kernels.feed_forward import feed_forward  # needs Triton, as all of them do
    from trainer.kernels.gated_norm import gated_norm

    blocks = operator.blocks
    parts = [block.modulation(condition).float().chunk(6, dim=-1) for block in blocks]
    x = x.float()  # as the plain sums are, which meet a branch scale in float32
    shift, scale, *_ = parts[0]
    normal = blocks[0].attention_norm(x) * (1 + scale[:, None]) + shift[:, None]
    for number, block in enumerate(blocks):
        _, _, gate_a, shift_m, scale_m, gate_m = parts[number]
        kept = branch_scale[number][:, None]
        attention, (first, _, last) = block.attention, block.mlp
        branch = linear(attention.mix(attention.qkv(normal)), attention.out.weight)
        modulation = kept * (1 + gate_a), 1 + scale_m, shift_m
        x, normal, _ = gated_norm(x, branch, attention.out.bias, *modulation, block.mlp_norm.eps)
        weights = first.weight.to(normal.dtype), first.bias, last.weight.to(normal.dtype)
        branch, _ = feed_forward(normal, *weights)
        gate = kept * (1 + gate_m)
        if number + 1 < len(blocks):
            shift, scale, *_ = parts[number + 1]
            following = blocks[number + 1].attention_norm
            x, normal, _ = gated_norm(x, branch, last.bias, gate, 1 + scale, shift, following.eps)
    return x + gate[:, None] * (branch + last.bias)


def fused_layers(
    decoder: AnyPointDecoder,
    x: Float[Tensor, "rows queries dim"],
    context: Float[Tensor, "pairs tokens dim"],
    spread: Float[Tensor, "pairs rows"] | None,
    head: nn.Linear,
) -> Float[Tensor, "pairs queries fields"]:
    """What takes the place of AnyPointDecoder.through: a layer's norm goes with the product that reads it."""
    layers = decoder.layers
    query = layers[0].attention.query(x)
    if spread is not None:
        x, query = spread_out(x, spread), spread_out(query, spread)
    norm = None
    for number, layer in enumerate(layers):
        attended = layer.attention.attend(query, context)
        if number + 1 < len(layers):
            x, query = fused_tail(layer, x, norm, attended, layers[number + 1].attention.query)
            norm = layer.feed_forward_norm
    return fused_tail(layer, x, norm, attended, head, only_reader=True)[1]


def fused_tail(
    layer: DecoderLayer,
    x: Float[Tensor, "#pairs queries dim"],
    x_norm: nn.LayerNorm | None,
    attended: Float[Tensor, "pairs queries dim"],
    reader: nn.Linear,
    *,
    only_reader: bool = False,
) -> tuple[Tensor | None, Tensor]:
    """DecoderLayer.tail for the next call of this, and what the linear layer makes that reads its result.

    The first is the result before weight and shift of its norm, which the next call gets as x_norm. Its
    gradient is that of the result itself, so nothing else may read it; with only_reader there is none.
    """
    from trainer.kernels.decoder_tail import decoder_tail  # needs Triton

    out, (first, _, second) = layer.attention.out, layer.feed_forward
    norms = layer.attention_norm, layer.feed_forward_norm
    format = attended.dtype
    x_affine = [] if x_norm is None else [x_norm.weight.detach(), x_norm.bias.detach()]
    weights = [
        *(out.weight.to(format), out.bias, norms[0].weight, norms[0].bias),
        *(first.weight.to(format), first.bias, second.weight.to(format), second.bias),
        *(norms[1].weight, norms[1].bias, reader.weight.to(format), reader.bias),
    ]
    folded = _folded(first, norms[0], format) + ([] if only_reader else _folded(reader, norms[1], format))
    rest = attended, weights, folded, norms[0].eps, only_reader
    normal, read, *_ = decoder_tail(x.to(format), x_affine, *rest)
    return None if only_reader else normal, read


def _folded(linear: nn.Linear, norm: nn.LayerNorm, format: torch.dtype) -> list[Tensor]:
    """Matrix, in a format, and bias of a linear layer that reads what a norm has before weight and shift.

    Outside of the operator, where a compiler does it once for all decodes; without one it is some eight
    small kernels a layer and decode. They have no gradient: it is the operator's, of what they are made of.
    """
    matrix, weight, shift = linear.weight.detach(), norm.weight.detach(), norm.bias.detach()
    # No product: autocast would round what it takes.
    return [(matrix * weight).to(format), linear.bias.detach() + (matrix * shift).sum(dim=1)]
