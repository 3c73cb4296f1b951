"""Two linear layers with a GELU in between, as one operator with a gradient.

Products go through the library. Of what is as wide as the hidden layer, only the first product is kept.
"""

import torch
from torch import Tensor

from trainer.kernels.custom_op import custom_op, gradient_op
from trainer.kernels.pointwise.bias_gelu import bias_gelu, bias_gelu_gradients
from trainer.kernels.pointwise.row_parts import added_up, row_parts


@custom_op
def feed_forward(x: Tensor, first: Tensor, first_bias: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return gelu(x first^T + first_bias) second^T as x (pairs, tokens, dim), and the first product.

    The weights are in the format of x. The second layer's bias is left to what comes behind.
    """
    product = x.reshape(-1, x.shape[-1]) @ first.T
    return (bias_gelu(product, first_bias) @ second.T).view(x.shape), product


@gradient_op
def feed_forward_backward(
    out_gradient: Tensor, x: Tensor, product: Tensor, first: Tensor, first_bias: Tensor, second: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of x, first, first_bias and second."""
    rows, x_rows = out_gradient.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1])
    parts = row_parts(*product.shape, x.device)
    of_product, hidden = bias_gelu_gradients(rows @ second, product, first_bias, parts)
    of_bias = added_up(parts).to(first_bias.dtype)
    return (of_product @ first).view(x.shape), of_product.T @ x_rows, of_bias, rows.T @ hidden


@torch.library.register_fake(feed_forward)
def _(x, first, first_bias, second):
    return x.new_empty(x.shape), x.new_empty(x.shape[0] * x.shape[1], len(first))


@torch.library.register_fake(feed_forward_backward)
def _(out_gradient, x, product, first, first_bias, second):
    return x.new_empty(x.shape), *(torch.empty_like(part) for part in (first, first_bias, second))


def _remember(ctx, inputs, output) -> None:
    x, *weights = inputs
    _, product = output
    ctx.set_materialize_grads(False)  # of zeros, as large as the hidden layer
    ctx.mark_non_differentiable(product)
    ctx.save_for_backward(x, product, *weights)


def _gradient(ctx, out_gradient, _):
    return feed_forward_backward(out_gradient, *ctx.saved_tensors)


torch.library.register_autograd(feed_forward, _gradient, setup_context=_remember)
