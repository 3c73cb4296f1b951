"""Relative errors of our kernels against float64, as JSON.

python -m benchmarks.gpu_check.kernel_errors bfloat16 [PAIRS TOKENS HEADS DIM]
TRITON_INTERPRET=1 python -m benchmarks.gpu_check.kernel_errors float16 3 20 2 16   on a CPU
"""

import argparse
import json
import os
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.harness.in_words import refused_in_words
from trainer.kernels.attention.cross_attention import cross_attention
from trainer.kernels.attention.head_parts import head_parts
from trainer.kernels.attention.one_tile_attention import one_tile_attention
from trainer.kernels.pointwise.feed_forward import feed_forward
from trainer.kernels.pointwise.gated_norm import gated_norm
from trainer.model.attention import CrossAttention, SelfAttention
from trainer.model.decoder import DecoderLayer
from trainer.model.feed_forward import FeedForward
from trainer.process.terminal import answer
from trainer.switches.model.fp8_products.linear import Fp8Linear, has_fp8
from trainer.switches.model.fused_pointwise.layers import fused_tail


class Case(NamedTuple):
    """Of the kernels' inputs: where, their format, and how many of what."""

    device: torch.device
    dtype: torch.dtype
    pairs: int
    tokens: int  # or queries
    heads: int
    dim: int  # of a head


def one_tile_errors(case: Case) -> dict[str, float]:
    """Largest error of output and gradients of one-tile attention, relative to the largest exact value."""
    device, dtype, pairs, tokens, heads, dim = case
    torch.manual_seed(0)
    plain = SelfAttention(heads * dim, heads).to(device)
    with torch.no_grad():
        plain.query_norm.weight.uniform_(0.5, 1.5)
        plain.key_norm.weight.uniform_(0.5, 1.5)
    norms = [plain.query_norm.weight.detach(), plain.key_norm.weight.detach()]
    qkv = torch.randn(pairs, tokens, 3 * heads * dim, device=device).to(dtype)
    out_gradient = torch.randn(pairs, tokens, heads * dim, device=device).to(dtype)

    bias = torch.zeros(3 * heads * dim, device=device)  # in qkv already, whatever it is
    own = [part.clone().requires_grad_() for part in (qkv, bias, *norms)]
    out = one_tile_attention(*own, heads, plain.query_norm.eps)
    results = [out, *torch.autograd.grad(out, own, out_gradient)]

    plain.double()
    exact_inputs = [part.double().requires_grad_() for part in (qkv, bias)]
    exact_out = plain.mix(exact_inputs[0] + exact_inputs[1])
    exact_inputs += [plain.query_norm.weight, plain.key_norm.weight]
    exact = [exact_out, *torch.autograd.grad(exact_out, exact_inputs, out_gradient.double())]
    names = ("out", "qkv_gradient", "bias_gradient", "query_norm_gradient", "key_norm_gradient")
    return {name: _relative(a, b) for name, a, b in zip(names, results, exact, strict=True)}


def cross_attention_errors(
    case: Case,
    *,
    queries: int,
    rows: int,
) -> dict[str, float]:
    """The same of the decoder's attention to some queries, of which there are `rows` rows for all pairs."""
    device, dtype, pairs, tokens, heads, dim = case
    torch.manual_seed(0)
    plain = CrossAttention(heads * dim, heads)
    # Scores of deviation 3, up to 11 and more above the mean: what the model begins with.
    query = 3 * torch.randn(rows, queries, heads * dim, device=device).to(dtype)
    key_value = torch.randn(pairs, tokens, 2 * heads * dim, device=device).to(dtype)
    out_gradient = torch.randn(pairs, queries, heads * dim, device=device).to(dtype)
    own = [query.requires_grad_(), key_value.requires_grad_()]
    out, _ = cross_attention(*own, heads)
    results = [out, *torch.autograd.grad(out, own, out_gradient)]
    exact_inputs = [part.detach().double().requires_grad_() for part in own]
    exact_out = plain.mix(*exact_inputs)
    exact = [exact_out, *torch.autograd.grad(exact_out, exact_inputs, out_gradient.double())]
    names = ("out", "query_gradient", "key_value_gradient")
    return {name: _relative(a, b) for name, a, b in zip(names, results, exact, strict=True)}


def feed_forward_errors(case: Case) -> dict[str, float]:
    """The same of the operator's feed-forward half."""
    device, dtype, pairs, tokens, heads, dim = case
    torch.manual_seed(0)
    plain = FeedForward(heads * dim, 4 * heads * dim).to(device)
    x, out_gradient = torch.randn(2, pairs, tokens, heads * dim, device=device).to(dtype)
    for matrix in (plain[0].weight, plain[2].weight):
        matrix.data = matrix.data.to(dtype)
    own = [x.requires_grad_(), plain[0].weight, plain[0].bias, plain[2].weight]
    out, _ = feed_forward(*own)
    results = [out, *torch.autograd.grad(out, own, out_gradient)]
    plain.double()
    exact_x = x.detach().double().requires_grad_()
    exact_out = plain(exact_x) - plain[2].bias
    wanted = [exact_x, plain[0].weight, plain[0].bias, plain[2].weight]
    exact = [exact_out, *torch.autograd.grad(exact_out, wanted, out_gradient.double())]
    names = ("out", "x", "first", "first_bias", "second")
    return {name: _relative(a, b) for name, a, b in zip(names, results, exact, strict=True)}


def gated_norm_errors(
    case: Case,
    *,
    first: bool = False,
    last: bool = False,
) -> dict[str, float]:
    """The same of a gated residual sum and its norm in the operator, whose stream is float32.

    The first has no stream in front of it, and behind the last nothing but the norm reads the sum.
    """
    device, dtype, pairs, tokens, heads, dim = case
    torch.manual_seed(0)
    stream, of_stream = torch.randn(2, pairs, tokens, heads * dim, device=device)
    branch, of_norm = torch.randn(2, pairs, tokens, heads * dim, device=device).to(dtype)
    bias, modulation = (
        torch.randn(heads * dim, device=device),
        torch.randn(3, pairs, heads * dim, device=device),
    )
    parts = stream, branch, bias, *modulation
    inputs = dict(zip(("x", "branch", "bias", "gate", "scale", "shift"), parts, strict=True))
    if first:
        del inputs["x"]
    own = {name: part.clone().requires_grad_() for name, part in inputs.items()}
    total, normal, _ = gated_norm(None, *own.values(), 1e-5) if first else gated_norm(*own.values(), 1e-5)
    of_results = {"normal": of_norm} if last else {"total": of_stream, "normal": of_norm}
    results = {"total": total, "normal": normal}
    read = [results[name] for name in of_results]
    found = [*results.values(), *torch.autograd.grad(read, own.values(), of_results.values())]

    exact_own = {name: part.detach().double().requires_grad_() for name, part in own.items()}
    gate, scale, shift = (exact_own[name][:, None] for name in ("gate", "scale", "shift"))
    exact_total = exact_own.get("x", 0) + gate * (exact_own["branch"] + exact_own["bias"])
    exact_normal = nn.functional.layer_norm(exact_total, exact_total.shape[2:]) * scale + shift
    exact_results = {"total": exact_total, "normal": exact_normal}
    read = [exact_results[name] for name in of_results]
    wanted = [gradient.double() for gradient in of_results.values()]
    exact = [*exact_results.values(), *torch.autograd.grad(read, exact_own.values(), wanted)]
    return {n: _relative(a, b) for n, a, b in zip([*results, *own], found, exact, strict=True)}


def decoder_tail_errors(
    case: Case,
    *,
    rows: int,
    fields: int | None = None,
    behind_layer: bool = False,
) -> dict[str, float]:
    """The same of a decoder layer behind its attention and the next one's query, or a head of some fields.

    There are `rows` rows of queries for all pairs. Behind a layer they are what its last norm has before
    weight and shift. Then and in the result, what such rows stand for is compared.
    """
    device, dtype, pairs, queries, heads, dim = case
    torch.manual_seed(0)
    dim = heads * dim
    layer = DecoderLayer(dim, heads).to(device)
    reader = nn.Linear(dim, fields or dim).to(device)
    x_norm = nn.LayerNorm(dim).to(device) if behind_layer else None
    for parameter in (*layer.parameters(), *reader.parameters(), *(x_norm.parameters() if x_norm else ())):
        parameter.data += 0.1 * torch.randn_like(parameter)  # norms start at 1 and 0, which hides mistakes
    del layer.attention.query, layer.attention.key_value
    x = torch.randn(rows, queries, dim, device=device).to(dtype)
    attended, of_result = torch.randn(2, pairs, queries, dim, device=device).to(dtype)
    both = nn.ModuleDict({"layer": layer, "reader": reader})
    inputs = [x.requires_grad_(), attended.requires_grad_()]
    normal, read = fused_tail(layer, x, x_norm, attended, reader, only_reader=bool(fields))
    of_read = torch.randn_like(read)  # a head's is float32
    first = 1 if fields else 0  # a head alone reads the last layer's result
    gradients = [of_result, of_read][first:]
    found = torch.autograd.grad([normal, read][first:], [*inputs, *both.parameters()], gradients)
    results = [read, *found] if fields else [_scaled(normal, layer.feed_forward_norm), read, *found]
    both.double()
    exact_inputs = [_scaled(x, x_norm).requires_grad_(), attended.detach().double().requires_grad_()]
    exact_out = layer.tail(*exact_inputs)
    exact_outs = [exact_out, reader(exact_out)][first:]
    wanted = [*exact_inputs, *both.parameters()]
    exact = [*exact_outs, *torch.autograd.grad(exact_outs, wanted, [part.double() for part in gradients])]
    names = [*["out", "read"][first:], "x", "attended", *(name for name, _ in both.named_parameters())]
    return {name: _relative(a, b) for name, a, b in zip(names, results, exact, strict=True)}


def _scaled(normal: Tensor, norm: nn.LayerNorm | None) -> Tensor:
    """What rows of a norm stand for, in float64; rows of none stand for themselves."""
    exact = normal.detach().double()
    return exact if norm is None else exact * norm.weight.detach().double() + norm.bias.detach().double()


def fp8_errors(case: Case) -> dict[str, float]:
    """The same of a linear layer of the operator's blocks with FP8 products, from bf16."""
    device, _, pairs, tokens, heads, dim = case
    torch.manual_seed(0)
    plain = nn.Linear(heads * dim, 4 * heads * dim).to(device)
    x = torch.randn(pairs, tokens, heads * dim, device=device).to(torch.bfloat16).requires_grad_()
    out_gradient = torch.randn(pairs, tokens, 4 * heads * dim, device=device).to(torch.bfloat16)
    own = Fp8Linear.of(plain)
    out = own(x)
    results = [out, *torch.autograd.grad(out, [x, own.weight], out_gradient)]
    plain.double()
    exact_x = x.detach().double().requires_grad_()
    exact_out = plain(exact_x)
    exact = [exact_out, *torch.autograd.grad(exact_out, [exact_x, plain.weight], out_gradient.double())]
    return {name: _relative(a, b) for name, a, b in zip(("out", "x", "weight"), results, exact, strict=True)}


def _relative(value: Tensor, exact: Tensor) -> float:
    return ((value.detach().double() - exact).abs().max() / exact.abs().max()).item()


def main() -> None:
    options = _options()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, options.dtype)
    pairs, tokens, heads, dim = options.sizes
    case = Case(device, dtype, pairs, tokens, heads, dim)
    errors = {
        "one-tile attention": one_tile_errors(case),
        "feed-forward": feed_forward_errors(case),
        "gate, sum and norm": gated_norm_errors(case),
        "first norm": gated_norm_errors(case, first=True),
        "last norm": gated_norm_errors(case, last=True),
        "decoder tail": decoder_tail_errors(case, rows=pairs),
        "decoder tail, queries in common": decoder_tail_errors(case, rows=1),
        "decoder tail behind another": decoder_tail_errors(case, rows=pairs, behind_layer=True),
        "decoder tail and head": decoder_tail_errors(case, rows=pairs, fields=2, behind_layer=True),
    }
    # The decoder has half as many heads, and 1,024 queries.
    if device.type == "cpu" or dtype != torch.float32:  # its forward pass on a GPU is cuDNN's
        fewer = max(1, heads // 2)
        of_decoder = case._replace(heads=fewer, dim=heads * dim // fewer)
        for name, rows in {"cross-attention": pairs, "cross-attention, queries in common": 1}.items():
            errors[name] = cross_attention_errors(of_decoder, queries=8 * tokens, rows=rows)
    if dtype == torch.bfloat16:
        errors["FP8 products"] = fp8_errors(case) if has_fp8(device) else None
    answer(json.dumps(errors))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dtype", choices=("bfloat16", "float16", "float32"))
    parser.add_argument(
        "sizes",
        type=int,
        nargs="*",
        metavar="SIZE",
        default=[64, 128, 8, 48],
        help="pairs, tokens, heads and head width (default 64 128 8 48)",
    )
    options = parser.parse_args()
    if len(options.sizes) != 4 or min(options.sizes) < 1:
        parser.error(
            f"SIZE: got {options.sizes}, expected no size, or four of at least 1: PAIRS TOKENS HEADS DIM"
        )
    if not torch.cuda.is_available() and not os.environ.get("TRITON_INTERPRET"):
        parser.error("there is no GPU; set TRITON_INTERPRET=1 to run the kernels on the CPU")
    if options.dtype == "bfloat16" and os.environ.get("TRITON_INTERPRET"):
        parser.error(
            "got bfloat16, which Triton's interpreter multiplies wrongly; use float16, float32 or a GPU"
        )
    heads, dim = options.sizes[2:]
    of_decoder = heads * dim // max(1, heads // 2)
    if head_parts(of_decoder) is None:
        parser.error(
            f"SIZE: got {heads} heads of {dim}, which gives decoder heads of {of_decoder}. "
            "Expected a power of two of at least 16, or a sum of two such powers"
        )
    return options


if __name__ == "__main__":
    with refused_in_words():
        main()
