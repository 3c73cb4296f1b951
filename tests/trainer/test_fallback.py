"""What a switch that fails on this machine does to a run: each is broken where the machine would break it."""

import gc
import sys
import weakref

import pytest
import torch
from facts import states
from tiny import OUT_OF_MEMORY, events, launch, tiny_config, tiny_file, train_in_ranks, train_losses

from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.process.world import World
from trainer.run.step import fallback as starting
from trainer.run.step.fallback import GATED, Started, start
from trainer.run.step.learner import Learner
from trainer.run.training import Progress, run_training

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
FALLBACK = "speed.on_failure=fallback"
COMPILED = "speed.compile=blocks"
FLASH3 = ["speed.attention=flash3", "speed.precision=bf16"]
GRAPH = ["speed.cuda_graph=true", "speed.data_path=resident"]
CROSS = ["speed.cross_attention=one-tile", "speed.precision=bf16", "model.decoder_hidden_dim=32"]
FUSED = ["speed.fused_pointwise=true"]


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "flash_attn_interface", None)


@pytest.fixture
def no_triton(monkeypatch):
    for kernel in ("attention.cross_attention", "pointwise.feed_forward", "pointwise.decoder_tail"):
        monkeypatch.setitem(sys.modules, f"trainer.kernels.{kernel}", None)


@pytest.fixture
def no_capture(monkeypatch):
    def refuse(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "Stream", refuse)


def started(folder, *overrides: str) -> Started:
    config = tiny_config(folder, *overrides)
    share = Share(open_data(config).train.schedule(16, 3), 0, 1, config.speed.accumulation_steps)
    feed = open_feed(open_data(config).train, share, config.train.updates, config.speed, ALONE.device)
    try:
        return start(config, 3, ALONE, feed, None, None)
    finally:
        feed.close()


BROKEN = [
    ("no_package", FLASH3, "attention", "flash", "flash_attn_interface"),
    ("no_capture", GRAPH, "cuda_graph", False, "stream is capturing"),
    ("no_triton", CROSS, "cross_attention", "auto", "trainer.kernels.attention.cross_attention"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "overrides", "switch", "off", "reason"), BROKEN)
def test_a_switch_that_fails_is_off_and_says_why(
    tmp_path, request, capsys, broken, overrides, switch, off, reason
):
    request.getfixturevalue(broken)
    effective = started(tmp_path, FALLBACK, *overrides).effective()
    assert effective[switch] == off
    assert reason in effective[f"fallback/{switch}"]
    assert [key for key in effective if key.startswith("fallback/")] == [f"fallback/{switch}"]
    assert states(capsys.readouterr().err, f"speed.{switch}: turned off .. {reason}")


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "overrides", "switch", "off", "reason"), BROKEN)
@pytest.mark.parametrize("on_failure", ["error", "fallback"])
def test_by_default_and_in_a_gated_run_it_is_an_error(
    tmp_path, request, monkeypatch, on_failure, broken, overrides, switch, off, reason
):
    request.getfixturevalue(broken)
    if on_failure == "fallback":
        monkeypatch.setenv(GATED, "speedproof-of-this-test")
    config = tiny_config(tmp_path, f"speed.on_failure={on_failure}", *overrides)
    monkeypatch.setattr("trainer.run.training.require_device_fits", lambda *_: None)
    with pytest.raises(Exception, match=reason):
        run_training(config, tmp_path, 3, Progress())


@pytest.mark.slow
@pytest.mark.parametrize("gated", [False, True])
def test_without_a_compiler_a_run_trains_like_the_plain_one_or_ends(tmp_path, gated):
    run_training(tiny_config(tmp_path), tmp_path / "plain", 3, Progress())
    environment = {"CXX": "no-such-compiler", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    environment |= {GATED: "speedproof-of-this-test"} if gated else {}
    out = tmp_path / "out"
    sets = ["--set", FALLBACK, "--set", COMPILED]
    done = launch(
        ["train", "--config", str(tiny_file(tmp_path)), "--out", str(out), "--seed", "3", *sets],
        1,
        **environment,
    )
    assert done.returncode == int(gated)
    assert "InvalidCxxCompiler" in done.stderr
    if not gated:
        assert train_losses(out) == train_losses(tmp_path / "plain")
        effective = events(out, "run_start")[0]["effective"]
        assert (effective["compile"], effective["compiled_blocks"]) == ("off", 0)
        assert "InvalidCxxCompiler" in effective["fallback/compile"]


@pytest.mark.slow
def test_without_triton_fused_kernels_and_those_of_attention_are_off(tmp_path, no_triton):
    effective = started(tmp_path, FALLBACK, *CROSS, *FUSED).effective()
    assert (effective["cross_attention"], effective["fused_layers"]) == ("auto", 0)
    assert {"fallback/cross_attention", "fallback/fused_pointwise"} <= set(effective)


@pytest.mark.slow
def test_where_two_switches_fail_both_are_off_each_for_its_reason(tmp_path, no_package, no_capture):
    effective = started(tmp_path, FALLBACK, *FLASH3, *GRAPH).effective()
    assert "stream is capturing" in effective["fallback/cuda_graph"]
    assert "flash_attn_interface" in effective["fallback/attention"]
    assert (effective["cuda_graph"], effective["attention"]) == (False, "flash")


@pytest.mark.slow
def test_what_fails_on_one_rank_alone_is_off_on_all(tmp_path):
    runs = {
        "ddp": "speed.attention=math",
        "fsdp2": "speed.attention=math,speed.wrapper=fsdp2",
        "graph": ",".join([*GRAPH, "speed.wrapper=flat"]),
    }
    failing = {name: f"{FALLBACK},{overrides}" for name, overrides in runs.items()}
    train_in_ranks(tmp_path, 2, {"plain": "", **failing}, by="one_rank_fails.py")
    for name, switch, off, reason in [
        ("ddp", "attention", "flash", "ImportError: no math on this rank"),
        ("fsdp2", "attention", "flash", "ImportError: no math on this rank"),
        ("graph", "cuda_graph", False, "RuntimeError: no capture on this rank"),
    ]:
        effective = events(tmp_path / name, "run_start")[0]["effective"]
        assert effective[switch] == off
        assert effective[f"fallback/{switch}"] == reason
        assert train_losses(tmp_path / name) == pytest.approx(train_losses(tmp_path / "plain"), rel=1e-5)


@pytest.mark.slow
def test_nothing_is_off_where_nothing_fails(tmp_path):
    effective = started(tmp_path, FALLBACK, "speed.attention=math").effective()
    assert effective["attention"] == "math"
    assert not any(key.startswith("fallback/") for key in effective)


@pytest.mark.slow
@pytest.mark.parametrize("error", OUT_OF_MEMORY)
def test_memory_that_runs_out_is_no_reason_to_fall_back(tmp_path, monkeypatch, error):
    def full(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr("trainer.run.step.learner.Learner.work", full)
    with pytest.raises(type(error)) as raised:
        started(tmp_path, FALLBACK, "speed.attention=math")
    assert raised.value is error


@pytest.mark.slow
def test_what_fails_whatever_is_off_names_the_first_failure(tmp_path, monkeypatch):
    def broken(*_arguments: object) -> None:
        raise ValueError("not a switch's fault")

    monkeypatch.setattr("trainer.run.step.learner.Learner.work", broken)
    with pytest.raises(RuntimeError, match=r"ValueError: not a switch's fault; .* attention off"):
        started(tmp_path, FALLBACK, "speed.attention=math")


def test_nothing_of_the_trial_is_left_behind(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, "speed.activation_checkpointing=all", "speed.data_path=resident")
    data = open_data(config)
    share = Share(data.train.schedule(config.train.pairs_per_update, 3), 0, 1, 1)
    feed = open_feed(data.train, share, config.train.updates, config.speed, ALONE.device)
    blocks = []

    class Watched(Learner):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            blocks.append(weakref.ref(self.model.operator.blocks[0]))

    monkeypatch.setattr(starting, "Learner", Watched)
    gc.disable()  # what waits for a collection would hold a GPU's memory until then
    try:
        starting.Attempt(config, 3, ALONE, feed).try_alone()
        assert [block() for block in blocks] == [None]
        monkeypatch.setattr(Watched, "work", lambda *_: 1 / 0)
        with pytest.raises(starting.SwitchFailed):
            starting._on_all_ranks(ALONE, starting.Attempt(config, 3, ALONE, feed).try_alone)
        assert [block() for block in blocks] == [None, None]
    finally:
        gc.enable()
