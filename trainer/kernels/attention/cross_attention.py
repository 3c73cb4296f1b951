"""Attention from many queries to a tile of keys: torch's forward pass, and a backward pass of our own.

All keys of a head fit one tile, so one program has all gradients of its head: no partial results pass
through memory, where cuDNN needs a kernel in front of its own and one behind it.
"""

import torch
import triton
from torch import Tensor

from trainer.kernels.attention.cross_attention_backward import cross_attention_backward
from trainer.kernels.attention.head_parts import head_parts
from trainer.kernels.custom_op import custom_op, gradient_op

# On an H200 with 384 pairs, 1024 queries, 128 keys, 4 heads of 96: fastest of 12 tried
# of its first form; 0.62 ms, cuDNN 1.26.
QUERIES, STAGES, WARPS = 64, 3, 8


@custom_op
def cross_attention(query: Tensor, key_value: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Return (pairs, queries, dim), and for each query and head the log of its scores' sum of exponentials.

    Of queries (pairs or 1, queries, dim) and of keys and values side by side, (pairs, tokens, 2 dim).
    """
    query, key_value = query.contiguous(), key_value.contiguous()
    each = query.unflatten(-1, (heads, -1)).transpose(1, 2).expand(len(key_value), -1, -1, -1)
    key, value = key_value.unflatten(-1, (2, heads, -1)).permute(2, 0, 3, 1, 4)
    if query.is_cuda and query.dtype == torch.float32:
        raise ValueError(
            "got float32, but cuDNN's cross-attention needs 16-bit numbers. Set speed.precision to bf16"
        )
    if query.is_cuda:
        out, normaliser, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(each, key, value, None, True)
    else:
        out, normaliser = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(each, key, value)
    return out.transpose(1, 2).flatten(2).contiguous(), normaliser.view(each.shape[:3]).contiguous()


@gradient_op
def cross_attention_gradients(
    out_gradient: Tensor, query: Tensor, key_value: Tensor, out: Tensor, normaliser: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of query and of key_value."""
    query, key_value, out_gradient = query.contiguous(), key_value.contiguous(), out_gradient.contiguous()
    query_gradient, key_value_gradient = torch.empty_like(out_gradient), torch.empty_like(key_value)
    pairs, tokens, heads = *key_value.shape[:2], normaliser.shape[1]
    dim = key_value.shape[2] // 2 // heads
    parts = head_parts(dim)
    if parts is None:
        raise ValueError(f"got a head width of {dim}, expected a sum of two powers of two, each at least 16")
    cross_attention_backward[(pairs * heads,)](
        *(query, key_value, out, out_gradient, query_gradient, normaliser, key_value_gradient),
        *(query.shape[1], len(query), heads, dim**-0.5),
        *(tokens, max(16, triton.next_power_of_2(tokens)), dim, *parts, QUERIES, STAGES),
        num_warps=WARPS,
    )
    if len(query) < pairs:
        query_gradient = query_gradient.sum(dim=0, keepdim=True)
    return query_gradient, key_value_gradient


@torch.library.register_fake(cross_attention)
def _(query, key_value, heads):
    pairs, queries, dim = len(key_value), *query.shape[1:]
    normaliser = query.new_empty(pairs, heads, queries, dtype=torch.float32)
    return query.new_empty(pairs, queries, dim), normaliser


@torch.library.register_fake(cross_attention_gradients)
def _(out_gradient, query, key_value, out, normaliser):
    return query.new_empty(query.shape), key_value.new_empty(key_value.shape)


def _remember(ctx, inputs, output) -> None:
    query, key_value, _ = inputs
    out, normaliser = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(normaliser)
    ctx.save_for_backward(query, key_value, out, normaliser)


def _gradient(ctx, out_gradient, _):
    return *cross_attention_gradients(out_gradient, *ctx.saved_tensors), None


torch.library.register_autograd(cross_attention, _gradient, setup_context=_remember)
