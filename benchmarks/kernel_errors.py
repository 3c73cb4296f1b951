"""Relative errors of our kernels against float64, as JSON; on a CPU run it with TRITON_INTERPRET=1."""

import json
import sys

import torch
from torch import Tensor

from trainer.kernels.one_tile_attention import one_tile_attention
from trainer.model.attention import SelfAttention


def one_tile_errors(
    device: torch.device, dtype: torch.dtype, pairs: int, tokens: int, heads: int, dim: int
) -> dict[str, float]:
    """Largest error of output and gradients of one-tile attention, relative to the largest exact value."""
    torch.manual_seed(0)
    plain = SelfAttention(heads * dim, heads).to(device)
    with torch.no_grad():
        plain.query_norm.weight.uniform_(0.5, 1.5)
        plain.key_norm.weight.uniform_(0.5, 1.5)
    norms = [plain.query_norm.weight.detach(), plain.key_norm.weight.detach()]
    qkv = torch.randn(pairs, tokens, 3 * heads * dim, device=device).to(dtype)
    out_gradient = torch.randn(pairs, tokens, heads * dim, device=device).to(dtype)

    own = [part.clone().requires_grad_() for part in (qkv, *norms)]
    out = one_tile_attention(*own, heads, plain.query_norm.eps)
    results = [out, *torch.autograd.grad(out, own, out_gradient)]

    plain.double()
    exact_inputs = [qkv.double().requires_grad_(), plain.query_norm.weight, plain.key_norm.weight]
    exact_out = plain.mix(exact_inputs[0])
    exact = [exact_out, *torch.autograd.grad(exact_out, exact_inputs, out_gradient.double())]
    names = ("out", "qkv_gradient", "query_norm_gradient", "key_norm_gradient")
    return {name: _relative(a, b) for name, a, b in zip(names, results, exact, strict=True)}


def _relative(value: Tensor, exact: Tensor) -> float:
    return ((value.double() - exact).abs().max() / exact.abs().max()).item()


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = [int(size) for size in sys.argv[2:]] or [64, 128, 8, 48]
    print(json.dumps(one_tile_errors(device, getattr(torch, sys.argv[1]), *sizes)))
