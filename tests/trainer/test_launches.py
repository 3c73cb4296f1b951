"""Real processes: torchrun with two ranks, compiled code, and failures that must end every rank."""

import contextlib
import json
from pathlib import Path

import jsonschema
import pytest
import torch
from tiny import (
    ROOT,
    SAME_WEIGHTS,
    events,
    launch,
    launch_anew,
    tiny_config,
    tiny_file,
    train_losses,
    weights,
)

from trainer.run.training import Progress, run_training

pytestmark = pytest.mark.slow

SPEED_UP = [
    "speed.data_path=resident",
    "speed.fused_adamw=true",
    "speed.foreach_ema=true",
    "speed.compile=blocks",
    "speed.activation_checkpointing=selective",
]


def train(folder, out, *overrides: str, processes: int, resume: bool = False, by=launch, **environment: str):
    arguments = ["train", "--config", str(tiny_file(folder)), "--out", str(out), "--seed", "3"]
    sets = [part for override in overrides for part in ("--set", override)]
    return by([*arguments, *sets, *(["--resume"] if resume else [])], processes, **environment)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """One process, eager."""
    folder = tmp_path_factory.mktemp("plain")
    run_training(tiny_config(folder), folder, 3, Progress())
    return folder


def test_two_ranks_train_like_one(plain, tmp_path):
    done = train(
        plain, tmp_path, "speed.loader_workers=1", "speed.accumulation_steps=2", processes=2, by=launch_anew
    )
    assert done.returncode == 0, done.stderr
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)
    one, two = events(plain, "evaluation")[0], events(tmp_path, "evaluation")[0]
    assert two["val_loss"] == pytest.approx(one["val_loss"], rel=1e-5)
    start = events(tmp_path, "run_start")[0]
    assert (start["world_size"], len(start["device_names"])) == (2, 2)
    assert start["effective"]["wrapper"] == "DistributedDataParallel"
    assert start["effective"]["loader_workers"] == 1
    assert {"decoded_points", "inverse_terms"} <= set(start["work_keys"]) <= set(start["effective"])
    validator = jsonschema.Draft202012Validator(
        json.loads((ROOT / "schemas/metrics.schema.json").read_text())
    )
    for event in events(tmp_path):
        validator.validate(event)


def test_compiled_code_trains_like_eager_code(plain, tmp_path):
    done = train(plain, tmp_path, *SPEED_UP, processes=1)
    assert done.returncode == 0, done.stderr
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)
    assert events(tmp_path, "run_start")[0]["effective"]["compiled_blocks"] == 3
    compiles = [event for event in events(tmp_path, "phase") if event["name"] == "compile"]
    assert [event["step"] for event in compiles] == [1]


@pytest.mark.parametrize(
    ("override", "fault", "cause", "step", "kind", "by"),
    [
        (
            "speed.wrapper=flat",
            "out-of-memory@rank1@step3",
            "out-of-memory",
            3,
            "OutOfMemoryError",
            launch_anew,
        ),
        ("speed.wrapper=fsdp2", "nan@rank1@step4", "diverged", 4, "Diverged", launch),
        ("train.checksum_every_updates=2", "drift@rank1@step3", "error", 4, "RanksDisagree", launch),
    ],
)
def test_a_fault_on_one_rank_ends_all_with_a_typed_error_file(
    plain, tmp_path, override, fault, cause, step, kind, by
):
    done = train(
        *(plain, tmp_path, override), processes=2, by=by, SPEEDPROOF_TEST_FAULT=fault, TMPDIR=str(tmp_path)
    )
    assert done.returncode == 1
    files = sorted(tmp_path.rglob("error.json"))  # torchrun keeps them in a temporary folder
    messages = [json.loads(file.read_text())["message"] for file in files]
    assert [message["extraInfo"]["rank"] for message in messages] == [0, 1]
    for message in messages:
        assert message["extraInfo"]["cause"] == cause
        assert message["extraInfo"]["step"] == step
        assert kind in message["message"]
    assert kind in done.stderr
    assert not events(tmp_path, "run_end")


def test_a_killed_rank_ends_the_others_and_the_run_can_be_resumed(plain, tmp_path):
    every = ["train.checkpoint_every_updates=2", "train.window_updates=1"]
    done = train(
        plain, tmp_path, *every, processes=2, by=launch_anew, SPEEDPROOF_TEST_FAULT="kill@rank1@step6"
    )
    assert done.returncode == 1
    assert not _processes_of(tmp_path)
    assert not events(tmp_path, "run_end")
    done = train(plain, tmp_path, *every, processes=2, resume=True)
    assert done.returncode == 0, done.stderr
    assert events(tmp_path, "run_start")[0]["resumed_at_steps"] == [4]
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)


def _processes_of(out: Path) -> list[bytes]:
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended just now
            lines.append(place.read_bytes())
    return [line for line in lines if str(out).encode() in line]


def test_a_batch_that_two_ranks_cannot_share_is_refused(plain, tmp_path):
    done = train(plain, tmp_path, "train.pairs_per_update=17", processes=2)
    assert "train.pairs_per_update: got 17, expected a multiple of world size 2" in done.stderr
    assert not (tmp_path / "metrics.jsonl").exists()
