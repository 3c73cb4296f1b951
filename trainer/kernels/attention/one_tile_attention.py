"""Self-attention over a packed qkv with its query and key norms, as one operator with a gradient.

Pays where the tokens of a head fit one tile: nothing between qkv and the result goes through memory.
"""

import torch
import triton
from torch import Tensor

from trainer.kernels.attention.one_tile_backward import one_tile_backward
from trainer.kernels.attention.one_tile_forward import one_tile_forward
from trainer.kernels.custom_op import custom_op, gradient_op

SUMS = 5  # of the backward pass over tokens: bias of q, k and v, and weight of both norms
FORWARD_WARPS, BACKWARD_WARPS = 8, 8  # fastest of 2 and 3 tried on an H200 at 384 pairs, 8 heads of 48


@custom_op
def one_tile_attention(
    qkv: Tensor, bias: Tensor | None, query_weight: Tensor, key_weight: Tensor, heads: int, eps: float
) -> Tensor:
    """Return (pairs, tokens, dim) of qkv (pairs, tokens, 3 dim), which holds q, k and v side by side.

    bias (3 dim) is what the layer that made qkv has added. Where it is given its gradient is this operator's,
    which sums it up while it holds the tile; that layer then has none for it.
    """
    qkv = qkv.contiguous()
    pairs, tokens, width = qkv.shape
    out = qkv.new_empty(pairs, tokens, width // 3)
    one_tile_forward[(pairs * heads,)](
        qkv, query_weight, key_weight, out, heads, eps, **_tile(qkv, heads), num_warps=FORWARD_WARPS
    )
    return out


@gradient_op
def one_tile_attention_backward(
    out_gradient: Tensor, qkv: Tensor, query_weight: Tensor, key_weight: Tensor, heads: int, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the gradients of qkv, and of bias and of both norms' weights by head, (5, heads, head dim)."""
    qkv, out_gradient = qkv.contiguous(), out_gradient.contiguous()
    qkv_gradient = torch.empty_like(qkv)
    # All sums in one over the pairs: by themselves those of the norms have too few columns to fill a GPU.
    parts = qkv.new_empty(len(qkv), SUMS, heads, len(query_weight), dtype=torch.float32)
    one_tile_backward[(len(qkv) * heads,)](
        *(qkv, query_weight, key_weight, out_gradient, qkv_gradient, parts, heads, eps),
        **_tile(qkv, heads),
        num_warps=BACKWARD_WARPS,
    )
    return qkv_gradient, parts.sum(dim=0)


def _tile(qkv: Tensor, heads: int) -> dict[str, int | float]:
    tokens, dim = qkv.shape[1], qkv.shape[2] // 3 // heads
    return {
        "scale": dim**-0.5,
        "TOKENS": tokens,
        "ROWS": max(16, triton.next_power_of_2(tokens)),  # 16 is the least that a matrix product takes
        "DIM": dim,
        "COLUMNS": max(16, triton.next_power_of_2(dim)),
    }


@torch.library.register_fake(one_tile_attention)
def _(qkv, bias, query_weight, key_weight, heads, eps):
    return qkv.new_empty(*qkv.shape[:2], qkv.shape[2] // 3)


@torch.library.register_fake(one_tile_attention_backward)
def _(out_gradient, qkv, query_weight, key_weight, heads, eps):
    sums = qkv.new_empty(SUMS, heads, len(query_weight), dtype=torch.float32)
    return qkv.new_empty(qkv.shape), sums


def _remember(ctx, inputs, output) -> None:
    qkv, bias, query_weight, key_weight, ctx.heads, ctx.eps = inputs
    ctx.bias_format = None if bias is None else bias.dtype
    ctx.save_for_backward(qkv, query_weight, key_weight)


def _gradient(ctx, out_gradient):
    _, query_weight, _ = kept = ctx.saved_tensors
    of_qkv, sums = one_tile_attention_backward(out_gradient, *kept, ctx.heads, ctx.eps)
    of_bias = None if ctx.bias_format is None else sums[:3].flatten().to(ctx.bias_format)
    of_norms = sums[3:].sum(dim=1).to(query_weight.dtype)
    return of_qkv, of_bias, *of_norms.unbind(), None, None


torch.library.register_autograd(one_tile_attention, _gradient, setup_context=_remember)
