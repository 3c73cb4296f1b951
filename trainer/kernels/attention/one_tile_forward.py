"""Forward kernel of self-attention where the tokens of a head fit one tile: a program per pair and head."""

import triton
import triton.language as tl


@triton.jit
def one_tile_forward(
    qkv_ptr,  # (pairs, TOKENS, 3, heads, DIM), contiguous
    query_weight_ptr,  # (DIM,), likewise the key's
    key_weight_ptr,
    out_ptr,  # (pairs, TOKENS, heads, DIM), contiguous
    heads,
    eps,
    scale,
    TOKENS: tl.constexpr,
    ROWS: tl.constexpr,  # TOKENS and DIM, each rounded up to a power of two
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """softmax(norm(q) norm(k)^T scale) v, all of it in registers."""
    pair, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    inside = (row < TOKENS) & (column < DIM)
    width = heads * DIM
    place = pair.to(tl.int64) * TOKENS * 3 * width + row * 3 * width + head * DIM + column
    query = tl.load(qkv_ptr + place, mask=inside, other=0.0).to(tl.float32)
    key = tl.load(qkv_ptr + place + width, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(qkv_ptr + place + 2 * width, mask=inside, other=0.0)
    query_weight = tl.load(query_weight_ptr + column, mask=column < DIM, other=0.0).to(tl.float32)
    key_weight = tl.load(key_weight_ptr + column, mask=column < DIM, other=0.0).to(tl.float32)

    query *= tl.rsqrt(tl.sum(query * query, axis=1) / DIM + eps)[:, None] * query_weight
    key *= tl.rsqrt(tl.sum(key * key, axis=1) / DIM + eps)[:, None] * key_weight
    scores = tl.dot(query.to(value.dtype), tl.trans(key.to(value.dtype)), input_precision="ieee") * scale
    scores = tl.where(tl.arange(0, ROWS)[None, :] < TOKENS, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    weights /= tl.sum(weights, axis=1)[:, None]
    out = tl.dot(weights.to(value.dtype), value, input_precision="ieee")

    out_place = pair.to(tl.int64) * TOKENS * width + row * width + head * DIM + column
    tl.store(out_ptr + out_place, out.to(value.dtype), mask=inside)
