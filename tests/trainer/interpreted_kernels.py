"""What our kernels promise beside right numbers; test_kernels.py runs these in Triton's interpreter."""

from collections import Counter

import pytest
import torch
from test_model_switches import an_objective, gradients
from test_switch_effects import Operations
from tiny import events, tiny_config
from torch import Tensor, nn
from torch.library import opcheck

from benchmarks.gpu_check.kernel_errors import Case, gated_norm_errors
from trainer.build import build_model
from trainer.data.conditions import condition_size
from trainer.errors import Diverged
from trainer.kernels.attention.cross_attention import cross_attention
from trainer.kernels.attention.one_tile_attention import one_tile_attention
from trainer.kernels.pointwise.decoder_tail import decoder_tail
from trainer.kernels.pointwise.feed_forward import feed_forward
from trainer.kernels.pointwise.gated_norm import gated_norm
from trainer.kernels.pointwise.row_parts import MOST_PROGRAMS, added_up
from trainer.model.attention import CrossAttention
from trainer.model.decoder import AnyPointDecoder
from trainer.run.training import Progress, run_training
from trainer.switches.model.fused_pointwise.layers import fuse_pointwise, fused_layers

PAIRS, TOKENS, DIM, HIDDEN, FIELDS = 3, 5, 48, 40, 2  # none fills a tile
PRODUCTS = torch.float16


def wanted(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(dtype).requires_grad_()


def strided(*shape: int) -> Tensor:
    """Of the products' format, its last two axes stored the other way round."""
    return torch.randn(*shape).mT.contiguous().mT.to(PRODUCTS).requires_grad_()


def of_feed_forward() -> tuple:
    first, second = wanted(HIDDEN, DIM, dtype=PRODUCTS), wanted(DIM, HIDDEN, dtype=PRODUCTS)
    return strided(PAIRS, TOKENS, DIM), first, wanted(HIDDEN), second


def of_gated_norm() -> tuple:
    modulation = [wanted(PAIRS, DIM) for _ in range(3)]
    return wanted(PAIRS, TOKENS, DIM), strided(PAIRS, TOKENS, DIM), wanted(DIM), *modulation, 1e-5


def of_first_gated_norm() -> tuple:
    return None, *of_gated_norm()[1:]


def of_decoder_tail() -> tuple:
    matrices = [wanted(DIM, DIM, dtype=PRODUCTS) for _ in range(3)]
    out, first, second = ([matrix, wanted(DIM)] for matrix in matrices)
    norms = [[wanted(DIM), wanted(DIM)] for _ in range(2)]
    reader = [wanted(DIM, DIM, dtype=PRODUCTS), wanted(DIM)]
    weights = [*out, *norms[0], *first, *second, *norms[1], *reader]
    folded = [part.detach() for part in (*first, *reader)]
    return strided(1, TOKENS, DIM), [], strided(PAIRS, TOKENS, DIM), weights, folded, 1e-5, False


def of_last_decoder_tail() -> tuple:
    _, _, attended, weights, folded, eps, _ = of_decoder_tail()
    head = [wanted(FIELDS, DIM), wanted(FIELDS)]
    x, x_affine = strided(PAIRS, TOKENS, DIM), [torch.randn(DIM), torch.randn(DIM)]
    return x, x_affine, attended, [*weights[:-2], *head], folded[:2], eps, True


def of_cross_attention() -> tuple:
    return strided(1, TOKENS + 2, DIM), strided(PAIRS, TOKENS, 2 * DIM), 1


def of_one_tile_attention() -> tuple:
    return strided(PAIRS, TOKENS, 3 * DIM), wanted(3 * DIM), wanted(DIM // 2), wanted(DIM // 2), 2, 1e-6


def of_one_tile_attention_without_bias() -> tuple:
    qkv, _, *rest = of_one_tile_attention()
    return qkv, None, *rest


OPERATORS = [
    (feed_forward, of_feed_forward),
    (gated_norm, of_gated_norm),
    (gated_norm, of_first_gated_norm),
    (decoder_tail, of_decoder_tail),
    (decoder_tail, of_last_decoder_tail),
    (cross_attention, of_cross_attention),
    (one_tile_attention, of_one_tile_attention),
    (one_tile_attention, of_one_tile_attention_without_bias),
]


@pytest.mark.parametrize(("operator", "inputs"), OPERATORS)
def test_a_compiler_is_told_the_shapes_formats_and_strides_that_come(operator, inputs):
    torch.manual_seed(0)
    opcheck(operator, inputs())


def test_a_head_reads_without_rounding_to_the_products_format():
    torch.manual_seed(0)
    last_normal, read, *_ = decoder_tail(*(inputs := of_last_decoder_tail()))
    *_, norm, shift, weight, bias = inputs[3]
    found = nn.functional.linear(last_normal.float() * norm + shift, weight, bias)
    # What is read is not rounded at all, the rows that are kept of it are.
    resolution = torch.finfo(PRODUCTS).eps
    assert read.dtype == torch.float32
    assert not torch.equal(read, read.to(PRODUCTS).float())
    torch.testing.assert_close(read, found, rtol=0, atol=2 * DIM**0.5 * resolution)


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        (feed_forward, of_feed_forward),
        (decoder_tail, of_decoder_tail),
        (cross_attention, of_cross_attention),
        (gated_norm, of_gated_norm),
    ],
)
def test_no_gradient_is_made_up_for_what_is_only_kept(operator, inputs):
    """Torch would fill one with zeros, as large as what is kept."""
    torch.manual_seed(0)
    given = inputs()
    first = operator(*given)[0]
    with Operations() as operations:
        first.sum().backward()
    assert given[0].grad is not None
    assert operations.count["zeros"] == 0


@pytest.mark.parametrize("rows", [1, PAIRS])
@pytest.mark.parametrize(
    ("tokens", "dim"), [(16, 32), (TOKENS, 48)]
)  # a tile and a width of one part, neither
def test_gradients_of_attention_to_a_tile_of_keys_are_those_in_float64(rows, tokens, dim):
    torch.manual_seed(0)
    query, key_value = (
        wanted(rows, 70, 2 * dim),
        wanted(PAIRS, tokens, 4 * dim),
    )  # a turn of queries and a part
    out, _ = cross_attention(3 * query, key_value, 2)
    out_gradient = torch.randn_like(out)
    own = torch.autograd.grad(out, [query, key_value], out_gradient)
    exact_inputs = [part.detach().double().requires_grad_() for part in (query, key_value)]
    exact_out = CrossAttention(2 * dim, 2).mix(3 * exact_inputs[0], exact_inputs[1])
    exact = torch.autograd.grad(exact_out, exact_inputs, out_gradient.double())
    torch.testing.assert_close(own, tuple(part.float() for part in exact), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dim", [48, 50])  # cut into 32 and 16 columns, and into 32 and 18 of 32
@pytest.mark.parametrize("place", [{}, {"first": True}, {"last": True}])
def test_gradients_of_a_gated_norm_are_those_in_float64(dim, place):
    errors = gated_norm_errors(Case(torch.device("cpu"), torch.float32, 3, 20, 1, dim), **place)
    assert {name: error for name, error in errors.items() if error > 2e-6} == {}


def test_keys_that_pad_the_tile_have_no_weight_however_small_all_scores_are():
    torch.manual_seed(0)
    query = torch.full((1, 6, DIM), 4.0).add(0.1 * torch.randn(1, 6, DIM)).requires_grad_()
    keys, values = -query.detach()[:, :TOKENS], torch.randn(1, TOKENS, DIM)  # scores of -110
    key_value = torch.cat([keys, values], dim=2).requires_grad_()
    out, _ = cross_attention(query, key_value, 1)
    own = torch.autograd.grad(out.square().sum(), [query, key_value])
    plain = CrossAttention(DIM, 1).mix(query, key_value)
    exact = torch.autograd.grad(plain.square().sum(), [query, key_value])
    torch.testing.assert_close(own, exact, rtol=1e-2, atol=1e-3)


def test_the_stream_between_fused_blocks_is_float32_as_between_plain_ones(tmp_path, monkeypatch):
    config = tiny_config(tmp_path)
    model = build_model(config)
    fuse_pointwise(model)
    formats: Counter[torch.dtype] = Counter()

    def observed(*parts: Tensor | float | None) -> tuple[Tensor, Tensor, Tensor]:
        total, *rest = gated_norm(*parts)
        formats[total.dtype] += 1
        return total, *rest

    monkeypatch.setattr("trainer.kernels.pointwise.gated_norm.gated_norm", observed)
    latent = torch.randn(PAIRS, config.model.tokens, config.model.latent_dim)
    condition = torch.randn(PAIRS, condition_size(config.data.tasks))
    with torch.autocast("cpu", torch.bfloat16):
        model.operator(latent, condition, torch.ones(config.model.depth, PAIRS))
    assert formats == {torch.float32: 2 * config.model.depth + 1}


@pytest.mark.parametrize(("rows", "spread"), [(PAIRS, False), (1, False), (2, True)])
def test_layers_that_hand_on_rows_before_weight_and_shift_have_the_gradients_of_plain_ones(
    tmp_path, rows, spread
):
    torch.manual_seed(0)
    config = tiny_config(tmp_path, "model.decoder_depth=3")
    decoder, dim = AnyPointDecoder(config.model, config.grids), config.model.decoder_hidden_dim
    head = decoder.heads["advection1d"]
    used = dict(nn.ModuleDict({"layers": decoder.layers, "head": head}).named_parameters())
    for parameter in used.values():
        parameter.data += 0.1 * torch.randn_like(parameter)  # norms start at 1 and 0, which hides mistakes
    share = torch.eye(rows)[torch.tensor([1, 0, 1])] if spread else None
    x, context = wanted(rows, 7, dim), wanted(PAIRS, TOKENS, dim)
    out = fused_layers(decoder, x, context, share, head)
    of_out = torch.randn_like(out)
    own = [out, *torch.autograd.grad(out, [x, context, *used.values()], of_out)]

    decoder.double()
    exact_inputs = [part.detach().double().requires_grad_() for part in (x, context)]
    exact_out = decoder.through(*exact_inputs, share, head)
    exact = [exact_out, *torch.autograd.grad(exact_out, [*exact_inputs, *used.values()], of_out.double())]
    for name, found, right in zip(("out", "x", "context", *used), own, exact, strict=True):
        error = (found.double() - right).abs().max()
        assert error < 2e-5 * right.abs().max(), name


@pytest.mark.parametrize(
    "chosen",
    [
        ["speed.compile=model"],
        [
            "speed.attention=one-tile",  # which makes the gradient of the bias in front of it
            *("recipe.query_strategy=lattice", "recipe.query_points=4"),  # each pair has one of several rows
        ],
        ["loss.inverse_encoding=0.01", "speed.joint_decode=true"],  # and a head reads two fields
        [
            *("loss.inverse_encoding=0.01", "recipe.inverse_every_nth_pair=2", "speed.joint_decode=true"),
            *("recipe.query_strategy=lattice", "recipe.query_points=4"),
        ],
    ],
)
def test_fused_blocks_and_layers_have_the_loss_and_gradients_of_plain_ones(tmp_path, monkeypatch, chosen):
    # Traced whole, both ways, without the compiler of C++, which takes a minute and is torch's own.
    compiled = nn.Module.compile
    monkeypatch.setattr(
        nn.Module, "compile", lambda module, mode, **how: compiled(module, **how, backend="aot_eager")
    )
    overrides = [
        "data.tasks=[advection1d, darcy2d]",
        *("data.advection1d.grid_points=16", "data.darcy2d.grid_points=4", "model.decoder_depth=2"),
        *("loss.boundary=0", "loss.inverse_encoding=0", "loss.inverse_decoding=0"),  # each decodes more
        "speed.hoist_fixed_grid=true",  # the first layer has one row of queries, the second one a pair
    ]
    shared = [key for key in chosen if not key.startswith("speed.")]
    plain, loss, _ = an_objective(tmp_path, *overrides, *shared)
    fused, same, _ = an_objective(tmp_path, *overrides, "speed.fused_pointwise=true", *chosen)
    assert same == pytest.approx(loss, rel=1e-6)
    torch.testing.assert_close(gradients(fused), gradients(plain), rtol=1e-4, atol=1e-6)


def test_selective_checkpointing_computes_our_attention_once_and_all_twice(tmp_path):
    seen = {}
    for which in ("off", "selective", "all"):
        asked = ["speed.attention=one-tile", f"speed.activation_checkpointing={which}"]
        with Operations() as operations:
            an_objective(tmp_path, *asked)
        seen[which] = operations.count["one_tile_attention"]
    assert 0 < seen["off"] == seen["selective"]
    assert seen["all"] == 2 * seen["off"]


@pytest.mark.parametrize("programs", [1, MOST_PROGRAMS - 1, MOST_PROGRAMS])
def test_all_parts_are_added_up(programs):
    parts = torch.arange(3 * programs).view(programs, 3).float()
    assert torch.equal(added_up(parts), parts.double().sum(dim=0).float())


def test_the_gradient_of_a_gradient_is_refused():
    x, first, bias, second = of_feed_forward()
    out, _ = feed_forward(x, first, bias, second)
    (of_x,) = torch.autograd.grad(out.float().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="feed_forward_backward"):
        of_x.float().sum().backward()


def test_a_training_with_a_kernel_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    """With one of them: the interpreter takes minutes for an update with all."""
    monkeypatch.setattr("trainer.run.training.require_device_fits", lambda *_: None)
    config = tiny_config(
        tmp_path,
        *("speed.attention=one-tile", "speed.wrapper=flat", "speed.data_path=resident"),
        *(
            "model.hidden_dim=32",
            "model.depth=1",
            "data.advection1d.trajectories=4",
            "optimizer.warmup_updates=0",
        ),
        *("train.updates=2", "train.checkpoint_every_updates=1"),
    )
    run_training(config, tmp_path / "whole", 3, Progress())
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step2")
    with pytest.raises(Diverged):
        run_training(config, tmp_path / "cut", 3, Progress())
    monkeypatch.delenv("SPEEDPROOF_TEST_FAULT")
    run_training(config, tmp_path / "cut", 3, Progress(), resume=True)
    (start,) = events(tmp_path / "cut", "run_start")
    assert (start["resumed_at_steps"], start["effective"]["attention"]) == ([1], "one-tile")
    whole, cut = (
        torch.load(tmp_path / name / "checkpoint.pt", weights_only=True) for name in ("whole", "cut")
    )
    for part in ("model", "ema", "optimizer"):
        torch.testing.assert_close(cut[part], whole[part], rtol=0, atol=0)
