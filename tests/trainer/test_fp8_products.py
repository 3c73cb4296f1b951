"""Products of the operator's blocks in FP8: which they are, how far they round, and what cannot have them."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from forked import in_ranks
from test_fallback import FALLBACK, started
from test_precision import a_learner
from tiny import events, tiny_config, tiny_file, train_losses
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.build import build_model
from trainer.config import load_config
from trainer.errors import ConfigError
from trainer.run.training import Progress, run_training
from trainer.switches.model.fp8_products import MULTIPLE
from trainer.switches.model.fp8_products.linear import (
    Fp8Linear,
    observed_fp8_layers,
    require_fp8,
    use_fp8_products,
)

ON = ["speed.fp8_products=true", "speed.precision=bf16"]
LAYERS_OF_A_BLOCK = 4  # of the attention two, and two between which the GELU is
VALUES, GRADIENTS = torch.float8_e4m3fn, torch.float8_e5m2


class Fp8Products(TorchDispatchMode):
    """Collects formats and kind of sum of every FP8 product while it is open, and asks what a GPU asks."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[torch.dtype, torch.dtype, bool]] = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        if function is torch.ops.aten._scaled_mm.default:
            rows, columns = arguments[:2]
            assert rows.stride() == (rows.shape[1], 1)
            assert columns.stride() == (1, columns.shape[0])
            assert rows.shape[1] % MULTIPLE == columns.shape[1] % MULTIPLE == 0
            fast = arguments[7] if len(arguments) > 7 else False
            self.seen.append((rows.dtype, columns.dtype, fast))
        return function(*arguments, **named)


@pytest.mark.parametrize(
    ("checkpointing", "computed_again"), [("off", False), ("all", True), ("selective", False)]
)
def test_both_products_of_every_layer_take_fp8(tmp_path, checkpointing, computed_again):
    once = ["loss.inverse_encoding=0", "loss.inverse_decoding=0"]
    asked = [*ON, *once, f"speed.activation_checkpointing={checkpointing}"]
    learner, feed = a_learner(tiny_config(tmp_path, *asked))
    layers = LAYERS_OF_A_BLOCK * len(learner.model.operator.blocks)
    assert learner.effective()["fp8_layers"] == layers
    with Fp8Products() as products:
        learner.update(1, feed)
    forward, backward = (VALUES, VALUES, True), (GRADIENTS, VALUES, False)
    expected = [forward] * layers * (2 if computed_again else 1) + [backward] * layers
    assert sorted(products.seen, key=str) == sorted(expected, key=str)


def test_off_no_product_takes_fp8(tmp_path):
    learner, feed = a_learner(tiny_config(tmp_path, "speed.precision=bf16"))
    assert learner.effective()["fp8_layers"] == 0
    with Fp8Products() as products:
        learner.update(1, feed)
    assert products.seen == []


def test_layers_keep_their_weights_and_names(tmp_path):
    model = build_model(tiny_config(tmp_path))
    before = dict(model.named_parameters())
    use_fp8_products(model)
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    model.operator.blocks[0].attention.qkv = nn.Linear(16, 48)
    assert observed_fp8_layers(model) == 2 * LAYERS_OF_A_BLOCK - 1


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e12])
def test_results_and_gradients_are_those_of_float64_but_for_the_format(size):
    """Its own scale for each tensor: what a product loses does not depend on how large its factors are."""
    torch.manual_seed(0)
    linear = nn.Linear(96, 64)
    nn.init.zeros_(linear.bias)  # it would hide a small product
    x, gradient = size * torch.randn(5, 7, 96), torch.randn(5, 7, 64) / size
    exact = nn.Linear(96, 64, dtype=torch.float64)
    exact.load_state_dict(linear.state_dict())
    results = [
        _results(layer, x.to(layer.weight.dtype), gradient.to(layer.weight.dtype))
        for layer in (exact, Fp8Linear.of(linear))
    ]
    # A factor of 3 bits of mantissa is off by 2.6% of itself in the mean square, one of 2 bits by twice that.
    expected = {"result": 0.036, "of the input": 0.058, "of the weight": 0.0025, "of the bias": 0.0025}
    for name, plain in results[0].items():
        error = (results[1][name] - plain).norm() / plain.norm()
        assert 0.5 * expected[name] < error < 1.5 * expected[name], name


def _results(
    layer: nn.Linear, x: torch.Tensor, gradient: torch.Tensor, call: Callable | None = None
) -> dict[str, torch.Tensor]:
    x = x.clone().requires_grad_()
    out = (layer if call is None else call)(x)
    out.backward(gradient.to(out.dtype))
    found = {"result": out, "of the input": x.grad, "of the weight": layer.weight.grad}
    return {
        name: value.detach().double() for name, value in (found | {"of the bias": layer.bias.grad}).items()
    }


def test_columns_side_by_side_are_put_in_rows():
    layer = Fp8Linear.of(nn.Linear(32, 16))
    x = torch.randn(32, 8).t().requires_grad_()
    with Fp8Products() as products:
        layer(x).backward(torch.randn(16, 8).t().bfloat16())
    assert len(products.seen) == 2


@pytest.mark.slow
def test_compiled_it_computes_the_same_but_for_rounding():
    in_ranks(_compiled_as_eager, 1)  # without the checks of shapes, which dynamo does not trace


def _compiled_as_eager() -> None:
    torch.manual_seed(0)
    layer, x, gradient = Fp8Linear.of(nn.Linear(32, 16)), torch.randn(4, 8, 32), torch.randn(4, 8, 16)
    eager = _results(layer, x, gradient)
    layer.zero_grad()
    # Traced whole, both ways, without the compiler of C++: test_launches.py has one for a training.
    compiled = _results(layer, x, gradient, torch.compile(layer, backend="aot_eager", fullgraph=True))
    for name, value in eager.items():  # a value between two of FP8 may become the other
        assert (compiled[name] - value).norm() < 0.03 * value.norm(), name


def test_zeros_give_zeros_and_what_is_not_finite_stays_so():
    layer = Fp8Linear.of(nn.Linear(16, 16))
    assert torch.equal(layer(torch.zeros(2, 3, 16)), layer.bias.bfloat16().expand(2, 3, 16))
    for value in (torch.nan, torch.inf):
        assert not layer(torch.full((2, 3, 16), value)).isfinite().any()


@pytest.mark.slow
def test_a_training_ends_where_one_in_bf16_does(tmp_path):
    losses = {}
    for name, overrides in {"bf16": ["speed.precision=bf16"], "fp8": ON}.items():
        out = tmp_path / name
        run_training(tiny_config(tmp_path, *overrides, "train.updates=40"), out, 3, Progress())
        losses[name] = train_losses(out)
    assert events(tmp_path / "fp8", "run_start")[0]["effective"]["fp8_layers"] == 8
    assert losses["fp8"] != losses["bf16"]
    assert losses["fp8"] == pytest.approx(losses["bf16"], rel=0.02)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["speed.precision=fp16"], 'speed.precision: got "fp16", expected bf16: speed.fp8_products'),
        (
            ["speed.fused_pointwise=true"],
            "speed.fp8_products: got true, expected false: speed.fused_pointwise",
        ),
        (["model.hidden_dim=24"], "model.hidden_dim: got 24, expected a multiple of 16"),
    ],
)
def test_what_it_cannot_go_with_is_refused(tmp_path, overrides, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(tiny_file(tmp_path), [*ON, *overrides])
    assert expected in str(caught.value)


@pytest.mark.parametrize(("capability", "has_them"), [((8, 6), False), ((8, 9), True), ((9, 0), True)])
def test_a_gpu_without_fp8_is_named(monkeypatch, capability, has_them):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA RTX A6000")
    refused = pytest.raises(
        ConfigError, match=r"speed\.fp8_products: got true, but NVIDIA RTX A6000 .* false"
    )
    with nullcontext() if has_them else refused:
        require_fp8(torch.device("cuda", 0))


@pytest.mark.slow
def test_where_the_products_fail_a_run_may_go_on_without(tmp_path, monkeypatch):
    def refuse(*_arguments: object, **_options: object) -> None:
        raise RuntimeError(
            "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0"
        )

    monkeypatch.setattr(torch, "_scaled_mm", refuse)
    effective = started(tmp_path, FALLBACK, *ON).effective()
    assert (effective["fp8_layers"], effective["precision"]) == (0, "bfloat16")
    assert "compute capability" in effective["fallback/fp8_products"]
