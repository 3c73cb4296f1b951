"""All of a decoder layer behind its attention, as one operator with a gradient.

Products go through the library. What lies between two of them passes over memory once each way, in the format
of the products: output bias, residual and norm; bias and GELU; each with the sums of its bias's gradient.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from trainer.kernels.add_norm import add_norm, add_norm_gradients
from trainer.kernels.bias_gelu import bias_gelu, bias_gelu_gradients
from trainer.kernels.row_parts import row_parts

KEPT = 5  # tensors of the forward pass
VECTORS = 7  # among the weights: biases, and weights and shifts of norms


@torch.library.custom_op("speedproof::decoder_tail", mutates_args=())
def decoder_tail(x: Tensor, attended: Tensor, weights: list[Tensor], eps: float) -> list[Tensor]:
    """Return the layer's result (pairs, queries, dim), and what its gradient needs.

    x is as attended (pairs, queries, dim), or (1, queries, dim). weights: weight and bias of the output, of
    the norm behind it, of both linear layers, of the last norm. x and matrices are in the format of attended.
    """
    out, out_bias, norm, shift, first, first_bias, second, second_bias, last_norm, last_shift = weights
    dim = attended.shape[-1]
    x_rows = x.contiguous().view(-1, dim)
    branch = attended.reshape(-1, dim) @ out.T
    middle, normal, over_deviation = add_norm(x_rows, branch, out_bias, norm, shift, eps)
    product = middle @ first.T
    branch = bias_gelu(product, first_bias) @ second.T
    result, *last = add_norm(middle, branch, second_bias, last_norm, last_shift, eps)
    return [result.view(attended.shape), normal, over_deviation, product, *last]


@torch.library.custom_op("speedproof::decoder_tail_backward", mutates_args=())
def decoder_tail_backward(
    gradient: Tensor, attended: Tensor, kept: list[Tensor], weights: list[Tensor], x_pairs: int
) -> list[Tensor]:
    """Return the gradients of x, attended, the output and the second matrix; what the gradient of the first
    is made of (see _of_first); then (7 dim) the gradients of three vectors of each norm, the bias in front of
    it, its weight and its shift, and of the first layer's bias.
    """
    out, _, norm, _, first, first_bias, second, _, last_norm, _ = weights
    normal, over_deviation, product, last_normal, last_over_deviation = kept
    dim, format = attended.shape[-1], attended.dtype
    rows = gradient.to(format).contiguous().view(-1, dim)
    parts = row_parts(len(rows), VECTORS * dim, rows.device)
    of_norm, of_last_norm, of_first_bias = parts.split([3 * dim, 3 * dim, dim], dim=1)
    of_sum = add_norm_gradients(rows, last_normal, last_norm, last_over_deviation, of_last_norm)
    of_product, hidden = bias_gelu_gradients(of_sum @ second, product, first_bias, of_first_bias)
    of_second = of_sum.T @ hidden
    against_normal = of_product.T @ normal
    # The residual's share is there already, and the product is added to it in place: no pass of its own.
    of_middle = of_sum.addmm_(of_product, first)
    of_sum = add_norm_gradients(of_middle, normal, norm, over_deviation, of_norm)
    of_out = of_sum.T @ attended.reshape(-1, dim)
    of_attended = (of_sum @ out).view(attended.shape)
    of_x = of_sum.view(attended.shape)
    if x_pairs < len(attended):
        of_x = of_x.sum(dim=0, keepdim=True)
    return [of_x, of_attended, of_out, of_second, against_normal, parts.sum(dim=0)]


@decoder_tail.register_fake
def _(x, attended, weights, eps):
    rows = attended.new_empty(attended.shape[0] * attended.shape[1], attended.shape[2])
    normal, product, last_normal = (torch.empty_like(rows) for _ in range(3))
    deviations = [attended.new_empty(len(rows), dtype=torch.float32) for _ in range(2)]
    return [attended.new_empty(attended.shape), normal, deviations[0], product, last_normal, deviations[1]]


@decoder_tail_backward.register_fake
def _(gradient, attended, kept, weights, x_pairs):
    out, _, _, _, first, _, second, *_ = weights
    vectors = out.new_empty(VECTORS * attended.shape[-1], dtype=torch.float32)
    of_x, of_attended = (attended.new_empty(n, *attended.shape[1:]) for n in (x_pairs, len(attended)))
    return [of_x, of_attended, *(torch.empty_like(part) for part in (out, second, first)), vectors]


def _remember(ctx, inputs, output) -> None:
    x, attended, weights, _ = inputs
    ctx.x_pairs = len(x)
    ctx.set_materialize_grads(False)  # of zeros, as large as all that is kept
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(attended, *output[1:], *weights)


def _gradient(ctx, gradients):
    attended, *rest = ctx.saved_tensors
    kept, weights = rest[:KEPT], rest[KEPT:]
    found = decoder_tail_backward(gradients[0], attended, kept, weights, ctx.x_pairs)
    of_x, of_attended, of_out, of_second, against_normal, vectors = found
    out_bias, norm, shift, second_bias, last_norm, last_shift, first_bias = vectors.chunk(VECTORS)
    of_first = _of_first(against_normal, first_bias, weights).to(weights[4].dtype)
    of_weights = [of_out, out_bias, norm, shift, of_first, first_bias, of_second, second_bias]
    return of_x, of_attended, [*of_weights, last_norm, last_shift], None


def _of_first(against_normal: Tensor, of_first_bias: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """The first layer reads normal norm + shift, of which only normal is kept."""
    _, _, norm, shift, *_ = weights
    return against_normal * norm + torch.outer(of_first_bias, shift)


decoder_tail.register_autograd(_gradient, setup_context=_remember)
