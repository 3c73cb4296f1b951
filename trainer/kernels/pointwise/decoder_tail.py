"""All of a decoder layer behind its attention, and the linear layer that reads it, as one operator.

Products go through the library. What lies between two of them passes over memory once each way, in the
format of the products: output bias, residual and norm; bias and GELU; each with the sums of its bias's
gradient. The reader is the next layer's query, or the head. Its gradient meets the residual's in front of the
last norm, whose kernel adds them up; a head, with its few columns, is a pass over memory of its own only for
the gradient of its weight.

Of a norm only its rows without weight and shift are written, which the gradient needs. A linear layer behind
it has them folded into its own matrix and bias, and what adds the norm's result applies them as it loads the
rows: the second residual sum, and the first one of the next layer.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainer.kernels.custom_op import custom_op, gradient_op
from trainer.kernels.pointwise.add_norm import (
    add_norm,
    add_norm_gradients,
    add_norm_read,
    add_norm_read_gradients,
)
from trainer.kernels.pointwise.bias_gelu import bias_gelu, bias_gelu_gradients
from trainer.kernels.pointwise.row_parts import added_up, row_parts

KEPT = 6  # for the backward pass, beside weights and what was attended to
VECTORS = 7  # among the weights: biases, and weights and shifts of norms


@custom_op
def decoder_tail(
    x: Tensor,
    x_affine: list[Tensor],
    attended: Tensor,
    weights: list[Tensor],
    folded: list[Tensor],
    eps: float,
    only_reader: bool,
) -> list[Tensor]:
    """Return what the last norm has before weight and shift, what the reader makes of its result, and what
    the gradient needs. A head reads in float32: a field's value in bf16 would be up to 0.4% off, as much as
    a good prediction is.

    x is as attended (pairs, queries, dim), or (1, queries, dim). Where it is such a first result, of the
    layer before, x_affine has the weight and shift of its norm, and else nothing. weights: weight and bias of
    the output, of the norm behind it, of both linear layers, of the last norm, of the reader. folded: matrix
    and bias of the first linear layer, and of a reader that is not the only one, with the norm in front
    folded in. x and matrices, but a head's, are in the format of attended.

    The first result stands for what it is scaled and shifted to: its gradient, taken and given, is that of
    the scaled and shifted, so that no pass multiplies it by the weight. Those of weights are of all that
    weights do but in the layer behind, of whose reading that gradient tells: x_affine and folded have none of
    their own. With only_reader nothing else reads the first result, and it has no gradient.
    """
    _, _, _, _, _, _, second, second_bias, last_norm, last_shift, reader, reader_bias = weights
    (out, out_bias, norm, shift), (first, first_bias, *folded_reader) = weights[:4], folded
    dim = attended.shape[-1]
    branch = attended.reshape(-1, dim) @ out.T
    normal, over_deviation = add_norm(x.contiguous().view(-1, dim), x_affine, branch, out_bias, eps)
    product = normal @ first.T
    branch = bias_gelu(product, first_bias) @ second.T
    if only_reader:
        last = last_norm, last_shift, eps, [reader, reader_bias]
        read, last_normal, *kept = add_norm_read(normal, [norm, shift], branch, second_bias, *last)
    else:
        last_normal, *kept = add_norm(normal, [norm, shift], branch, second_bias, eps)
        reader, reader_bias = folded_reader
        read = torch.addmm(reader_bias.to(last_normal.dtype), last_normal, reader.T)
    results = [last_normal.view(attended.shape), read.view(*attended.shape[:2], len(reader))]
    return [*results, normal, over_deviation, product, *kept]


@gradient_op
def decoder_tail_backward(
    of_last: Tensor | None,
    of_read: Tensor | None,
    attended: Tensor,
    kept: list[Tensor],
    weights: list[Tensor],
    x_pairs: int,
    only_reader: bool,
) -> list[Tensor]:
    """Return the gradients of x, attended, the output and the second matrix; what those of the first and of
    the reader are made of (see _behind_norm); then (7 dim) the gradients of three vectors of each norm, the
    bias in front of it, its weight and its shift, and of the first layer's bias.
    """
    out, _, norm, _, first, _, second, _, last_norm, _, reader, _ = weights
    last_normal, normal, over_deviation, product, last_over_deviation, folded_bias = kept
    dim, format = attended.shape[-1], attended.dtype
    last_normal = last_normal.view(-1, dim)
    parts = row_parts(len(normal), VECTORS * dim, normal.device)
    of_norm, of_last_norm, of_first_bias = parts.split([3 * dim, 3 * dim, dim], dim=1)
    last = last_normal, last_norm, last_over_deviation, of_last_norm
    read_rows = _rows(of_read, format)
    if only_reader:
        of_sum = add_norm_read_gradients(_rows(of_read, torch.float32), reader, *last)
    else:
        given = [_rows(of_last, format)] if of_last is not None else []
        given += [read_rows @ reader] if read_rows is not None else []
        of_sum = add_norm_gradients(given, *last)
    if read_rows is None:
        against_last = torch.zeros_like(reader)
    else:
        against_last = (read_rows.T @ last_normal).to(reader.dtype)
    of_product, hidden = bias_gelu_gradients(of_sum @ second, product, folded_bias, of_first_bias)
    of_second = of_sum.T @ hidden
    against_normal = of_product.T @ normal
    # The residual's share is there already, and the product is added to it in place: no pass of its own.
    of_middle = of_sum.addmm_(of_product, first)
    of_sum = add_norm_gradients([of_middle], normal, norm, over_deviation, of_norm)
    of_out = of_sum.T @ attended.reshape(-1, dim)
    of_attended = (of_sum @ out).view(attended.shape)
    of_x = of_sum.view(attended.shape)
    if x_pairs < len(attended):
        of_x = of_x.sum(dim=0, keepdim=True)
    return [of_x, of_attended, of_out, of_second, against_normal, against_last, added_up(parts)]


def _rows(gradient: Tensor | None, format: torch.dtype) -> Tensor | None:
    return None if gradient is None else gradient.to(format).contiguous().view(-1, gradient.shape[-1])


@torch.library.register_fake(decoder_tail)
def _(x, x_affine, attended, weights, folded, eps, only_reader):
    pairs, queries, dim = attended.shape
    read_format = torch.float32 if only_reader else attended.dtype
    read = attended.new_empty(pairs, queries, len(weights[-1]), dtype=read_format)
    last_normal, normal, product = (attended.new_empty(pairs * queries, dim) for _ in range(3))
    deviations = [attended.new_empty(len(normal), dtype=torch.float32) for _ in range(2)]
    return [last_normal.view(attended.shape), read, normal, deviations[0], product, deviations[1]]


@torch.library.register_fake(decoder_tail_backward)
def _(of_last, of_read, attended, kept, weights, x_pairs, only_reader):
    out, _, _, _, first, _, second, *_, reader, _ = weights
    vectors = out.new_empty(VECTORS * attended.shape[-1], dtype=torch.float32)
    of_x, of_attended = (attended.new_empty(n, *attended.shape[1:]) for n in (x_pairs, len(attended)))
    return [of_x, of_attended, *(torch.empty_like(part) for part in (out, second, first, reader)), vectors]


def _remember(ctx, inputs, output) -> None:
    x, x_affine, attended, weights, folded, _, only_reader = inputs
    ctx.x_pairs, ctx.affine, ctx.folded, ctx.only_reader = len(x), len(x_affine), len(folded), only_reader
    ctx.set_materialize_grads(False)  # of zeros, as large as all that is kept
    ctx.mark_non_differentiable(*output[2:], *(output[:1] if only_reader else []))
    ctx.save_for_backward(attended, output[0], *output[2:], folded[1], *weights)


def _gradient(ctx, gradients):
    attended, *rest = ctx.saved_tensors
    kept, weights = rest[:KEPT], rest[KEPT:]
    of_last, of_read = gradients[:2]
    found = decoder_tail_backward(of_last, of_read, attended, kept, weights, ctx.x_pairs, ctx.only_reader)
    of_x, of_attended, of_out, of_second, against_normal, against_last, vectors = found
    out_bias, norm, shift, second_bias, last_norm, last_shift, first_bias = vectors.chunk(VECTORS)
    reader, reader_bias = weights[-2:]
    if of_read is None:
        of_reader_bias = torch.zeros_like(reader_bias)
    else:
        of_reader_bias = of_read.sum(dim=(0, 1), dtype=torch.float32)
    of_first = _behind_norm(against_normal, first_bias, weights[2:4]).to(weights[4].dtype)
    of_reader = _behind_norm(against_last, of_reader_bias, weights[8:10]).to(reader.dtype)
    of_weights = [of_out, out_bias, norm, shift, of_first, first_bias, of_second, second_bias]
    of_weights += [last_norm, last_shift, of_reader, of_reader_bias]
    return of_x, [None] * ctx.affine, of_attended, of_weights, [None] * ctx.folded, None, None


def _behind_norm(against_normal: Tensor, of_bias: Tensor, norm: Sequence[Tensor]) -> Tensor:
    """The gradient of a matrix that reads normal weight + shift, of which only normal is kept."""
    weight, shift = norm
    return against_normal * weight + torch.outer(of_bias, shift)


torch.library.register_autograd(decoder_tail, _gradient, setup_context=_remember)
