"""Attention from many queries to a tile of keys, as one operator with a gradient.

All keys of a head fit one tile, so nothing of the softmax has to be carried between tiles or kept for the
backward pass. Queries, keys, values and results keep the layout of the linear layers around them.
"""

import torch
import triton
from torch import Tensor

from trainer.kernels.cross_attention_backward import cross_attention_backward
from trainer.kernels.cross_attention_forward import cross_attention_forward
from trainer.kernels.head_parts import head_parts

FORWARD_QUERIES, FORWARD_WARPS = 128, 8
BACKWARD_QUERIES, BACKWARD_WARPS = 64, 8


@torch.library.custom_op("speedproof::cross_attention", mutates_args=())
def cross_attention(query: Tensor, key_value: Tensor, heads: int) -> Tensor:
    """Return (pairs, queries, dim) of queries (pairs or 1, queries, dim) and of keys and values side by side,
    (pairs, tokens, 2 dim).
    """
    query, key_value = query.contiguous(), key_value.contiguous()
    pairs, (_, queries, dim) = len(key_value), query.shape
    out = query.new_empty(pairs, queries, dim)
    grid = (pairs * heads, triton.cdiv(queries, FORWARD_QUERIES))
    cross_attention_forward[grid](
        *(query, key_value, out, queries, len(query), heads),
        **_tile(key_value, heads, FORWARD_QUERIES),
        num_warps=FORWARD_WARPS,
    )
    return out


@torch.library.custom_op("speedproof::cross_attention_gradients", mutates_args=())
def cross_attention_gradients(
    out_gradient: Tensor, query: Tensor, key_value: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """Return the gradients of query and of key_value."""
    query, key_value, out_gradient = query.contiguous(), key_value.contiguous(), out_gradient.contiguous()
    query_gradient, key_value_gradient = torch.empty_like(out_gradient), torch.empty_like(key_value)
    cross_attention_backward[(len(key_value) * heads,)](
        *(query, key_value, out_gradient, query_gradient, key_value_gradient),
        *(query.shape[1], len(query), heads),
        **_tile(key_value, heads, BACKWARD_QUERIES),
        num_warps=BACKWARD_WARPS,
    )
    if len(query) < len(key_value):
        query_gradient = query_gradient.sum(dim=0, keepdim=True)
    return query_gradient, key_value_gradient


def _tile(key_value: Tensor, heads: int, queries: int) -> dict[str, int | float]:
    tokens, dim = key_value.shape[1], key_value.shape[2] // 2 // heads
    parts = head_parts(dim)
    if parts is None:
        raise ValueError(f"a head of {dim} is no sum of two powers of two from 16")
    return {
        "scale": dim**-0.5,
        "TOKENS": tokens,
        "KEYS": max(16, triton.next_power_of_2(tokens)),
        "DIM": dim,
        "FIRST": parts[0],
        "REST": parts[1],
        "QUERIES": queries,
    }


@cross_attention.register_fake
def _(query, key_value, heads):
    return query.new_empty(len(key_value), *query.shape[1:])


@cross_attention_gradients.register_fake
def _(out_gradient, query, key_value, heads):
    return query.new_empty(query.shape), key_value.new_empty(key_value.shape)


def _remember(ctx, inputs, output) -> None:
    query, key_value, ctx.heads = inputs
    ctx.save_for_backward(query, key_value)


def _gradient(ctx, out_gradient):
    return *cross_attention_gradients(out_gradient, *ctx.saved_tensors, ctx.heads), None


cross_attention.register_autograd(_gradient, setup_context=_remember)
