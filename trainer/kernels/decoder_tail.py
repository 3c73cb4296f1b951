"""All of a decoder layer behind its attention, as one operator with a gradient.

Products go through the library. What lies between two of them passes over memory once each way, in the format
of the products: output bias, residual and norm; bias and GELU; each with the sums of its bias's gradient.
"""

import torch
from torch import Tensor

from trainer.kernels.add_norm import add_norm, add_norm_gradients
from trainer.kernels.bias_gelu import bias_gelu, bias_gelu_gradients

KEPT = 6  # tensors of the forward pass


@torch.library.custom_op("speedproof::decoder_tail", mutates_args=())
def decoder_tail(x: Tensor, attended: Tensor, weights: list[Tensor], eps: float) -> list[Tensor]:
    """Return the layer's result (pairs, queries, dim), and what its gradient needs.

    x is (pairs, queries, dim) or (1, queries, dim). weights: weight and bias of the output, of the norm
    behind it, of both linear layers, of the last norm.
    """
    out, out_bias, norm, shift, first, first_bias, second, second_bias, last_norm, last_shift = weights
    dim, format = attended.shape[-1], attended.dtype
    x_rows = x.to(format).contiguous().view(-1, dim)
    branch = attended.reshape(-1, dim) @ out.to(format).T
    middle, moments = add_norm(x_rows, branch, out_bias, norm, shift, eps)
    product = middle @ first.to(format).T
    last_branch = bias_gelu(product, first_bias) @ second.to(format).T
    result, last_moments = add_norm(middle, last_branch, second_bias, last_norm, last_shift, eps)
    kept = branch, moments, middle, product, last_branch, last_moments
    return [result.view(attended.shape), *kept]


@torch.library.custom_op("speedproof::decoder_tail_backward", mutates_args=())
def decoder_tail_backward(
    gradient: Tensor, x: Tensor, attended: Tensor, kept: list[Tensor], weights: list[Tensor]
) -> list[Tensor]:
    """Return the gradients of x, attended, the three products' weights and the first layer's bias; then of
    each norm (3, dim) those of the bias in front of it, its weight and its shift.
    """
    out, out_bias, norm, _, first, first_bias, second, second_bias, last_norm, _ = weights
    branch, moments, middle, product, last_branch, last_moments = kept
    dim, format = attended.shape[-1], attended.dtype
    rows = gradient.to(format).contiguous().view(-1, dim)
    x_rows = x.to(format).contiguous().view(-1, dim)
    of_sum, of_last_norm = add_norm_gradients(rows, middle, last_branch, second_bias, last_norm, last_moments)
    of_product, of_first_bias, hidden = bias_gelu_gradients(of_sum @ second.to(format), product, first_bias)
    of_second = of_sum.T @ hidden
    of_first = of_product.T @ middle
    # The residual's share is there already, and the product is added to it in place: no pass of its own.
    of_middle = of_sum.addmm_(of_product, first.to(format))
    of_sum, of_norm = add_norm_gradients(of_middle, x_rows, branch, out_bias, norm, moments)
    of_out = of_sum.T @ attended.reshape(-1, dim)
    of_attended = (of_sum @ out.to(format)).view(attended.shape)
    of_x = of_sum.view(attended.shape)
    if len(x) < len(attended):
        of_x = of_x.sum(dim=0, keepdim=True)
    of_products = [part.to(out.dtype) for part in (of_out, of_first, of_second)]
    return [of_x.to(x.dtype), of_attended, *of_products, of_first_bias, of_norm, of_last_norm]


@decoder_tail.register_fake
def _(x, attended, weights, eps):
    rows = attended.new_empty(attended.shape[0] * attended.shape[1], attended.shape[2])
    moments = attended.new_empty(len(rows), 2, dtype=torch.float32)
    branch, middle, product, last_branch = (torch.empty_like(rows) for _ in range(4))
    kept = branch, moments, middle, product, last_branch, torch.empty_like(moments)
    return [attended.new_empty(attended.shape), *kept]


@decoder_tail_backward.register_fake
def _(gradient, x, attended, kept, weights):
    out, _, norm, _, first, first_bias, second, *_ = weights
    norms = [norm.new_empty(3, len(norm)) for _ in range(2)]
    return [*(torch.empty_like(part) for part in (x, attended, out, first, second, first_bias)), *norms]


def _remember(ctx, inputs, output) -> None:
    x, attended, weights, _ = inputs
    ctx.save_for_backward(x, attended, *output[1:], *weights)


def _gradient(ctx, gradients):
    x, attended, *rest = ctx.saved_tensors
    kept, weights = rest[:KEPT], rest[KEPT:]
    found = decoder_tail_backward(gradients[0], x, attended, kept, weights)
    of_x, of_attended, of_out, of_first, of_second = found[:5]
    of_first_bias, of_norm, of_last_norm = found[5:]
    (of_out_bias, *norm), (of_second_bias, *last_norm) = of_norm.unbind(), of_last_norm.unbind()
    of_weights = [of_out, of_out_bias, *norm, of_first, of_first_bias, of_second, of_second_bias, *last_norm]
    return of_x, of_attended, of_weights, None


decoder_tail.register_autograd(_gradient, setup_context=_remember)
