"""Times our kernels against torch's own code and against the memory bandwidth; prints JSON lines.

The first line is the speed of large matrix products on a cool and on a hot GPU.

    python -m benchmarks.speed.kernel_speed [PAIRS] >> out/kernel-speed.jsonl

With TRITON_INTERPRET=1 it runs on a CPU, to try the script: its times are meaningless there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.harness.in_words import refused_in_words
from trainer.kernels.attention.cross_attention import cross_attention
from trainer.kernels.attention.one_tile_attention import one_tile_attention
from trainer.kernels.pointwise.bias_gelu import bias_gelu, bias_gelu_gradients
from trainer.kernels.pointwise.gated_norm import gated_norm
from trainer.kernels.pointwise.row_parts import row_parts
from trainer.model.attention import CrossAttention, SelfAttention
from trainer.model.decoder import DecoderLayer
from trainer.process.terminal import answer
from trainer.switches.model.fused_pointwise.layers import fused_tail

BYTES_PER_SECOND = 4.3e12  # of an H200, measured
TOKENS, QUERIES, DIM = 128, 1024, 384
SELF_HEADS, CROSS_HEADS = 8, 4
REPEATS = 20
REST_SECONDS = HEAT_SECONDS = 3.0  # until then a GPU is neither cool nor at its power limit


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", nargs="?", type=int, default=384, help="pairs per call (default 384)")
    pairs = parser.parse_args().pairs
    if pairs < 1:
        parser.error(f"PAIRS: got {pairs}, expected a whole number at least 1")
    on_gpu = torch.cuda.is_available()
    device, dtype = torch.device("cuda" if on_gpu else "cpu"), torch.bfloat16 if on_gpu else torch.float16
    place = {"device": device, "dtype": dtype}
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if on_gpu else "CPU"
    answer(json.dumps(_products(place) | {"gpu": name, "torch": torch.__version__}))
    for what, ours, torchs, inputs, tensors in [
        _self_attention(pairs, place),
        _cross_attention(pairs, place),
        _gated_norm(pairs, place),
        _decoder_tail(pairs, place, last=False),
        _decoder_tail(pairs, place, last=True),
    ]:
        line = {"kernel": what, "pairs": pairs, "gpu": name, "torch": torch.__version__, "bytes_ms": tensors}
        for form, function in (("ours", ours), ("torch", torchs)):
            forward, backward = _forward_and_backward(function, inputs)
            line |= {f"{form}_forward_ms": forward, f"{form}_backward_ms": backward}
        answer(json.dumps(line))
    for line in (_gelu(pairs, place), *_norms_of_queries(pairs, place)):
        answer(json.dumps(line | {"pairs": pairs, "gpu": name}))


def _products(place: dict) -> dict:
    """Of random data: on zeros a GPU draws less power, and is faster than in any training."""
    size = 8192 if place["device"].type == "cuda" else 64
    left, right = torch.randn(2, size, size, **place)

    def tflops() -> float:
        return 2 * size**3 / _timed(lambda: left @ right) / 1e9

    time.sleep(REST_SECONDS)
    rested, deadline = tflops(), time.monotonic() + HEAT_SECONDS
    while time.monotonic() < deadline:
        hot = tflops()
    return {
        "kernel": f"product of matrices of {size} x {size}",
        "rested_tflops": rested,
        "hot_tflops": hot,
    }


def _self_attention(pairs: int, place: dict) -> tuple:
    plain = SelfAttention(DIM, SELF_HEADS).to(place["device"])
    norms = [plain.query_norm.weight, plain.key_norm.weight]
    qkv = torch.randn(pairs, TOKENS, 3 * DIM, **place).requires_grad_()

    def torchs(qkv: Tensor, *_: Tensor) -> Tensor:
        return plain.mix(qkv)

    def ours(qkv: Tensor, *norms: Tensor) -> Tensor:
        return one_tile_attention(qkv, None, *norms, SELF_HEADS, plain.query_norm.eps)

    # Read qkv, write out; read both and the gradient of out, write that of qkv.
    return "self-attention", ours, torchs, [qkv, *norms], [_ms(qkv, 4 / 3), _ms(qkv, 7 / 3)]


def _cross_attention(pairs: int, place: dict) -> tuple:
    plain = CrossAttention(DIM, CROSS_HEADS)
    query = torch.randn(pairs, QUERIES, DIM, **place).requires_grad_()
    key_value = torch.randn(pairs, TOKENS, 2 * DIM, **place).requires_grad_()

    def ours(query: Tensor, key_value: Tensor) -> Tensor:
        return cross_attention(query, key_value, CROSS_HEADS)[0]

    # Read the queries, write out; read queries, out and its gradient, write the queries' gradient.
    return "cross-attention", ours, plain.mix, [query, key_value], [_ms(query, 2), _ms(query, 4)]


def _gated_norm(pairs: int, place: dict) -> tuple:
    stream = torch.randn(pairs, TOKENS, DIM, device=place["device"]).requires_grad_()
    branch = torch.randn(pairs, TOKENS, DIM, **place).requires_grad_()
    bias = torch.randn(DIM, device=place["device"]).requires_grad_()
    modulation = [part.requires_grad_() for part in torch.randn(3, pairs, DIM, device=place["device"])]

    def ours(*parts: Tensor) -> Tensor:
        total, normal, _ = gated_norm(*parts, 1e-5)
        return total.sum() + normal.float().sum()

    def torchs(x: Tensor, branch: Tensor, bias: Tensor, *modulation: Tensor) -> Tensor:
        gate, scale, shift = (part[:, None] for part in modulation)
        total = x + gate * (branch + bias)
        normal = (nn.functional.layer_norm(total, (DIM,)) * scale + shift).to(branch.dtype)
        return total.sum() + normal.float().sum()

    floor = [_ms(stream, 2) + _ms(branch, 2), _ms(stream, 3) + _ms(branch, 3)]
    return "gate, sum and norm, with a sum of both", ours, torchs, [stream, branch, bias, *modulation], floor


def _decoder_tail(pairs: int, place: dict, *, last: bool) -> tuple:
    layer, x_norm = DecoderLayer(DIM, CROSS_HEADS).to(place["device"]), nn.LayerNorm(DIM).to(place["device"])
    reader = nn.Linear(DIM, 1 if last else DIM).to(place["device"])
    inputs = [torch.randn(pairs, QUERIES, DIM, **place).requires_grad_() for _ in range(2)]

    read = (layer.attention.out, layer.attention_norm, layer.feed_forward, layer.feed_forward_norm, reader)
    weights = [weight for module in read for weight in module.parameters()]

    def torchs(x: Tensor, attended: Tensor, *_: Tensor) -> Tensor:
        with torch.autocast(place["device"].type, dtype=place["dtype"]):
            return reader(layer.tail(x, attended))

    def ours(x: Tensor, attended: Tensor, *_: Tensor) -> Tensor:
        return fused_tail(layer, x, x_norm, attended, reader, only_reader=last)[1]

    # Without the products: norms of three tensors twice, a GELU of two; of three, of three or two, of four.
    floor = [_ms(inputs[0], 8), _ms(inputs[0], 9 if last else 10)]
    what = "last decoder layer {}, and a head" if last else "decoder layer {}, and the next query"
    return (
        what.format("behind its attention") + ", with the products",
        ours,
        torchs,
        [*inputs, *weights],
        floor,
    )


def _gelu(pairs: int, place: dict) -> dict:
    product, gradient = torch.randn(2, pairs * QUERIES // 2, DIM, **place)
    bias = torch.randn(DIM, device=place["device"])
    parts = row_parts(*product.shape, product.device)
    plain = product.detach().clone().requires_grad_()

    def torchs() -> Tensor:
        return nn.functional.gelu(plain + bias.to(plain.dtype))

    out = torchs()
    return {
        "kernel": "bias and GELU; backward with the result again",
        "bytes_ms": [_ms(product, 2), _ms(product, 4)],
        "ours_forward_ms": _timed(lambda: bias_gelu(product, bias)),
        "ours_backward_ms": _timed(lambda: bias_gelu_gradients(gradient, product, bias, parts)),
        "torch_forward_ms": _timed(torchs),
        "torch_backward_ms": _timed(lambda: torch.autograd.grad(out, plain, gradient, retain_graph=True)),
    }


def _norms_of_queries(pairs: int, place: dict) -> Iterator[dict]:
    """Torch's own, whose one kernel wants a weight in the format of what it norms (pytorch issue 167308)."""
    packed = torch.randn(pairs, TOKENS, 3, SELF_HEADS, DIM // SELF_HEADS, **place).requires_grad_()
    weight = torch.ones(DIM // SELF_HEADS, device=place["device"]).requires_grad_()

    def normed(packed: Tensor, weight: Tensor) -> Tensor:
        return nn.functional.rms_norm(packed[:, :, 0], weight.shape, weight, 1e-6).to(packed.dtype)

    def normed_in_one_format(packed: Tensor, weight: Tensor) -> Tensor:
        return normed(packed, weight.to(packed.dtype))

    for form, function in (("float32", normed), ("their format", normed_in_one_format)):
        forward, backward = _forward_and_backward(function, [packed, weight])
        yield {
            "kernel": f"norms of all queries, with a weight in {form}",
            "bytes_ms": [_ms(packed, 2 / 3), _ms(packed, 1)],
            "torch_forward_ms": forward,
            "torch_backward_ms": backward,
        }


def _ms(tensor: Tensor, passes: float) -> float:
    """What so many passes over a tensor take at least."""
    return 1e3 * passes * tensor.numel() * tensor.element_size() / BYTES_PER_SECOND


def _forward_and_backward(function: Callable[..., Tensor], inputs: list[Tensor]) -> tuple[float, float]:
    """`inputs` has the weights too: ours always makes their gradients, torch those that are asked for."""
    out = function(*inputs)
    gradient = torch.ones_like(out) if out.ndim == 0 else torch.randn_like(out)
    return _timed(lambda: function(*inputs)), _timed(
        lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)
    )


def _timed(function: Callable[[], object]) -> float:
    """Milliseconds of a call, the mean of many."""
    for _ in range(2):
        function()
    if not torch.cuda.is_available():
        started = time.perf_counter()
        function()
        return 1e3 * (time.perf_counter() - started)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(REPEATS):
        function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / REPEATS


if __name__ == "__main__":
    with refused_in_words():
        main()
