"""Attention, activation checkpointing and compilation: what each changes, and that the numbers stay."""

import json
import sys
from collections import Counter

import pytest
import torch
from facts import states
from forked import python
from test_learning import a_batch
from test_precision import a_learner
from tiny import tiny_config, tiny_file
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import _registry
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.gpu_check.verdict import IN_HALVES, KERNELS
from trainer.build import build_choices, build_model, build_objective
from trainer.config import load_config
from trainer.config.speed_rules import require_device_fits
from trainer.contracts.term import Phase
from trainer.errors import ConfigError
from trainer.losses.objective import Objective
from trainer.switches.model import put_on_model
from trainer.switches.model.activation_checkpointing.recompute import checkpointed
from trainer.switches.model.attention.back_ends import (
    attention_back_end,
    observed_attention,
    replace_self_attention,
)
from trainer.switches.model.compilation import regions as compile_blocks
from trainer.switches.model.compilation.regions import compiled_blocks, observed_compile
from trainer.switches.model.cross_attention.one_tile import observed_cross_attention
from trainer.switches.model.fused_pointwise.layers import observed_fused_layers


def an_objective(folder, *overrides: str) -> tuple[Objective, float, int]:
    """The model with its switches on, its loss on a fixed batch, and the bytes kept for the backward pass."""
    config = tiny_config(folder, *overrides)
    torch.manual_seed(0)
    objective = build_objective(build_model(config), config)
    put_on_model(objective, config.speed)
    batch, kept = a_batch(config), []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel() * tensor.element_size())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor), attention_back_end(config.speed.attention):
        loss = objective(batch, build_choices(config, 0).inputs(1, batch.pair), Phase())
    loss.backward()
    return objective, loss.item(), sum(kept)


def gradients(objective: Objective) -> dict[str, torch.Tensor]:
    return {name: p.grad for name, p in objective.model.named_parameters()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return an_objective(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(
    ("overrides", "blocks", "ends"),
    [
        (["speed.activation_checkpointing=all"], 2, 0),
        (["speed.activation_checkpointing=every-other"], 1, 0),
        (["speed.activation_checkpointing=selective"], 2, 0),
        (["speed.checkpoint_encoder_decoder=true"], 0, 2),
    ],
)
def test_checkpointing_keeps_less_and_changes_no_gradient(plain, tmp_path, overrides, blocks, ends):
    objective, loss, kept = an_objective(tmp_path, *overrides)
    model = objective.model
    assert checkpointed(model.operator.blocks) == blocks
    assert checkpointed([model.encoder, *model.decoder.layers]) == ends
    assert kept < plain[2]
    assert loss == pytest.approx(plain[1], rel=1e-6)
    torch.testing.assert_close(gradients(objective), gradients(plain[0]))
    assert model.state_dict().keys() == plain[0].model.state_dict().keys()


def test_every_other_block_keeps_more_than_all(tmp_path):
    kept = {
        which: an_objective(tmp_path, f"speed.activation_checkpointing={which}")[2]
        for which in ("all", "every-other")
    }
    assert kept["all"] < kept["every-other"]


class Products(TorchDispatchMode):
    """Counts the matrix products that run while it is open."""

    COUNTED = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default)

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if function in self.COUNTED:
            self.seen[function.name()] += 1
        return function(*arguments, **(named or {}))


def test_selective_checkpointing_runs_no_product_twice(tmp_path):
    seen = {}
    for which in ("off", "selective", "all"):
        asked = ["speed.attention=math", f"speed.activation_checkpointing={which}"]  # math's products are bmm
        learner, feed = a_learner(tiny_config(tmp_path, *asked))
        for block in learner.model.operator.blocks:
            block.mlp[-1].bias = None  # which makes an mm of an addmm
        with Products() as products:
            learner.update(1, feed)
        seen[which] = products.seen
    assert seen["selective"] == seen["off"]
    assert len(seen["off"]) == len(Products.COUNTED)
    assert all(seen["all"][name] > count for name, count in seen["off"].items())


@pytest.mark.parametrize("attention", ["math", "auto"])
def test_attention_back_ends_agree(plain, tmp_path, attention):
    objective, loss, _ = an_objective(tmp_path, f"speed.attention={attention}")
    assert loss == pytest.approx(plain[1], rel=1e-5)
    torch.testing.assert_close(gradients(objective), gradients(plain[0]), rtol=1e-3, atol=1e-6)
    observed = observed_attention(objective.model, attention, torch.float32)
    assert observed == {"math": "math", "auto": "flash"}[attention]


def test_a_kernel_in_place_of_attention_reads_back(tmp_path):
    config = tiny_config(tmp_path, "speed.attention=one-tile")
    objective = build_objective(build_model(config), config)
    names = objective.model.state_dict().keys()
    put_on_model(objective, config.speed)
    assert observed_attention(objective.model, "one-tile", torch.float32) == "one-tile"
    assert objective.model.state_dict().keys() == names
    del objective.model.operator.blocks[0].attention.mix
    assert "flash" in observed_attention(objective.model, "one-tile", torch.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "tolerance", "sizes"),
    [("float16", 4e-3, (2, 16, 2, 16)), ("float32", 2e-6, (3, 20, 1, 48))],  # the second fills no tile
)
def test_our_kernels_agree_with_float64(dtype, tolerance, sizes):
    program = ["-m", "benchmarks.gpu_check.kernel_errors", dtype, *sizes]
    done = python(program, TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout)
    # The check on a GPU asks for exactly these.
    assert {kernel: len(parts) for kernel, parts in errors.items()} == KERNELS | IN_HALVES
    assert {kernel: worst for kernel in errors if (worst := max(errors[kernel].values())) > tolerance} == {}


def test_a_kernel_in_place_of_the_decoders_attention_reads_back(tmp_path):
    config = tiny_config(
        tmp_path, "speed.cross_attention=one-tile", "speed.precision=bf16", "model.decoder_hidden_dim=32"
    )
    objective = build_objective(build_model(config), config)
    names = objective.model.state_dict().keys()
    assert observed_cross_attention(objective.model) == "auto"
    put_on_model(objective, config.speed)
    assert observed_cross_attention(objective.model) == "one-tile"
    assert objective.model.state_dict().keys() == names
    del objective.model.decoder.layers[0].attention.mix
    assert observed_cross_attention(objective.model) == "auto"


def test_fused_layers_read_back_and_keep_their_weights(tmp_path):
    config = tiny_config(tmp_path, "speed.fused_pointwise=true")
    objective = build_objective(build_model(config), config)
    names = objective.model.state_dict().keys()
    assert observed_fused_layers(objective.model) == 0
    put_on_model(objective, config.speed)
    assert observed_fused_layers(objective.model) == 3
    assert objective.model.state_dict().keys() == names
    del objective.model.decoder.through
    assert observed_fused_layers(objective.model) == 2
    del objective.model.operator.through
    assert observed_fused_layers(objective.model) == 0


def test_compilation_reads_back_where_it_is(tmp_path):
    seen = {}
    for overrides in (
        [],
        ["speed.compile=blocks"],
        ["speed.compile=model"],
        ["speed.compile=model", REDUCED],
    ):
        config = tiny_config(tmp_path, *overrides)
        objective = build_objective(build_model(config), config)
        put_on_model(objective, config.speed)
        seen[observed_compile(objective)] = compiled_blocks(objective.model)
    assert seen == {"off": 0, "blocks": 3, "model": 0, "model, reduce-overhead": 0}


@pytest.mark.parametrize("variable", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_compilation_that_the_environment_turns_off_is_not_on(tmp_path, monkeypatch, variable):
    config = tiny_config(tmp_path, "speed.compile=blocks")
    objective = build_objective(build_model(config), config)
    monkeypatch.setenv(variable, "1")
    with pytest.raises(RuntimeError, match=rf"{variable} is 1.*[Uu]nset it, or set speed\.compile to off"):
        put_on_model(objective, config.speed)
    assert observed_compile(objective) == "off"


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune-no-cudagraphs"])
def test_the_mode_reaches_the_compiler_of_every_region(tmp_path, monkeypatch, mode):
    asked = []
    monkeypatch.setattr(nn.Module, "compile", lambda module, **named: asked.append((module, named["mode"])))
    for compiled in ("blocks", "model"):
        asked.clear()
        config = tiny_config(tmp_path, f"speed.compile={compiled}", f"speed.compile_mode={mode}")
        objective = build_objective(build_model(config), config)
        put_on_model(objective, config.speed)
        blocks = [*objective.model.operator.blocks, *objective.model.decoder.layers]
        assert asked == [(region, mode) for region in (blocks if compiled == "blocks" else [objective])]


REDUCED = "speed.compile_mode=reduce-overhead"
TUNED = "speed.compile_mode=max-autotune-no-cudagraphs"
GRAPHED = ["speed.compile=blocks", "speed.cuda_graph=true", "speed.data_path=resident"]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ["speed.reduce_gradients=every-micro-step"],
            'speed.reduce_gradients: got "every-micro-step", expected last-micro-step .. '
            "speed.accumulation_steps 1",
        ),
        (
            ["speed.muon=batched", "optimizer.matrices=adamw"],
            'speed.muon: got "batched", expected loop: optimizer.matrices is adamw',
        ),
        ([REDUCED], 'speed.compile_mode: got "reduce-overhead", expected default: speed.compile is off'),
        ([REDUCED, "speed.compile=blocks", "speed.accumulation_steps=2"], "steps 2 .. pytorch issue 169545"),
        ([*GRAPHED, REDUCED], 'speed.compile_mode: got "reduce-overhead", expected .. with speed.cuda_graph'),
        (
            ["speed.compile=model", "speed.wrapper=fsdp2"],
            'speed.compile: got "model", expected blocks: fsdp2',
        ),
        (["speed.attention=flex"], 'speed.attention: got "flex", expected speed.compile blocks'),
        (
            ["speed.attention=cudnn"],
            'speed.attention: got "cudnn", expected speed.precision bf16 or fp16 .. 16-bit numbers',
        ),
        (
            ["speed.attention=one-tile", "data.advection1d.grid_points=512", "model.tokens=256"],
            'speed.attention: got "one-tile", expected auto: model.tokens 256 .. tile of 128',
        ),
        (
            ["speed.cross_attention=one-tile"],
            'speed.cross_attention: got "one-tile", expected speed.precision bf16 or fp16',
        ),
        (
            ["speed.fused_pointwise=true", "speed.compile=blocks"],
            'speed.compile: got "blocks", expected model or off: speed.fused_pointwise',
        ),
        (
            ["speed.fused_pointwise=true", "speed.activation_checkpointing=all"],
            'speed.activation_checkpointing: got "all", expected off: speed.fused_pointwise',
        ),
        (
            ["speed.fused_pointwise=true", "speed.checkpoint_encoder_decoder=true"],
            "speed.checkpoint_encoder_decoder: got true, expected false: speed.fused_pointwise",
        ),
        (
            ["speed.fused_pointwise=true", "speed.wrapper=fsdp2"],
            'speed.wrapper: got "fsdp2", expected ddp or flat .. speed.fused_pointwise',
        ),
        (
            ["speed.cross_attention=one-tile", "model.decoder_hidden_dim=24"],
            'speed.cross_attention: got "one-tile", expected auto .. width of 12',
        ),
    ],
)
def test_combinations_that_cannot_work_are_refused(tmp_path, overrides, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(tiny_file(tmp_path), ["speed.muon=batched", *overrides])
    assert states(str(caught.value), expected), caught.value


def test_a_graph_holds_what_was_tuned(tmp_path):
    config = load_config(tiny_file(tmp_path), [*GRAPHED, TUNED])
    assert (config.speed.cuda_graph, config.speed.compile_mode) == (True, "max-autotune-no-cudagraphs")


def test_flash_attention_3_reads_back_while_it_is_chosen(tmp_path, monkeypatch):
    monkeypatch.setitem(_registry._FLASH_ATTENTION_IMPLS, "FA3", lambda: Handle())
    config = tiny_config(tmp_path, "speed.attention=flash3", "speed.precision=bf16")
    model = build_model(config)
    seen = []
    for attention in ("flash3", "flash"):
        replace_self_attention(model, attention)
        seen.append(observed_attention(model, attention, torch.bfloat16))
    assert seen == ["flash3", "flash"]


class Handle:
    """What an installed FlashAttention 3 gives the registry."""

    def remove(self) -> None:
        pass


def test_flash_attention_3_that_is_not_installed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "flash_attn_interface", None)
    config = tiny_config(tmp_path, "speed.attention=flash3", "speed.precision=bf16")
    with pytest.raises(ConfigError, match=r'speed\.attention: got "flash3", but .*flash_attn_interface'):
        replace_self_attention(build_model(config), "flash3")


def test_attention_that_needs_a_gpu_is_refused_without(tmp_path):
    config = tiny_config(tmp_path, "speed.attention=one-tile")
    with pytest.raises(ConfigError, match=r"speed\.attention: got \"one-tile\".*no GPU.*auto, math or flash"):
        require_device_fits(config.speed, "cpu", 1)


def test_a_region_is_compiled_whole(monkeypatch):
    asked = []
    monkeypatch.setattr(nn.Module, "compile", lambda module, **options: asked.append(options))
    compile_blocks._compile(nn.Linear(2, 2), "default")
    # A break of the graph would cost speed without a word, and so would a graph for any size.
    assert asked == [{"fullgraph": True, "dynamic": False, "mode": "default"}]


# By torch's own guards, without its compiler, which takes minutes; alone torch would give up after one graph.
COMPILED_EAGERLY = """
import sys
import torch._dynamo
from torch import nn
torch._dynamo.config.recompile_limit = 1
compile = nn.Module.compile
nn.Module.compile = lambda module, mode, **settings: compile(module, **settings, backend="eager")
from trainer.cli import main
from trainer.switches.model.compilation.regions import graphs_compiled
code = main(sys.argv[1:])
print(graphs_compiled(), "graphs")
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "compiled",
    [
        ["speed.compile=blocks", "data.tasks=[advection1d, darcy2d]", "recipe.inverse_every_nth_pair=2"],
        ["speed.compile=model", "recipe.inverse_every=2", "recipe.priors_every=3"],
    ],
)
def test_compiled_code_may_have_a_graph_for_all_that_differs(tmp_path, compiled):
    settings = [f"--set={text}" for text in ("train.updates=6", *compiled)]
    arguments = ["train", "--config", tiny_file(tmp_path), "--out", tmp_path / "out", "--seed", "3"]
    done = python(["-c", COMPILED_EAGERLY, *arguments, *settings])
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-2]) > 1
