"""A gated residual sum and the modulated norm of it, forward and backward, each in one pass over memory.

Between two products of the operator: x' = x + gate (branch + bias), then norm(x') scale + shift, where gate,
scale and shift are of each pair. In front of the first block there is no x yet, and behind the last one
nothing else reads x'.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from trainer.kernels.custom_op import custom_op, gradient_op

# A program goes through this many tokens of a pair, whose scale it keeps; forward gate and shift as well.
FORWARD_TOKENS, FORWARD_WARPS = 8, 1
BACKWARD_TOKENS, BACKWARD_WARPS = 16, 1
SUMS = 4  # of the backward pass over tokens


@custom_op
def gated_norm(
    x: Tensor | None,
    branch: Tensor,
    bias: Tensor,
    gate: Tensor,
    scale: Tensor,
    shift: Tensor,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x' as x (pairs, tokens, dim), its norm as branch, and (pairs, tokens, 2) mean and deviation^-1.

    branch is as x, bias (dim), gate, scale and shift are (pairs, dim). No x is one of zeros in float32.
    """
    branch, gate, scale, shift = (part.contiguous() for part in (branch, gate, scale, shift))
    pairs, tokens, dim = branch.shape
    total = torch.empty(branch.shape, dtype=_stream(x), device=branch.device)
    out, moments = torch.empty_like(branch), _moments(branch)
    grid = (pairs, triton.cdiv(tokens, FORWARD_TOKENS))
    _gated_norm_forward[grid](
        *(None if x is None else x.contiguous(), branch, bias, gate, scale, shift),
        *(total, out, moments, eps, tokens),
        *(x is not None, dim, triton.next_power_of_2(dim), FORWARD_TOKENS),
        num_warps=FORWARD_WARPS,
    )
    return total, out, moments


@gradient_op
def gated_norm_backward(
    total_gradient: Tensor | None,
    out_gradient: Tensor,
    total: Tensor,
    branch: Tensor,
    moments: Tensor,
    bias: Tensor,
    gate: Tensor,
    scale: Tensor,
    has_x: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x and of branch, and parts of four sums over tokens, (4, pairs, parts, dim).

    These are the gradients of gate, scale and shift, and by pair that of bias. Without x its gradient is
    empty.
    """
    out_gradient, branch = out_gradient.contiguous(), branch.contiguous()
    gate, scale = gate.contiguous(), scale.contiguous()
    given = total_gradient is not None
    pairs, tokens, dim = total.shape
    x_gradient = torch.empty_like(total) if has_x else total.new_empty(0)
    branch_gradient = torch.empty_like(branch)
    parts = triton.cdiv(tokens, BACKWARD_TOKENS)
    sums = total.new_empty(SUMS, pairs, parts, dim, dtype=torch.float32)
    _gated_norm_backward[(pairs, parts)](
        *(total_gradient.contiguous() if given else None, out_gradient),
        *(total, branch, moments, bias, gate, scale),
        *(x_gradient, branch_gradient, sums, tokens),
        *(given, has_x, dim, *_cut(dim), BACKWARD_TOKENS),
        num_warps=BACKWARD_WARPS,
    )
    return x_gradient, branch_gradient, sums


def _stream(x: Tensor | None) -> torch.dtype:
    return torch.float32 if x is None else x.dtype


def _moments(branch: Tensor) -> Tensor:
    return branch.new_empty(*branch.shape[:2], 2, dtype=torch.float32)


def _cut(dim: int) -> tuple[int, int]:
    """Cut columns into two powers of two: 384 rounded up to one would waste a quarter of the registers."""
    first = triton.next_power_of_2(dim) // 2
    return first, triton.next_power_of_2(dim - first)


@torch.library.register_fake(gated_norm)
def _(x, branch, bias, gate, scale, shift, eps):
    total = branch.new_empty(branch.shape, dtype=_stream(x))
    return total, branch.new_empty(branch.shape), _moments(branch)


@torch.library.register_fake(gated_norm_backward)
def _(total_gradient, out_gradient, total, branch, moments, bias, gate, scale, has_x):
    pairs, tokens, dim = total.shape
    sums = gate.new_empty(SUMS, pairs, -(-tokens // BACKWARD_TOKENS), dim)
    return total.new_empty(total.shape if has_x else 0), branch.new_empty(branch.shape), sums


def _remember(ctx, inputs, output) -> None:
    x, branch, bias, gate, scale, _, _ = inputs
    total, _, moments = output
    ctx.has_x = x is not None
    ctx.set_materialize_grads(False)  # of zeros, as large as the stream
    ctx.mark_non_differentiable(moments)
    ctx.save_for_backward(total, branch, moments, bias, gate, scale)


def _gradient(ctx, total_gradient, out_gradient, _):
    _, branch, *_ = kept = ctx.saved_tensors
    if out_gradient is None:
        out_gradient = torch.zeros_like(branch)
    of_x, of_branch, sums = gated_norm_backward(total_gradient, out_gradient, *kept, ctx.has_x)
    of_gate, of_scale, of_shift, of_bias = sums.sum(dim=2).unbind()
    of_x = of_x if ctx.has_x else None
    return of_x, of_branch, of_bias.sum(dim=0), of_gate, of_scale, of_shift, None


torch.library.register_autograd(gated_norm, _gradient, setup_context=_remember)


@triton.jit
def _gated_norm_forward(
    x_ptr,
    branch_ptr,
    bias_ptr,
    gate_ptr,
    scale_ptr,
    shift_ptr,
    total_ptr,
    out_ptr,
    moments_ptr,
    eps,
    tokens,
    HAS_X: tl.constexpr,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    TOKENS: tl.constexpr,
):
    pair, first = tl.program_id(0), tl.program_id(1) * TOKENS
    column = tl.arange(0, COLUMNS)
    filled = column < DIM
    of_pair = pair * DIM + column
    gate = tl.load(gate_ptr + of_pair, mask=filled, other=0.0)
    scale = tl.load(scale_ptr + of_pair, mask=filled, other=0.0)
    shift = tl.load(shift_ptr + of_pair, mask=filled, other=0.0)
    bias = tl.load(bias_ptr + column, mask=filled, other=0.0).to(tl.float32)
    for token in range(first, min(first + TOKENS, tokens)):
        row = pair.to(tl.int64) * tokens + token
        place = row * DIM + column
        branch = tl.load(branch_ptr + place, mask=filled, other=0.0).to(tl.float32) + bias
        total = gate * branch
        if HAS_X:
            total += tl.load(x_ptr + place, mask=filled, other=0.0).to(tl.float32)
        tl.store(total_ptr + place, total.to(total_ptr.dtype.element_ty), mask=filled)
        mean = tl.sum(total) / DIM
        centred = tl.where(filled, total - mean, 0.0)
        over_deviation = tl.rsqrt(tl.sum(centred * centred) / DIM + eps)
        out = centred * over_deviation * scale + shift
        tl.store(out_ptr + place, out.to(out_ptr.dtype.element_ty), mask=filled)
        tl.store(moments_ptr + 2 * row, mean)
        tl.store(moments_ptr + 2 * row + 1, over_deviation)


@triton.jit
def _gated_norm_backward(
    total_gradient_ptr,
    out_gradient_ptr,
    total_ptr,
    branch_ptr,
    moments_ptr,
    bias_ptr,
    gate_ptr,
    scale_ptr,
    x_gradient_ptr,
    branch_gradient_ptr,
    sums_ptr,  # (4, pairs, parts, DIM) float32: each program's part for gate, scale, shift and bias
    tokens,
    TOTAL_IS_READ: tl.constexpr,  # by others than the norm
    HAS_X: tl.constexpr,
    DIM: tl.constexpr,
    FIRST: tl.constexpr,  # columns, and the rest rounded up to a power of two
    REST: tl.constexpr,
    TOKENS: tl.constexpr,
):
    pair, begin = tl.program_id(0), tl.program_id(1) * TOKENS
    first, rest = tl.arange(0, FIRST), FIRST + tl.arange(0, REST)
    filled = rest < DIM
    if FIRST + REST == DIM:
        filled = tl.full([REST], True, tl.int1)
    gate_ptr += pair * DIM
    first_scale = tl.load(scale_ptr + pair * DIM + first)
    rest_scale = tl.load(scale_ptr + pair * DIM + rest, mask=filled, other=0.0)
    of_first_gate = tl.zeros([FIRST], dtype=tl.float32)
    of_first_scale = tl.zeros([FIRST], dtype=tl.float32)
    of_first_shift = tl.zeros([FIRST], dtype=tl.float32)
    of_first_total = tl.zeros([FIRST], dtype=tl.float32)
    of_rest_gate = tl.zeros([REST], dtype=tl.float32)
    of_rest_scale = tl.zeros([REST], dtype=tl.float32)
    of_rest_shift = tl.zeros([REST], dtype=tl.float32)
    of_rest_total = tl.zeros([REST], dtype=tl.float32)
    for token in range(begin, min(begin + TOKENS, tokens)):
        row = pair.to(tl.int64) * tokens + token
        start = row * DIM
        mean, over_deviation = tl.load(moments_ptr + 2 * row), tl.load(moments_ptr + 2 * row + 1)
        # All loads before the first store, over which the compiler moves none: one wait, not three.
        first_total = tl.load(total_ptr + start + first).to(tl.float32)
        rest_total = tl.load(total_ptr + start + rest, mask=filled, other=0.0).to(tl.float32)
        first_gradient = tl.load(out_gradient_ptr + start + first).to(tl.float32)
        rest_gradient = tl.load(out_gradient_ptr + start + rest, mask=filled, other=0.0).to(tl.float32)
        if TOTAL_IS_READ:
            first_passed_on = tl.load(total_gradient_ptr + start + first).to(tl.float32)
            rest_passed_on = tl.load(total_gradient_ptr + start + rest, mask=filled, other=0.0).to(tl.float32)
        first_branch = tl.load(branch_ptr + start + first)
        rest_branch = tl.load(branch_ptr + start + rest, mask=filled, other=0.0)

        # Where a column is not filled, the gradient is 0 until the sums over columns are made.
        first_normal = (first_total - mean) * over_deviation
        rest_normal = (rest_total - mean) * over_deviation
        of_first_scale += first_gradient * first_normal
        of_rest_scale += rest_gradient * rest_normal
        of_first_shift += first_gradient
        of_rest_shift += rest_gradient
        first_gradient *= first_scale
        rest_gradient *= rest_scale
        along = (tl.sum(first_gradient * first_normal) + tl.sum(rest_gradient * rest_normal)) / DIM
        level = (tl.sum(first_gradient) + tl.sum(rest_gradient)) / DIM
        first_gradient = (first_gradient - level - first_normal * along) * over_deviation
        rest_gradient = (rest_gradient - level - rest_normal * along) * over_deviation
        if TOTAL_IS_READ:
            first_gradient += first_passed_on
            rest_gradient += rest_passed_on
        of_first_total += first_gradient
        of_rest_total += rest_gradient
        of_first_gate += first_gradient * first_branch.to(tl.float32)
        of_rest_gate += rest_gradient * rest_branch.to(tl.float32)

        # From the nearest cache: in registers the gate would take the room of two other programs.
        first_gate = tl.load(gate_ptr + first)
        rest_gate = tl.load(gate_ptr + rest, mask=filled, other=0.0)
        if HAS_X:
            format = x_gradient_ptr.dtype.element_ty
            tl.store(x_gradient_ptr + start + first, first_gradient.to(format))
            tl.store(x_gradient_ptr + start + rest, rest_gradient.to(format), mask=filled)
        format = branch_gradient_ptr.dtype.element_ty
        tl.store(branch_gradient_ptr + start + first, (first_gradient * first_gate).to(format))
        tl.store(branch_gradient_ptr + start + rest, (rest_gradient * rest_gate).to(format), mask=filled)
    first_gate = tl.load(gate_ptr + first)
    rest_gate = tl.load(gate_ptr + rest, mask=filled, other=0.0)
    first_bias = tl.load(bias_ptr + first).to(tl.float32)
    rest_bias = tl.load(bias_ptr + rest, mask=filled, other=0.0).to(tl.float32)
    part = pair.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    stride = tl.num_programs(0) * tl.num_programs(1) * DIM
    sums_ptr += part * DIM
    tl.store(sums_ptr + first, of_first_gate + first_bias * of_first_total)
    tl.store(sums_ptr + rest, of_rest_gate + rest_bias * of_rest_total, mask=filled)
    sums_ptr += stride
    tl.store(sums_ptr + first, of_first_scale)
    tl.store(sums_ptr + rest, of_rest_scale, mask=filled)
    sums_ptr += stride
    tl.store(sums_ptr + first, of_first_shift)
    tl.store(sums_ptr + rest, of_rest_shift, mask=filled)
    sums_ptr += stride
    tl.store(sums_ptr + first, first_gate * of_first_total)
    tl.store(sums_ptr + rest, rest_gate * of_rest_total, mask=filled)
