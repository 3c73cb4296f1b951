"""Backward kernel of attention to a tile of keys: a program per pair and head goes through all queries."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def cross_attention_backward(
    query_ptr,  # (pairs or 1, queries, heads, DIM), contiguous
    key_value_ptr,  # (pairs, TOKENS, 2, heads, DIM), contiguous
    out_ptr,  # (pairs, queries, heads, DIM), contiguous, and likewise both that follow
    out_gradient_ptr,
    query_gradient_ptr,
    normaliser_ptr,  # (pairs, heads, queries) float32: log of the sum of exponentials of a query's scores
    key_value_gradient_ptr,  # as key_value
    queries,
    query_rows,  # pairs or 1
    heads,
    scale,
    TOKENS: tl.constexpr,
    KEYS: tl.constexpr,  # TOKENS rounded up to a power of two
    DIM: tl.constexpr,  # FIRST + REST: a width that is no power of two would waste products
    FIRST: tl.constexpr,
    REST: tl.constexpr,
    QUERIES: tl.constexpr,  # of a turn of the loop
    STAGES: tl.constexpr,  # turns whose loads are under way
):
    """Products in the format of the queries, sums in float32.

    Scores lie keys by queries: like this weights and their gradients are operands as they come, no sum goes
    over keys, and only the queries' gradient needs a transposition.
    """
    format = key_value_gradient_ptr.dtype.element_ty
    pair, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    width = heads * DIM
    token = tl.arange(0, KEYS)[:, None]
    known = token < TOKENS
    row = token * 2 * width  # offsets inside a pair take 32 bits, half the registers of others
    place = pair.to(tl.int64) * TOKENS * 2 * width + head * DIM
    keys, values = key_value_ptr + place, key_value_ptr + place + width
    first = tl.arange(0, FIRST)[None, :]
    key = tl.load(keys + (row + first), mask=known, other=0.0)
    value = tl.load(values + (row + first), mask=known, other=0.0)
    of_key = tl.zeros([KEYS, FIRST], dtype=tl.float32)
    of_value = tl.zeros([KEYS, FIRST], dtype=tl.float32)
    if REST > 0:
        rest = FIRST + tl.arange(0, REST)[None, :]
        rest_key = tl.load(keys + (row + rest), mask=known, other=0.0)
        rest_value = tl.load(values + (row + rest), mask=known, other=0.0)
        of_rest_key = tl.zeros([KEYS, REST], dtype=tl.float32)
        of_rest_value = tl.zeros([KEYS, REST], dtype=tl.float32)
    start = pair.to(tl.int64) * queries * width + head * DIM
    query_start = query_ptr + (pair % query_rows).to(tl.int64) * queries * width + head * DIM
    gradient_start, out_start = out_gradient_ptr + start, out_ptr + start
    of_query_start = query_gradient_ptr + start
    normalisers = normaliser_ptr + tl.program_id(0).to(tl.int64) * queries
    power_scale = scale * LOG2_E
    for begin in tl.range(0, queries, QUERIES, num_stages=STAGES):
        number = begin + tl.arange(0, QUERIES)
        asked = number[:, None] < queries
        line = number[:, None] * width
        query = tl.load(query_start + (line + first), mask=asked, other=0.0)
        gradient = tl.load(gradient_start + (line + first), mask=asked, other=0.0)
        out = tl.load(out_start + (line + first), mask=asked, other=0.0)
        normaliser = tl.load(normalisers + number, mask=number < queries, other=0.0)
        along = tl.sum(gradient.to(tl.float32) * out.to(tl.float32), axis=1)
        scores = tl.dot(key, tl.trans(query), input_precision="ieee")
        of_weights = tl.dot(value, tl.trans(gradient), input_precision="ieee")
        if REST > 0:
            rest_query = tl.load(query_start + (line + rest), mask=asked, other=0.0)
            rest_gradient = tl.load(gradient_start + (line + rest), mask=asked, other=0.0)
            rest_out = tl.load(out_start + (line + rest), mask=asked, other=0.0)
            along += tl.sum(rest_gradient.to(tl.float32) * rest_out.to(tl.float32), axis=1)
            scores = tl.dot(rest_key, tl.trans(rest_query), scores, input_precision="ieee")
            of_weights = tl.dot(rest_value, tl.trans(rest_gradient), of_weights, input_precision="ieee")
        # Powers of two in one instruction each; those of e take five.
        weights = tl.exp2(scores * power_scale - (normaliser * LOG2_E)[None, :])
        if TOKENS < KEYS:
            weights = tl.where(known, weights, 0.0)  # a score of 0 may be far above all others: infinity
        # Without the scores' scale, which the two gradients made of it get at their end: they are smaller.
        of_scores = (weights * (of_weights - along[None, :])).to(format)
        weights = weights.to(format)
        of_value = tl.dot(weights, gradient, of_value, input_precision="ieee")
        of_key = tl.dot(of_scores, query, of_key, input_precision="ieee")
        if REST > 0:
            of_rest_value = tl.dot(weights, rest_gradient, of_rest_value, input_precision="ieee")
            of_rest_key = tl.dot(of_scores, rest_query, of_rest_key, input_precision="ieee")
        by_query = tl.trans(of_scores)
        of_query = tl.dot(by_query, key, input_precision="ieee") * scale
        tl.store(of_query_start + (line + first), of_query.to(format), mask=asked)
        if REST > 0:
            of_query = tl.dot(by_query, rest_key, input_precision="ieee") * scale
            tl.store(of_query_start + (line + rest), of_query.to(format), mask=asked)
    of_keys = key_value_gradient_ptr + place
    of_values = of_keys + width
    tl.store(of_keys + (row + first), (of_key * scale).to(format), mask=known)
    tl.store(of_values + (row + first), of_value.to(format), mask=known)
    if REST > 0:
        tl.store(of_keys + (row + rest), (of_rest_key * scale).to(format), mask=known)
        tl.store(of_values + (row + rest), of_rest_value.to(format), mask=known)
