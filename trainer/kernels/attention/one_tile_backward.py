"""Backward kernel of one-tile self-attention: recomputes the forward pass instead of reading what it left."""

import triton
import triton.language as tl


@triton.jit
def one_tile_backward(
    qkv_ptr,  # as in the forward kernel
    query_weight_ptr,
    key_weight_ptr,
    out_gradient_ptr,  # (pairs, TOKENS, heads, DIM), contiguous
    qkv_gradient_ptr,  # as qkv
    part_ptr,  # (pairs, 5, heads, DIM) float32: sums over tokens for bias of q, k, v and weight of both norms
    heads,
    eps,
    scale,
    TOKENS: tl.constexpr,
    ROWS: tl.constexpr,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Gradients of one pair and head; products in the format of qkv, sums in float32."""
    pair, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    inside = (row < TOKENS) & (column < DIM)
    width = heads * DIM
    place = pair.to(tl.int64) * TOKENS * 3 * width + row * 3 * width + head * DIM + column
    out_place = pair.to(tl.int64) * TOKENS * width + row * width + head * DIM + column
    query = tl.load(qkv_ptr + place, mask=inside, other=0.0).to(tl.float32)
    key = tl.load(qkv_ptr + place + width, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(qkv_ptr + place + 2 * width, mask=inside, other=0.0)
    out_gradient = tl.load(out_gradient_ptr + out_place, mask=inside, other=0.0)
    query_weight = tl.load(query_weight_ptr + column, mask=column < DIM, other=0.0).to(tl.float32)
    key_weight = tl.load(key_weight_ptr + column, mask=column < DIM, other=0.0).to(tl.float32)
    part_ptr += pair.to(tl.int64) * 5 * width + head * DIM + column
    format = value.dtype

    query_scale = tl.rsqrt(tl.sum(query * query, axis=1) / DIM + eps)[:, None]
    key_scale = tl.rsqrt(tl.sum(key * key, axis=1) / DIM + eps)[:, None]
    normal_query = (query * query_scale * query_weight).to(format)
    normal_key = (key * key_scale * key_weight).to(format)
    scores = tl.dot(normal_query, tl.trans(normal_key), input_precision="ieee") * scale
    scores = tl.where(tl.arange(0, ROWS)[None, :] < TOKENS, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    weights /= tl.sum(weights, axis=1)[:, None]

    value_gradient = tl.dot(tl.trans(weights.to(format)), out_gradient, input_precision="ieee")
    tl.store(qkv_gradient_ptr + place + 2 * width, value_gradient.to(format), mask=inside)
    tl.store(part_ptr + 2 * width, tl.sum(value_gradient, axis=0)[None, :], mask=column < DIM)
    weights_gradient = tl.dot(out_gradient, tl.trans(value), input_precision="ieee")
    through_softmax = weights_gradient - tl.sum(weights * weights_gradient, axis=1)[:, None]
    scores_gradient = (weights * through_softmax * scale).to(format)

    gradient = tl.dot(scores_gradient, normal_key, input_precision="ieee")
    of_weight = tl.sum(gradient * query * query_scale, axis=0)[None, :]
    tl.store(part_ptr + 3 * width, of_weight, mask=column < DIM)
    gradient = _through_norm(gradient * query_weight, query, query_scale, DIM)
    tl.store(qkv_gradient_ptr + place, gradient.to(format), mask=inside)
    tl.store(part_ptr, tl.sum(gradient, axis=0)[None, :], mask=column < DIM)

    gradient = tl.dot(tl.trans(scores_gradient), normal_query, input_precision="ieee")
    of_weight = tl.sum(gradient * key * key_scale, axis=0)[None, :]
    tl.store(part_ptr + 4 * width, of_weight, mask=column < DIM)
    gradient = _through_norm(gradient * key_weight, key, key_scale, DIM)
    tl.store(qkv_gradient_ptr + place + width, gradient.to(format), mask=inside)
    tl.store(part_ptr + width, tl.sum(gradient, axis=0)[None, :], mask=column < DIM)


@triton.jit
def _through_norm(gradient, x, scale, DIM: tl.constexpr):
    """Gradient of x where `gradient` is that of x * scale, scale = (mean(x^2) + eps)^-1/2."""
    along = tl.sum(gradient * x, axis=1)[:, None] / DIM
    return gradient * scale - x * (along * scale * scale * scale)
