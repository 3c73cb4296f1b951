"""Forward kernel of attention to a tile of keys: a program per pair, head and some queries."""

import triton
import triton.language as tl


@triton.jit
def cross_attention_forward(
    query_ptr,  # (pairs or 1, queries, heads, DIM), contiguous
    key_value_ptr,  # (pairs, TOKENS, 2, heads, DIM), contiguous
    out_ptr,  # (pairs, queries, heads, DIM), contiguous
    queries,
    query_rows,  # pairs or 1
    heads,
    scale,
    TOKENS: tl.constexpr,
    KEYS: tl.constexpr,  # TOKENS rounded up to a power of two
    DIM: tl.constexpr,  # FIRST + REST: a width that is no power of two would waste products
    FIRST: tl.constexpr,
    REST: tl.constexpr,
    QUERIES: tl.constexpr,  # of a program
):
    """softmax(q k^T scale) v, all of it in registers."""
    pair, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    width = heads * DIM
    token = tl.arange(0, KEYS)[:, None]
    number = tl.program_id(1) * QUERIES + tl.arange(0, QUERIES)[:, None]
    keys = key_value_ptr + pair.to(tl.int64) * TOKENS * 2 * width + token * 2 * width + head * DIM
    query_row = query_ptr + (pair % query_rows).to(tl.int64) * queries * width + number * width + head * DIM
    out_row = out_ptr + pair.to(tl.int64) * queries * width + number * width + head * DIM
    first, rest = tl.arange(0, FIRST)[None, :], FIRST + tl.arange(0, max(REST, 1))[None, :]

    query = tl.load(query_row + first, mask=number < queries, other=0.0)
    key = tl.load(keys + first, mask=token < TOKENS, other=0.0)
    scores = tl.dot(query, tl.trans(key), input_precision="ieee")
    if REST > 0:
        query = tl.load(query_row + rest, mask=number < queries, other=0.0)
        key = tl.load(keys + rest, mask=token < TOKENS, other=0.0)
        scores = tl.dot(query, tl.trans(key), scores, input_precision="ieee")
    scores = tl.where(tl.arange(0, KEYS)[None, :] < TOKENS, scores * scale, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    weights = (weights / tl.sum(weights, axis=1)[:, None]).to(query.dtype)
    value = tl.load(keys + width + first, mask=token < TOKENS, other=0.0)
    out = tl.dot(weights, value, input_precision="ieee")
    tl.store(out_row + first, out.to(query.dtype), mask=number < queries)
    if REST > 0:
        value = tl.load(keys + width + rest, mask=token < TOKENS, other=0.0)
        out = tl.dot(weights, value, input_precision="ieee")
        tl.store(out_row + rest, out.to(query.dtype), mask=number < queries)
