"""Two and four real ranks under every wrapper: the same training as one, and the same state on disk."""

import json
import shutil

import pytest
import torch
from tiny import events, gradient_norms, tiny_config, train_in_ranks, train_losses

from trainer.build import build_model, build_objective
from trainer.errors import ConfigError
from trainer.process.world import World
from trainer.run.training import Progress, run_training
from trainer.wrapper import wrap

BASE = "train.checkpoint_every_updates=4,train.window_updates=1"
MUON = f"{BASE},optimizer.matrices=muon"
EVERY_MICRO_STEP = "speed.reduce_gradients=every-micro-step"
EVERY = f"speed.accumulation_steps=2,{EVERY_MICRO_STEP}"
WITH_ADAMW = {
    "ddp": BASE,
    "ddp-micro": f"{BASE},speed.accumulation_steps=2",
    "flat": f"{BASE},speed.wrapper=flat,speed.accumulation_steps=2,train.checksum_every_updates=2",
    "ddp-every": f"{BASE},{EVERY}",
    "flat-every": f"{BASE},speed.wrapper=flat,{EVERY}",
    "fsdp2": f"{BASE},speed.wrapper=fsdp2,speed.foreach_ema=true",
    "fsdp2-every": f"{BASE},speed.wrapper=fsdp2,{EVERY}",
    "fsdp2-micro": f"{BASE},speed.wrapper=fsdp2,speed.accumulation_steps=2,speed.fused_adamw=true",
}
WITH_MUON = {
    "ddp-loop": MUON,
    "flat-sharded": f"{MUON},speed.wrapper=flat,speed.muon=sharded",
    "fsdp2-batched": f"{MUON},speed.wrapper=fsdp2,speed.muon=batched",
    "fsdp2-sharded": f"{MUON},speed.wrapper=fsdp2,speed.muon=sharded",
}
GRAPH_FP16 = (
    f"{MUON},speed.wrapper=flat,speed.muon=sharded,speed.precision=fp16,speed.cuda_graph=true,"
    "speed.data_path=resident,speed.fused_adamw=true,train.checksum_every_updates=1"
)
IN_FP16 = {
    "ddp-fp16": f"{MUON},speed.precision=fp16",
    "fsdp2-fp16": f"{MUON},speed.wrapper=fsdp2,speed.muon=batched,speed.precision=fp16",
    "flat-graph-fp16": GRAPH_FP16,
}
FROM_FLAT = f"{MUON},speed.wrapper=flat,speed.muon=batched"
FAST = (
    f"{MUON},speed.wrapper=flat,speed.muon=sharded,speed.precision=bf16,speed.cuda_graph=true,"
    "speed.data_path=resident,speed.fused_adamw=true,speed.foreach_ema=true,speed.hoist_fixed_grid=true,"
    "speed.joint_decode=true,train.checksum_every_updates=1"
)
FAST_AGAIN = {"flat-fast": FAST, "flat-fast-again!": FAST, "flat-fast-again+": FAST}
INTO_FSDP2 = {
    "fsdp2-again!": WITH_ADAMW["fsdp2"],
    "fsdp2-again+": WITH_ADAMW["fsdp2"],
    "fsdp2-from-flat!": FROM_FLAT,
    "fsdp2-from-flat+": WITH_MUON["fsdp2-batched"],
}
LATENT_ALONE = [
    f"loss.{term}=0" for term in ("forward", "spectral", "boundary", "conservation", "positivity")
] + ["loss.latent_norm=0", "loss.diversity=0", "data.tasks=[advection1d]"]
CUT = f"{BASE},train.updates=8,train.pairs_per_update=32,recipe.batch_cut_into=2"
WITH_CUT = {
    "ddp-cut": f"{CUT},speed.accumulation_steps=2",
    "fsdp2-cut": f"{CUT},speed.wrapper=fsdp2",
}


@pytest.fixture(scope="module")
def trained_in_ranks(tmp_path_factory):
    """All runs of two ranks, one beside the other, and one rank's to compare with."""
    folder = tmp_path_factory.mktemp("ranks")
    alone = {"one": BASE, "one-muon": MUON, "one-fp16": IN_FP16["ddp-fp16"], "one-cut": CUT}
    for name, overrides in alone.items():
        run_training(tiny_config(folder, *overrides.split(",")), folder / name, 3, Progress())
    cut = {"cut!": WITH_MUON["fsdp2-sharded"], "cut-fp16!": GRAPH_FP16}
    resumed = {**FAST_AGAIN, **INTO_FSDP2}
    counted = {f"{name}#": overrides for name, overrides in {**WITH_ADAMW, **WITH_MUON}.items()}
    train_in_ranks(folder, 2, {**counted, **IN_FP16, **WITH_CUT, **resumed, **cut})
    return folder


def assert_same_training(one, other, numbers: float, state: float = 1e-3) -> None:
    """numbers: how far the losses and norms may part; state: each tensor of the checkpoint, of its norm."""
    assert train_losses(other) == pytest.approx(train_losses(one), rel=numbers)
    assert gradient_norms(other) == pytest.approx(gradient_norms(one), rel=numbers)
    assert held_out_losses(other) == pytest.approx(held_out_losses(one), rel=numbers)
    states = [torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (one, other)]
    for part in ("model", "ema", "optimizer"):
        assert_same_state(states[0][part], states[1][part], state)


def held_out_losses(out) -> list[float]:
    """Of the raw and of the averaged weights."""
    end = events(out, "evaluation")[-1]
    return [end["val_loss"], end["metrics"]["val_loss_ema"]]


def assert_same_state(one: dict, other: dict, within: float) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, dict):
            assert_same_state(value, other[name], within)
        else:
            assert value.shape == other[name].shape, name
            assert torch.dist(value, other[name]) <= within * value.norm(), name


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_ADAMW)
def test_two_ranks_train_like_one_under_every_wrapper(trained_in_ranks, name):
    assert_same_training(trained_in_ranks / "one", trained_in_ranks / name, numbers=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["recipe.inverse_every=2", "recipe.priors_every=3", "data.tasks=[advection1d, darcy2d]"],
        ["recipe.inverse_every=2", *LATENT_ALONE],
        ["model.trained=operator", *LATENT_ALONE, "loss.inverse_encoding=0", "loss.inverse_decoding=0"],
    ],
)
def test_flat_gradients_are_the_plain_ones_where_a_step_does_not_reach_every_parameter(tmp_path, overrides):
    for wrapper in ("none", "flat"):
        config = tiny_config(tmp_path, *overrides, f"speed.wrapper={wrapper}")
        run_training(config, tmp_path / wrapper, 3, Progress())
    assert_same_training(tmp_path / "none", tmp_path / "flat", numbers=0, state=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CUT)
def test_smaller_steps_train_alike_under_wrappers(trained_in_ranks, name):
    assert_same_training(trained_in_ranks / "one-cut", trained_in_ranks / name, numbers=1e-5)
    assert [window["samples"] for window in events(trained_in_ranks / name, "steps")] == [[16]] * 16


# Muon's directions have the 8 bits of bfloat16.
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_MUON)
def test_muon_trains_alike_looped_batched_and_sharded(trained_in_ranks, name):
    assert_same_training(trained_in_ranks / "one-muon", trained_in_ranks / name, numbers=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_FP16)
def test_fp16_trains_alike_under_wrappers(trained_in_ranks, name):
    assert_same_training(trained_in_ranks / "one-fp16", trained_in_ranks / name, numbers=2e-3, state=2e-2)
    in_fp32 = gradient_norms(trained_in_ranks / "one-muon")
    assert gradient_norms(trained_in_ranks / name) == pytest.approx(in_fp32, rel=2e-3)
    assert events(trained_in_ranks / name, "run_start")[0]["effective"]["precision"] == "float16"


@pytest.mark.slow
def test_an_overflow_on_one_rank_skips_on_all_that_share_the_matrices(trained_in_ranks):
    shutil.copytree(trained_in_ranks / "cut-fp16", trained_in_ranks / "overflown")
    before = torch.load(trained_in_ranks / "overflown" / "checkpoint.pt", weights_only=True)
    train_in_ranks(trained_in_ranks, 2, {"overflown+": GRAPH_FP16}, by="one_rank_overflows.py")
    after = torch.load(trained_in_ranks / "overflown" / "checkpoint.pt", weights_only=True)
    start = events(trained_in_ranks / "overflown", "run_start")[0]["effective"]
    assert (start["cuda_graph"], "Muon batched over 2 ranks" in start["optimizer"]) == (True, True)
    windows = events(trained_in_ranks / "overflown", "steps")
    assert [window["skipped_updates"] for window in windows] == [0] * 4 + [1] * 3
    for part in ("model", "ema", "optimizer"):
        assert_same_state(before[part], after[part], within=0)
    scales = [state["scaled_step"]["scaler"]["scale"] for state in (before, after)]
    assert (before["step"], after["step"], scales[1]) == (4, 7, scales[0] / 2**3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrapper", "reductions"),
    [
        ("ddp", "DistributedDataParallel", 1),
        ("ddp-micro", "DistributedDataParallel", 1),
        ("ddp-every", "DistributedDataParallel", 2),
        ("flat", "flat", 1),
        ("flat-every", "flat", 2),
        ("fsdp2", "FSDP2", 3),
        ("fsdp2-every", "FSDP2", 6),
        ("fsdp2-micro", "FSDP2", 3),
    ],
)
def test_gradients_are_reduced_as_often_as_the_read_back_says(trained_in_ranks, name, wrapper, reductions):
    effective = events(trained_in_ranks / name, "run_start")[0]["effective"]
    assert (effective["wrapper"], effective["gradient_reductions"]) == (wrapper, reductions)
    counts = json.loads((trained_in_ranks / name / "collectives.json").read_text())
    norms = 7 if wrapper == "FSDP2" else 0  # the norm of a sharded gradient needs a sum over ranks
    # All gradients of this model are less than DDP's first bucket.
    assert counts["gloo:all_reduce"] == 7 * reductions + norms


@pytest.mark.slow
def test_sharded_weights_are_gathered_as_often_whatever_the_micro_steps(trained_in_ranks):
    # All else that gathers, as saving does, is the same in these.
    runs = [trained_in_ranks / name for name in ("fsdp2", "fsdp2-micro", "fsdp2-every")]
    counts = [json.loads((run / "collectives.json").read_text()) for run in runs]
    assert len({count["gloo:all_gather"] for count in counts}) == 1


@pytest.mark.slow
def test_nothing_is_sent_that_every_rank_has(trained_in_ranks):
    counts = {
        name: json.loads((trained_in_ranks / name / "collectives.json").read_text())
        for name in {**WITH_ADAMW, **WITH_MUON}
    }
    assert not any("gloo:scatter" in count for count in counts.values())
    # DDP sends its buffers at the start, and not again before each micro-step that reduces.
    assert counts["ddp"]["gloo:broadcast"] == counts["ddp-every"]["gloo:broadcast"]


@pytest.mark.slow
def test_a_run_of_two_sharded_ranks_is_resumed_by_one(trained_in_ranks):
    shutil.copytree(trained_in_ranks / "cut", trained_in_ranks / "cut-one")
    config = tiny_config(trained_in_ranks, *MUON.split(","), "speed.muon=loop")
    run_training(config, trained_in_ranks / "cut-one", 3, Progress(), resume=True)
    assert_same_training(trained_in_ranks / "one-muon", trained_in_ranks / "cut-one", numbers=1e-4)
    assert events(trained_in_ranks / "cut-one", "run_start")[0]["resumed_at_steps"] == [4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "whole", "numbers", "state"),
    [("fsdp2-again", "fsdp2", 0, 0), ("fsdp2-from-flat", "fsdp2-batched", 1e-4, 1e-3)],
)
def test_shards_go_on_with_what_shards_or_whole_copies_left(trained_in_ranks, name, whole, numbers, state):
    assert_same_training(trained_in_ranks / whole, trained_in_ranks / name, numbers, state)
    start = events(trained_in_ranks / name, "run_start")[0]
    assert (start["resumed_at_steps"], start["effective"]["wrapper"]) == ([4], "FSDP2")


@pytest.mark.slow
def test_two_ranks_go_on_with_every_fast_path_to_the_same_bits(trained_in_ranks):
    whole, again = trained_in_ranks / "flat-fast", trained_in_ranks / "flat-fast-again"
    assert_same_training(whole, again, numbers=0, state=0)
    starts = [events(out, "run_start")[0] for out in (whole, again)]
    assert [start.get("resumed_at_steps") for start in starts] == [None, [4]]
    on = starts[1]["effective"]
    assert (on["optimizer"], on["cuda_graph"]) == ("AdamW fused + Muon batched over 2 ranks", True)
    assert (on["wrapper"], on["ema"], on["hoisted_tasks"], on["joint_decodes"]) == ("flat", "foreach", 1, 1)


@pytest.mark.slow
def test_four_ranks_train_like_one_and_resume_what_two_began(trained_in_ranks):
    resumed = {f"cut-four-{name}": WITH_MUON[name] for name in ("flat-sharded", "fsdp2-sharded")}
    for name in resumed:
        shutil.copytree(trained_in_ranks / "cut", trained_in_ranks / name)
    four = {f"four-{name}": WITH_ADAMW[name] for name in ("ddp", "flat", "fsdp2")}
    continued = {f"{name}+": overrides for name, overrides in resumed.items()}
    train_in_ranks(trained_in_ranks, 4, {**four, **continued})
    for name in four:
        assert_same_training(trained_in_ranks / "one", trained_in_ranks / name, numbers=1e-5)
    for name in resumed:
        assert_same_training(trained_in_ranks / "one-muon", trained_in_ranks / name, numbers=1e-4)


def test_a_gradient_outside_the_buffer_reads_back(tmp_path):
    alone = World(rank=0, size=1, device=torch.device("cpu"))
    config = tiny_config(tmp_path, "speed.wrapper=flat", "speed.accumulation_steps=4", EVERY_MICRO_STEP)
    wrapper = wrap(build_objective(build_model(config), config), config.speed, alone)
    assert (wrapper.reduced, wrapper.effective()) == (4, {"wrapper": "flat", "gradient_reductions": 0})
    wrapper.parameters[1].grad = torch.zeros_like(wrapper.parameters[1])
    assert wrapper.effective()["wrapper"] == "none"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["optimizer.matrices=muon", "speed.wrapper=fsdp2"],
            'speed.muon: got "loop", expected batched or sharded.*fsdp2',
        ),
        (
            ["train.checksum_every_updates=5", "speed.wrapper=fsdp2"],
            "train.checksum_every_updates: got 5, expected 0: fsdp2",
        ),
    ],
)
def test_what_fsdp2_cannot_do_is_refused(tmp_path, overrides, message):
    with pytest.raises(ConfigError, match=message):
        tiny_config(tmp_path, *overrides)
