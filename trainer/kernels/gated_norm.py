"""A gated residual sum and the modulated norm of it, forward and backward, each in one pass over memory.

Between two products of the operator: x' = x + gate (branch + bias), then norm(x') scale + shift, where gate,
scale and shift are of each pair.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# A program goes through this many tokens of a pair, whose gate, scale and shift it keeps.
FORWARD_TOKENS, FORWARD_WARPS = 8, 1
BACKWARD_TOKENS, BACKWARD_WARPS = 16, 1
SUMS = 4  # of the backward pass over tokens


@torch.library.custom_op("speedproof::gated_norm", mutates_args=())
def gated_norm(
    x: Tensor, branch: Tensor, bias: Tensor, gate: Tensor, scale: Tensor, shift: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x' as x (pairs, tokens, dim), its norm as branch, and (pairs, tokens, 2) mean and deviation^-1.

    branch is as x, bias (dim), gate, scale and shift are (pairs, dim).
    """
    x, branch, gate, scale, shift = (part.contiguous() for part in (x, branch, gate, scale, shift))
    pairs, tokens, dim = x.shape
    total, out = torch.empty_like(x), torch.empty_like(branch)
    moments = x.new_empty(pairs, tokens, 2, dtype=torch.float32)
    grid = (pairs, triton.cdiv(tokens, FORWARD_TOKENS))
    _forward[grid](
        *(x, branch, bias, gate, scale, shift, total, out, moments, eps, tokens),
        *(dim, triton.next_power_of_2(dim), FORWARD_TOKENS),
        num_warps=FORWARD_WARPS,
    )
    return total, out, moments


@torch.library.custom_op("speedproof::gated_norm_backward", mutates_args=())
def gated_norm_backward(
    total_gradient: Tensor,
    out_gradient: Tensor,
    total: Tensor,
    branch: Tensor,
    moments: Tensor,
    bias: Tensor,
    gate: Tensor,
    scale: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x and of branch, and parts of four sums over tokens, (4, pairs, parts, dim).

    These are the gradients of gate, scale and shift, and what times the gate is that of bias.
    """
    total_gradient, out_gradient = total_gradient.contiguous(), out_gradient.contiguous()
    branch, gate, scale = branch.contiguous(), gate.contiguous(), scale.contiguous()
    pairs, tokens, dim = total.shape
    x_gradient, branch_gradient = torch.empty_like(total), torch.empty_like(branch)
    parts = triton.cdiv(tokens, BACKWARD_TOKENS)
    sums = total.new_empty(SUMS, pairs, parts, dim, dtype=torch.float32)
    _backward[(pairs, parts)](
        *(total_gradient, out_gradient, total, branch, moments, bias, gate, scale),
        *(x_gradient, branch_gradient, sums, tokens),
        *(dim, triton.next_power_of_2(dim), BACKWARD_TOKENS),
        num_warps=BACKWARD_WARPS,
    )
    return x_gradient, branch_gradient, sums


@gated_norm.register_fake
def _(x, branch, bias, gate, scale, shift, eps):
    moments = x.new_empty(*x.shape[:2], 2, dtype=torch.float32)
    return x.new_empty(x.shape), branch.new_empty(branch.shape), moments


@gated_norm_backward.register_fake
def _(total_gradient, out_gradient, total, branch, moments, bias, gate, scale):
    pairs, tokens, dim = total.shape
    sums = gate.new_empty(SUMS, pairs, -(-tokens // BACKWARD_TOKENS), dim)
    return total.new_empty(total.shape), branch.new_empty(branch.shape), sums


def _remember(ctx, inputs, output) -> None:
    _, branch, bias, gate, scale, _, _ = inputs
    total, _, moments = output
    ctx.mark_non_differentiable(moments)
    ctx.save_for_backward(total, branch, moments, bias, gate, scale)


def _gradient(ctx, total_gradient, out_gradient, _):
    *_, gate, _ = kept = ctx.saved_tensors
    of_x, of_branch, sums = gated_norm_backward(total_gradient, out_gradient, *kept)
    of_gate, of_scale, of_shift, of_total = sums.sum(dim=2).unbind()
    return of_x, of_branch, (gate * of_total).sum(dim=0), of_gate, of_scale, of_shift, None


gated_norm.register_autograd(_gradient, setup_context=_remember)


@triton.jit
def _forward(
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
        total = tl.load(x_ptr + place, mask=filled, other=0.0).to(tl.float32) + gate * branch
        tl.store(total_ptr + place, total.to(total_ptr.dtype.element_ty), mask=filled)
        mean = tl.sum(total) / DIM
        centred = tl.where(filled, total - mean, 0.0)
        over_deviation = tl.rsqrt(tl.sum(centred * centred) / DIM + eps)
        out = centred * over_deviation * scale + shift
        tl.store(out_ptr + place, out.to(out_ptr.dtype.element_ty), mask=filled)
        tl.store(moments_ptr + 2 * row, mean)
        tl.store(moments_ptr + 2 * row + 1, over_deviation)


@triton.jit
def _backward(
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
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    TOKENS: tl.constexpr,
):
    pair, first = tl.program_id(0), tl.program_id(1) * TOKENS
    column = tl.arange(0, COLUMNS)
    filled = column < DIM
    gate = tl.load(gate_ptr + pair * DIM + column, mask=filled, other=0.0)
    scale = tl.load(scale_ptr + pair * DIM + column, mask=filled, other=0.0)
    bias = tl.load(bias_ptr + column, mask=filled, other=0.0).to(tl.float32)
    of_gate = tl.zeros([COLUMNS], dtype=tl.float32)
    of_scale = tl.zeros([COLUMNS], dtype=tl.float32)
    of_shift = tl.zeros([COLUMNS], dtype=tl.float32)
    of_total = tl.zeros([COLUMNS], dtype=tl.float32)
    for token in range(first, min(first + TOKENS, tokens)):
        row = pair.to(tl.int64) * tokens + token
        place = row * DIM + column
        mean, over_deviation = tl.load(moments_ptr + 2 * row), tl.load(moments_ptr + 2 * row + 1)
        # All loads before the first store, over which the compiler moves none: one wait, not three.
        total = tl.load(total_ptr + place, mask=filled, other=0.0).to(tl.float32)
        gradient = tl.load(out_gradient_ptr + place, mask=filled, other=0.0).to(tl.float32)
        passed_on = tl.load(total_gradient_ptr + place, mask=filled, other=0.0).to(tl.float32)
        branch = tl.load(branch_ptr + place, mask=filled, other=0.0).to(tl.float32) + bias
        normal = tl.where(filled, (total - mean) * over_deviation, 0.0)
        of_scale += gradient * normal
        of_shift += gradient
        gradient *= scale
        along, level = tl.sum(gradient * normal) / DIM, tl.sum(gradient) / DIM
        through_norm = tl.where(filled, (gradient - level - normal * along) * over_deviation, 0.0)
        gradient = passed_on + through_norm
        tl.store(x_gradient_ptr + place, gradient.to(x_gradient_ptr.dtype.element_ty), mask=filled)
        of_gate += gradient * branch
        of_total += gradient
        branch_gradient = (gradient * gate).to(branch_gradient_ptr.dtype.element_ty)
        tl.store(branch_gradient_ptr + place, branch_gradient, mask=filled)
    part = pair.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    stride = tl.num_programs(0) * tl.num_programs(1) * DIM
    sums = sums_ptr + part * DIM + column
    tl.store(sums, of_gate, mask=filled)
    tl.store(sums + stride, of_scale, mask=filled)
    tl.store(sums + 2 * stride, of_shift, mask=filled)
    tl.store(sums + 3 * stride, of_total, mask=filled)
