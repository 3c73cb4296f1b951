"""Backward kernel of attention to a tile of keys: a program per pair and head goes through all queries."""

import triton
import triton.language as tl


@triton.jit
def cross_attention_backward(
    query_ptr,  # as in the forward kernel
    key_value_ptr,
    out_gradient_ptr,  # (pairs, queries, heads, DIM), contiguous, and likewise query_gradient
    query_gradient_ptr,
    key_value_gradient_ptr,  # as key_value
    queries,
    query_rows,
    heads,
    scale,
    TOKENS: tl.constexpr,
    KEYS: tl.constexpr,
    DIM: tl.constexpr,
    FIRST: tl.constexpr,
    REST: tl.constexpr,
    QUERIES: tl.constexpr,
):
    """Products in the format of the queries, sums in float32; the softmax is computed again."""
    pair, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    width = heads * DIM
    token = tl.arange(0, KEYS)[:, None]
    known = token < TOKENS
    place = pair.to(tl.int64) * TOKENS * 2 * width + token * 2 * width + head * DIM
    first, rest = tl.arange(0, FIRST)[None, :], FIRST + tl.arange(0, max(REST, 16))[None, :]
    keys = key_value_ptr + place
    key = tl.load(keys + first, mask=known, other=0.0)
    value = tl.load(keys + width + first, mask=known, other=0.0)
    of_key = tl.zeros([KEYS, FIRST], dtype=tl.float32)
    of_value = tl.zeros([KEYS, FIRST], dtype=tl.float32)
    # Without a rest these stay empty tiles that no product uses.
    rest_key = tl.load(keys + rest, mask=known & (rest < DIM), other=0.0)
    rest_value = tl.load(keys + width + rest, mask=known & (rest < DIM), other=0.0)
    of_rest_key = tl.zeros([KEYS, max(REST, 16)], dtype=tl.float32)
    of_rest_value = tl.zeros([KEYS, max(REST, 16)], dtype=tl.float32)
    query_start = query_ptr + (pair % query_rows).to(tl.int64) * queries * width + head * DIM
    start = pair.to(tl.int64) * queries * width + head * DIM
    for begin in range(0, queries, QUERIES):
        number = begin + tl.arange(0, QUERIES)[:, None]
        asked, row = number < queries, number * width
        query = tl.load(query_start + row + first, mask=asked, other=0.0)
        gradient = tl.load(out_gradient_ptr + start + row + first, mask=asked, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee")
        of_weights = tl.dot(gradient, tl.trans(value), input_precision="ieee")
        if REST > 0:
            rest_query = tl.load(query_start + row + rest, mask=asked, other=0.0)
            rest_gradient = tl.load(out_gradient_ptr + start + row + rest, mask=asked, other=0.0)
            scores = tl.dot(rest_query, tl.trans(rest_key), scores, input_precision="ieee")
            of_weights = tl.dot(rest_gradient, tl.trans(rest_value), of_weights, input_precision="ieee")
        scores = tl.where(tl.arange(0, KEYS)[None, :] < TOKENS, scores * scale, float("-inf"))
        weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        weights /= tl.sum(weights, axis=1)[:, None]
        through_softmax = of_weights - tl.sum(weights * of_weights, axis=1)[:, None]
        of_scores = (weights * through_softmax * scale).to(query.dtype)
        weights = weights.to(query.dtype)
        of_value = tl.dot(tl.trans(weights), gradient, of_value, input_precision="ieee")
        of_key = tl.dot(tl.trans(of_scores), query, of_key, input_precision="ieee")
        of_query = tl.dot(of_scores, key, input_precision="ieee").to(query.dtype)
        tl.store(query_gradient_ptr + start + row + first, of_query, mask=asked)
        if REST > 0:
            of_rest_value = tl.dot(tl.trans(weights), rest_gradient, of_rest_value, input_precision="ieee")
            of_rest_key = tl.dot(tl.trans(of_scores), rest_query, of_rest_key, input_precision="ieee")
            of_query = tl.dot(of_scores, rest_key, input_precision="ieee").to(query.dtype)
            tl.store(query_gradient_ptr + start + row + rest, of_query, mask=asked)
    of_keys = key_value_gradient_ptr + place
    tl.store(of_keys + first, of_key.to(key.dtype), mask=known)
    tl.store(of_keys + width + first, of_value.to(key.dtype), mask=known)
    if REST > 0:
        tl.store(of_keys + rest, of_rest_key.to(key.dtype), mask=known)
        tl.store(of_keys + width + rest, of_rest_value.to(key.dtype), mask=known)
