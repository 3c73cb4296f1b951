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

from trainer.model.decoder import AnyPointDecoder, DecoderLayer, JointHead, spread_out
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
    latent: Float[Tensor, "pairs tokens latent"],
    condition: Float[Tensor, "pairs condition"],
    branch_scale: Float[Tensor, "depth pairs"],
) -> Float[Tensor, "pairs tokens dim"]:
    """What takes the place of LatentOperator.through: a block's last sum goes with the norm of the next.

    So does the embedding's bias with the first norm, and the last sum with the last norm. The stream between
    is float32, as the plain one.
    """
    from trainer.kernels.pointwise.feed_forward import feed_forward  # needs Triton, as all of them do
    from trainer.kernels.pointwise.gated_norm import gated_norm

    blocks, embedded = operator.blocks, linear(latent, operator.embed.weight)
    format = embedded.dtype
    qkv = _in_one_format([block.attention.qkv.weight for block in blocks], format)
    out = _in_one_format([block.attention.out.weight for block in blocks], format)
    first = _in_one_format([block.mlp[0].weight for block in blocks], format)
    last = _in_one_format([block.mlp[2].weight for block in blocks], format)
    shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = _modulations(blocks, condition, branch_scale)
    # Scale and shift behind each norm, and behind the last one the same of every pair.
    last_norm = operator.norm.weight.expand_as(gate_m[-1]), operator.norm.bias.expand_as(gate_m[-1])
    next_norms = [*zip(scale_a, shift_a, strict=True), last_norm]
    next_eps = [*(block.attention_norm.eps for block in blocks), operator.norm.eps]
    every = torch.ones_like(gate_a[0])
    x, normal, _ = gated_norm(None, embedded, operator.embed.bias, every, *next_norms[0], next_eps[0])
    for number, block in enumerate(blocks):
        attention, (first_layer, _, last_layer) = block.attention, block.mlp
        branch = linear(attention.attend(normal, qkv[number]), out[number])
        modulation = gate_a[number], scale_m[number], shift_m[number]
        x, normal, _ = gated_norm(x, branch, attention.out.bias, *modulation, block.mlp_norm.eps)
        branch, _ = feed_forward(normal, first[number], first_layer.bias, last[number])
        modulation = gate_m[number], *next_norms[number + 1]
        x, normal, _ = gated_norm(x, branch, last_layer.bias, *modulation, next_eps[number + 1])
    return normal


def _in_one_format(weights: list[Tensor], format: torch.dtype) -> tuple[Tensor, ...]:
    """Equal matrices, all of them in two launches each way, where autocast would take one for each.

    Their gradients are there when that of the first block is: DDP reduces none of them before.
    """
    if all(weight.dtype == format for weight in weights):
        return tuple(weights)
    return torch.stack(weights).to(format).unbind()


def _modulations(
    blocks: nn.ModuleList,
    condition: Float[Tensor, "pairs condition"],
    branch_scale: Float[Tensor, "depth pairs"],
) -> list[tuple[Float[Tensor, "pairs dim"], ...]]:
    """Return shift, scale and gate of the first half, then of the second, each of every block.

    They depend on the condition alone, so that one product makes them all. Scales and gates have their 1, and
    gates the branch scale.
    """
    layers = [block.modulation for block in blocks]
    weight, bias = torch.cat([one.weight for one in layers]), torch.cat([one.bias for one in layers])
    packed = linear(condition, weight, bias).unflatten(-1, (len(blocks), 6, -1))
    # Contiguous for each block and kind, as the kernels want it.
    shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = packed.permute(2, 1, 0, 3).contiguous().float()
    kept = branch_scale[..., None]
    kinds = shift_a, 1 + scale_a, kept * (1 + gate_a), shift_m, 1 + scale_m, kept * (1 + gate_m)
    return [kind.unbind() for kind in kinds]


def fused_layers(
    decoder: AnyPointDecoder,
    x: Float[Tensor, "rows queries dim"],
    context: Float[Tensor, "pairs tokens dim"],
    spread: Float[Tensor, "pairs rows"] | None,
    head: nn.Linear | JointHead,
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
    reader: nn.Linear | JointHead,
    *,
    only_reader: bool = False,
) -> tuple[Tensor | None, Tensor]:
    """DecoderLayer.tail for the next call of this, and what the linear layer makes that reads its result.

    The first is the result before weight and shift of its norm, which the next call gets as x_norm. Its
    gradient is that of the result itself, so nothing else may read it; with only_reader there is none.
    """
    from trainer.kernels.pointwise.decoder_tail import decoder_tail  # needs Triton

    out, (first, _, second) = layer.attention.out, layer.feed_forward
    norms = layer.attention_norm, layer.feed_forward_norm
    format = attended.dtype
    x_affine = [] if x_norm is None else [x_norm.weight.detach(), x_norm.bias.detach()]
    weights = [
        *(out.weight.to(format), out.bias, norms[0].weight, norms[0].bias),
        *(first.weight.to(format), first.bias, second.weight.to(format), second.bias),
        *(norms[1].weight, norms[1].bias),
        *(reader.weight if only_reader else reader.weight.to(format), reader.bias),
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
