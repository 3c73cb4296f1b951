"""Two and four real ranks under every wrapper: the same training as one, and the same state on disk."""

import json
import shutil

import pytest
import torch
from tiny import (
    SAME_WEIGHTS,
    events,
    gradient_norms,
    tiny_config,
    train_in_ranks,
    train_losses,
    weights,
)

from trainer.errors import ConfigError
from trainer.run.training import Progress, run_training

BASE = "train.checkpoint_every_updates=4,train.window_updates=1"
MUON = f"{BASE},optimizer.matrices=muon"
EVERY = "speed.accumulation_steps=2,speed.reduce_gradients=every-micro-step"
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
IN_FP16 = {
    "ddp-fp16": f"{MUON},speed.precision=fp16",
    "fsdp2-fp16": f"{MUON},speed.wrapper=fsdp2,speed.muon=batched,speed.precision=fp16",
}
LATENT_ALONE = [
    f"loss.{term}=0" for term in ("forward", "spectral", "boundary", "conservation", "positivity")
] + ["loss.latent_norm=0", "loss.diversity=0", "data.tasks=[advection1d]"]
GROWING = f"{BASE},train.updates=8,recipe.batch_doubles_after=[4]"
WITH_GROWTH = {
    "ddp-grown": f"{GROWING},speed.accumulation_steps=2",
    "fsdp2-grown": f"{GROWING},speed.wrapper=fsdp2",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """All runs of two ranks, one beside the other, and one rank's to compare with."""
    folder = tmp_path_factory.mktemp("ranks")
    alone = {"one": BASE, "one-muon": MUON, "one-fp16": IN_FP16["ddp-fp16"], "one-grown": GROWING}
    for name, overrides in alone.items():
        run_training(tiny_config(folder, *overrides.split(",")), folder / name, 3, Progress())
    cut = {"cut!": WITH_MUON["fsdp2-sharded"]}
    train_in_ranks(folder, 2, {**WITH_ADAMW, **WITH_MUON, **IN_FP16, **WITH_GROWTH, **cut})
    return folder


def assert_same_training(one, other, numbers: float, **weights_within: float) -> None:
    assert train_losses(other) == pytest.approx(train_losses(one), rel=numbers)
    assert gradient_norms(other) == pytest.approx(gradient_norms(one), rel=numbers)
    torch.testing.assert_close(weights(other), weights(one), **weights_within)
    ends = [events(folder, "evaluation")[-1]["val_loss"] for folder in (one, other)]
    assert ends[1] == pytest.approx(ends[0], rel=numbers)


@pytest.mark.parametrize("name", WITH_ADAMW)
def test_two_ranks_train_like_one_under_every_wrapper(trained, name):
    assert_same_training(trained / "one", trained / name, numbers=1e-5, **SAME_WEIGHTS)


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
    assert_same_training(tmp_path / "none", tmp_path / "flat", numbers=0, rtol=0, atol=0)


@pytest.mark.parametrize("name", WITH_GROWTH)
def test_a_growing_batch_trains_alike_under_wrappers(trained, name):
    assert_same_training(trained / "one-grown", trained / name, numbers=1e-5, **SAME_WEIGHTS)
    assert [window["samples"] for window in events(trained / name, "steps")] == [[16]] * 4 + [[32]] * 2


# Muon's directions have the 8 bits of bfloat16, and seven updates of at most 1e-3 add up.
@pytest.mark.parametrize("name", WITH_MUON)
def test_muon_trains_alike_looped_batched_and_sharded(trained, name):
    assert_same_training(trained / "one-muon", trained / name, numbers=1e-4, rtol=0, atol=3e-4)


@pytest.mark.parametrize("name", IN_FP16)
def test_fp16_trains_alike_under_wrappers(trained, name):
    assert_same_training(trained / "one-fp16", trained / name, numbers=2e-3, rtol=0, atol=2e-3)
    in_fp32 = gradient_norms(trained / "one-muon")
    assert gradient_norms(trained / name) == pytest.approx(in_fp32, rel=2e-3)
    assert events(trained / name, "run_start")[0]["effective"]["precision"] == "float16"


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
def test_gradients_are_reduced_as_often_as_the_read_back_says(trained, name, wrapper, reductions):
    effective = events(trained / name, "run_start")[0]["effective"]
    assert (effective["wrapper"], effective["gradient_reductions"]) == (wrapper, reductions)
    counts = json.loads((trained / name / "collectives.json").read_text())
    norms = 7 if wrapper == "FSDP2" else 0  # the norm of a sharded gradient needs a sum over ranks
    assert counts["gloo:all_reduce"] == 7 * reductions + norms


@pytest.mark.parametrize("name", [*WITH_ADAMW, *WITH_MUON])
def test_a_checkpoint_is_whole_under_every_wrapper(trained, name):
    reference = torch.load(trained / ("one" if name in WITH_ADAMW else "one-muon") / "checkpoint.pt")
    state = torch.load(trained / name / "checkpoint.pt", weights_only=True)
    for part in ("model", "ema", "optimizer"):
        assert _shapes(state[part]) == _shapes(reference[part])


def test_a_run_of_two_sharded_ranks_is_resumed_by_one(trained):
    shutil.copytree(trained / "cut", trained / "cut-one")
    config = tiny_config(trained, *MUON.split(","), "speed.muon=loop")
    run_training(config, trained / "cut-one", 3, Progress(), resume=True)
    assert_same_training(trained / "one-muon", trained / "cut-one", numbers=1e-4, rtol=0, atol=3e-4)
    assert events(trained / "cut-one", "run_start")[0]["resumed_at_steps"] == [4]


def test_four_ranks_train_like_one_and_resume_what_two_began(trained):
    shutil.copytree(trained / "cut", trained / "cut-four")
    four = {
        f"four-{name}": overrides
        for name, overrides in WITH_ADAMW.items()
        if "micro" not in name and "every" not in name
    }
    train_in_ranks(trained, 4, {**four, "cut-four+": WITH_MUON["flat-sharded"]})
    for name in four:
        assert_same_training(trained / "one", trained / name, numbers=1e-5, **SAME_WEIGHTS)
    assert_same_training(trained / "one-muon", trained / "cut-four", numbers=1e-4, rtol=0, atol=3e-4)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["optimizer.matrices=muon", "speed.wrapper=fsdp2"], 'speed.muon: got "loop"'),
        (
            ["train.checksum_every_updates=5", "speed.wrapper=fsdp2"],
            "train.checksum_every_updates: got 5, but fsdp2 keeps no copies to compare",
        ),
    ],
)
def test_what_fsdp2_cannot_do_is_refused(tmp_path, overrides, message):
    with pytest.raises(ConfigError, match=message):
        tiny_config(tmp_path, *overrides)


def _shapes(state: dict) -> dict:
    return {
        name: _shapes(value) if isinstance(value, dict) else tuple(value.shape)
        for name, value in state.items()
    }
