"""A run that was interrupted and resumed is the run that was not."""

import errno
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import h5py
import jsonschema
import numpy as np
import pytest
import torch
from facts import states
from forked import python
from graphs_on_cpu import replay_by_calls
from tiny import ROOT, ensure_files, events, tiny_config, tiny_file, train_losses

from trainer.data.files.pairs import split_trajectories
from trainer.data.splits import open_data
from trainer.errors import CannotWrite, ConfigError, Diverged
from trainer.optimizer import scaled_step
from trainer.process.world import World
from trainer.run.checkpoint.files import BEST, LAST, CheckpointWriter, _save, read_checkpoint
from trainer.run.checkpoint.manager import CheckpointManager, require_finite_weights
from trainer.run.checkpoint.resume import differences, earlier_part, require_same_data
from trainer.run.evaluation.command import evaluate_checkpoint
from trainer.run.failures.failure import Failure
from trainer.run.lock import hold_folder
from trainer.run.record.metrics_file import MetricsFile
from trainer.run.step.learner import Learner
from trainer.run.training import Progress, run_training

KEEPING = ["train.window_updates=1", "train.checkpoint_every_updates=2", "evaluation.every_updates=3"]


IN_FP16 = [
    "optimizer.matrices=muon",
    "speed.muon=batched",
    "speed.precision=fp16",
    "speed.data_path=resident",
]
GRAPH = ["speed.cuda_graph=true", "speed.fused_adamw=true"]
# What a CPU has of the fast paths of the two-task configs; test_wrappers.py has two ranks, with sharded Muon.
FAST = [
    *("optimizer.matrices=muon", "speed.muon=batched", "speed.wrapper=flat", "speed.data_path=resident"),
    *("speed.precision=bf16", "speed.foreach_ema=true", "speed.hoist_fixed_grid=true", *GRAPH),
]
FAST_RECIPE = [
    *(*FAST, "speed.joint_decode=true", "train.pairs_per_update=32", "recipe.batch_cut_into=2"),
    *("recipe.average_updates=3", "recipe.schedule_updates=5", "recipe.inverse_every_nth_pair=2"),
    *("recipe.query_strategy=lattice", "recipe.query_points=4"),
]


def interrupted_at(step: int, monkeypatch, config, out, *, resume: bool = False) -> None:
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", f"nan@rank0@step{step}")
    with pytest.raises(Diverged):
        run_training(config, out, 3, Progress(), resume=resume)
    monkeypatch.delenv("SPEEDPROOF_TEST_FAULT")


def learned(out) -> dict[str, object]:
    state = torch.load(out / "checkpoint.pt", weights_only=True)
    return {part: state[part] for part in ("model", "ema", "optimizer", "scaled_step")}


def assert_same_bits(one: object, other: object) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert_same_bits(value, other[key])
    else:
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["optimizer.matrices=muon", "speed.loader_workers=1"],
        IN_FP16,
        [*IN_FP16, *GRAPH],
        [
            "speed.async_checkpoint=true",
            "speed.fused_adamw=true",
            "speed.foreach_ema=true",
            "speed.wrapper=flat",
        ],
        FAST,
        FAST_RECIPE,
    ],
)
def test_a_resumed_run_ends_in_the_same_bits(tmp_path, monkeypatch, overrides):
    replay_by_calls(monkeypatch.setattr)
    config = tiny_config(tmp_path, *KEEPING, *overrides)
    run_training(config, tmp_path / "whole", 3, Progress())
    interrupted_at(6, monkeypatch, config, tmp_path / "cut")
    assert len(train_losses(tmp_path / "cut")) == 5
    run_training(config, tmp_path / "cut", 3, Progress(), resume=True)
    assert_same_bits(learned(tmp_path / "cut"), learned(tmp_path / "whole"))
    assert train_losses(tmp_path / "cut") == train_losses(tmp_path / "whole")
    cut, whole = (
        [(event["step"], event["val_loss"]) for event in events(tmp_path / name, "evaluation")]
        for name in ("cut", "whole")
    )
    assert cut == whole


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [(GRAPH, []), ([], GRAPH)])
def test_a_graph_and_eager_code_go_on_with_each_others_loss_scale(tmp_path, monkeypatch, first, then):
    replay_by_calls(monkeypatch.setattr)
    monkeypatch.setattr(
        scaled_step, "loss_scaler", lambda *_: torch.amp.GradScaler("cpu", init_scale=2.0**20)
    )
    run_training(tiny_config(tmp_path, *KEEPING, *IN_FP16), tmp_path / "whole", 3, Progress())
    interrupted_at(6, monkeypatch, tiny_config(tmp_path, *KEEPING, *IN_FP16, *first), tmp_path / "cut")
    scaled = learned(tmp_path / "cut")["scaled_step"]
    skipped = scaled["skipped_updates"]
    assert 0 < skipped <= 4
    assert scaled["scaler"]["scale"] == 2.0 ** (20 - skipped)
    run_training(
        tiny_config(tmp_path, *KEEPING, *IN_FP16, *then), tmp_path / "cut", 3, Progress(), resume=True
    )
    assert learned(tmp_path / "cut")["scaled_step"] == learned(tmp_path / "whole")["scaled_step"]
    assert train_losses(tmp_path / "cut") == pytest.approx(train_losses(tmp_path / "whole"), rel=1e-3)


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """Interrupted twice; each of its three processes takes 100 seconds."""
    folder = tmp_path_factory.mktemp("resumed")
    config = tiny_config(folder, *KEEPING, "train.keep_best=true")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("checkpoint.manager", "record.events"):
            patch.setattr(f"trainer.run.{module}.seconds_since_start", lambda: 100.0)
        interrupted_at(4, patch, config, folder)
        interrupted_at(6, patch, config, folder, resume=True)
        run_training(config, folder, 3, Progress(), resume=True)
    return folder


@pytest.mark.slow
def test_a_resumed_run_leaves_one_record_of_the_contract(resumed):
    validator = jsonschema.Draft202012Validator(
        json.loads((ROOT / "schemas/metrics.schema.json").read_text())
    )
    lines = events(resumed)
    for event in lines:
        validator.validate(event)
    names = [event["event"] for event in lines]
    assert [names.count(name) for name in ("run_start", "run_end")] == [1, 1]
    assert (names[0], names[-1]) == ("run_start", "run_end")
    assert [event["first_step"] for event in events(resumed, "steps")] == [1, 2, 3, 4, 5, 6, 7]
    assert lines[0]["resumed_at_steps"] == [3, 4]
    assert not (resumed / "metrics.partial").exists()


@pytest.mark.slow
def test_the_time_before_the_interruption_counts(resumed):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    assert events(resumed, "run_end")[0]["total_seconds"] == state["seconds"] == 300


@pytest.mark.slow
def test_the_best_checkpoint_is_the_one_with_the_lowest_val_loss(resumed):
    best = min(events(resumed, "evaluation"), key=lambda event: event["val_loss"])
    state = torch.load(resumed / "checkpoint-best.pt", weights_only=True)
    assert (state["step"], state["best_val_loss"]) == (best["step"], best["val_loss"])
    assert not list(resumed.glob("*.partial"))


@pytest.mark.slow
def test_the_best_checkpoint_of_before_an_interruption_stays_until_a_better_one(tmp_path, monkeypatch):
    losses = iter([1.0, 2.0, 1.0, 3.0])
    monkeypatch.setattr("trainer.run.training.write_evaluation", lambda *_: next(losses))
    overrides = ["train.checkpoint_every_updates=2", "evaluation.every_updates=1", "train.keep_best=true"]
    config = tiny_config(tmp_path, *overrides, "train.updates=4", "train.window_updates=1")
    interrupted_at(3, monkeypatch, config, tmp_path)
    run_training(config, tmp_path, 3, Progress(), resume=True)
    last, best = (read_checkpoint(tmp_path / name) for name in ("checkpoint.pt", "checkpoint-best.pt"))
    assert (last["step"], last["best_val_loss"]) == (4, 1)
    assert (best["step"], best["best_val_loss"]) == (1, 1)


@pytest.mark.slow
def test_a_finished_run_resumes_to_its_own_end(resumed, capsys):
    """Which it has; a process that trains nothing says nothing of what was on, nor of how long it took."""
    before = {path.name: path.read_bytes() for path in resumed.iterdir() if path.is_file()}
    config = tiny_config(resumed, *KEEPING, "train.keep_best=true", "speed.precision=bf16")
    run_training(config, resumed, 3, Progress(), resume=True)
    assert "has all 7 steps; nothing is left to train" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in resumed.iterdir() if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.parametrize("last", [b"", b'{"event":', b'"event"\n'])
def test_a_run_whose_record_lacks_its_end_is_given_one(resumed, tmp_path, last):
    shutil.copytree(resumed, tmp_path / "cut")
    record = tmp_path / "cut" / "metrics.jsonl"
    whole = record.read_bytes()
    record.write_bytes(whole[: whole.rindex(b'{"event": "run_end"')] + last)
    config = tiny_config(resumed, *KEEPING, "train.keep_best=true")
    run_training(config, tmp_path / "cut", 3, Progress(), resume=True)
    assert train_losses(tmp_path / "cut") == train_losses(resumed)
    assert len(events(tmp_path / "cut", "run_end")) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "seed", "message"),
    [
        (
            ["optimizer.learning_rate=0.5"],
            3,
            r"--resume: optimizer\.learning_rate: got 0.5, but .* was trained with 0.001",
        ),
        (["data.advection1d.end_time=2"], 3, r"data\.advection1d\.end_time: got 2.0, but .* with 1.0"),
        (["train.updates=9"], 3, r"train\.updates: got 9, but .* was trained with 7"),
        ([], 4, r"got seed 4, expected 3, .*checkpoint\.pt"),
    ],
)
def test_another_runs_checkpoint_is_refused(resumed, overrides, seed, message):
    config = tiny_config(resumed, *KEEPING, "train.keep_best=true", *overrides)
    lines = (resumed / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=message):
        run_training(config, resumed, seed, Progress(), resume=True)
    assert (resumed / "metrics.jsonl").read_bytes() == lines


def test_a_key_that_one_of_two_configs_lacks_is_a_difference():
    one, other = {"train": {"updates": 7}, "speed": {}}, {"train": {"updates": 7, "rest": "pad"}}
    assert list(differences(one, other)) == [("train.rest", None, "pad")]
    assert list(differences(other, one)) == [("train.rest", "pad", None)]


def scaled(file: h5py.File, row: int) -> None:
    file["tensor"][row] *= 1.5


def at_other_times(file: h5py.File, row: int) -> None:
    file["t-coordinate"][:] = 2 * file["t-coordinate"][:]


@pytest.fixture
def on_own_files(tmp_path, monkeypatch):
    """The config of a run that was interrupted, and the user's own files that it was trained on."""
    own = tmp_path / "own"
    own.mkdir()
    files = [Path(shutil.copy(path, own)) for path in ensure_files(tiny_config(tmp_path).data)]
    config = tiny_config(tmp_path, *KEEPING, f"data.root={own}")
    interrupted_at(6, monkeypatch, config, tmp_path / "out")
    return config, files


def change(files: list[Path], change_one: Callable, row: int) -> None:
    for path in files:
        with h5py.File(path, "r+") as file:
            change_one(file, row)


@pytest.mark.slow
@pytest.mark.parametrize("change_one", [scaled, at_other_times])
@pytest.mark.parametrize("split", ["train", "held_out"])
def test_a_run_goes_on_with_no_other_data(tmp_path, on_own_files, change_one, split):
    config, files = on_own_files
    lines = (tmp_path / "out/metrics.jsonl").read_bytes()
    change(files, change_one, getattr(split_trajectories(config.data, "advection1d"), split).row[0])
    message = (
        rf"--resume: {tmp_path}/out/checkpoint\.pt was trained on other data than data\.root "
        rf"{tmp_path}/own holds.*Restore the original files"
    )
    with pytest.raises(ConfigError, match=message):
        run_training(config, tmp_path / "out", 3, Progress(), resume=True)
    assert (tmp_path / "out/metrics.jsonl").read_bytes() == lines


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "held_out"])
def test_what_a_run_does_not_go_on_with_is_not_evaluated_either(tmp_path, on_own_files, split):
    config, files = on_own_files
    checkpoint = tmp_path / "out/checkpoint.pt"
    assert evaluate_checkpoint(checkpoint, None).metrics["val_loss"] > 0
    change(files[:1], scaled, getattr(split_trajectories(config.data, "advection1d"), split).row[0])
    message = rf"{checkpoint}: was trained on other data .* {tmp_path}/own holds.*Restore .* --data-root"
    with pytest.raises(ConfigError, match=message):
        evaluate_checkpoint(checkpoint, None)


@pytest.mark.slow
def test_units_that_another_processor_summed_are_those_of_the_same_data(tmp_path, on_own_files):
    config, _ = on_own_files
    checkpoint = tmp_path / "out/checkpoint.pt"
    state = torch.load(checkpoint, weights_only=True)
    scale = state["normalisation"]["advection1d"]["state_scale"][0]
    own = scale[0]
    scale[0] = 1.001 * own
    torch.save(state, checkpoint)
    with pytest.raises(ConfigError, match="was trained on other data"):
        evaluate_checkpoint(checkpoint, None)
    scale[0] = float(np.nextafter(np.float32(own), np.float32(9)))
    torch.save(state, checkpoint)
    evaluate_checkpoint(checkpoint, None)
    run_training(config, tmp_path / "out", 3, Progress(), resume=True)


@pytest.mark.slow
def test_data_that_were_made_again_are_the_same(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, *KEEPING)
    interrupted_at(6, monkeypatch, config, tmp_path / "out")
    shutil.rmtree(config.data.root)
    run_training(config, tmp_path / "out", 3, Progress(), resume=True)
    assert len(train_losses(tmp_path / "out")) == 7


@pytest.mark.slow
def test_what_changes_nothing_of_a_training_may_change(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, *KEEPING)
    run_training(config, tmp_path / "whole", 3, Progress())
    interrupted_at(6, monkeypatch, config, tmp_path / "out")
    shutil.move(config.data.root, tmp_path / "moved")
    others = [
        "train.timeout_seconds=90",
        "train.checkpoint_every_updates=2",
        f"data.root={tmp_path / 'moved'}",
    ]
    run_training(tiny_config(tmp_path, *KEEPING, *others), tmp_path / "out", 3, Progress(), resume=True)
    assert_same_bits(learned(tmp_path / "out"), learned(tmp_path / "whole"))


def test_a_checkpoint_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("trainer.run.checkpoint.files.zipfile.ZipFile", refuse)
    with pytest.raises(ConfigError, match=r"x: cannot be read \(Permission denied\); check its permissions"):
        read_checkpoint(Path("x"))


@pytest.mark.slow
def test_ranks_refuse_alike_what_one_of_them_reads_otherwise(tmp_path, resumed):
    class WithAnother(World):
        def gather_text(self, text: str) -> list[str]:
            return [text, "other"]

    config = tiny_config(resumed, *KEEPING, "train.keep_best=true")
    earlier, world = earlier_part(resumed, config, 3), WithAnother(0, 2, torch.device("cpu"))
    with pytest.raises(ConfigError, match="was trained on other data"):
        require_same_data(earlier, open_data(config), config.data.root, resumed, world)


@pytest.mark.slow
def test_there_must_be_something_to_resume(tmp_path):
    with pytest.raises(ConfigError, match=r"checkpoint\.pt does not exist; start without --resume"):
        run_training(tiny_config(tmp_path), tmp_path, 3, Progress(), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("lines", [None, 1, 5])
def test_a_checkpoint_without_its_metrics_is_refused(resumed, tmp_path, lines):
    shutil.copy(resumed / "checkpoint.pt", tmp_path)
    if lines:
        left = (resumed / "metrics.jsonl").read_bytes().splitlines(keepends=True)[:lines]
        (tmp_path / "metrics.jsonl").write_bytes(b"".join(left))
    config = tiny_config(resumed, *KEEPING, "train.keep_best=true")
    with pytest.raises(
        ConfigError, match=r"metrics\.jsonl is missing, or shorter than .* [Ss]tart without --resume"
    ):
        run_training(config, tmp_path, 3, Progress(), resume=True)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"junk", {"model": {}}])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    path = tmp_path / "checkpoint.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(ConfigError, match=r"checkpoint\.pt: (cannot be read as|is not) a checkpoint"):
        run_training(tiny_config(tmp_path), tmp_path, 3, Progress(), resume=True)


class RunsCode:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.path),)


@pytest.mark.slow
def test_no_code_of_a_checkpoint_is_run(resumed, tmp_path):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    torch.save({**state, "seconds": RunsCode(tmp_path / "made")}, tmp_path / "checkpoint.pt")
    with pytest.raises(
        ConfigError, match=r"checkpoint\.pt: cannot be read as a checkpoint \(UnpicklingError"
    ):
        read_checkpoint(tmp_path / "checkpoint.pt")
    assert not (tmp_path / "made").exists()


def _in_whole_numbers(weights: dict[str, torch.Tensor]) -> None:
    weights.update({name: weight.long() for name, weight in weights.items()})


def _one_longer(weights: dict[str, torch.Tensor]) -> None:
    name = "decoder.context.weight"
    weights[name] = torch.cat([weights[name], weights[name][:1]])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["model", "ema"])
@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.popitem(),
        lambda weights: weights.update(old=torch.ones(1)),
        _in_whole_numbers,
        _one_longer,
    ],
)
def test_the_weights_of_another_version_are_refused(resumed, tmp_path, part, change):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    change(state[part])
    torch.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(ConfigError, match=r"checkpoint\.pt: .+ does not match the model of this version"):
        read_checkpoint(tmp_path / "checkpoint.pt")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "more", "named"),
    [
        ("decoder.context.weight", {}, r"decoder\.context\.weight"),
        ("decoder.context.weight", {"decoder.context.weight[0]": {}}, r"decoder\.context\.weight"),
        (None, {"old.weight": {}}, r"old\.weight"),
    ],
)
def test_the_optimizer_of_another_version_is_not_resumed(resumed, tmp_path, left, more, named):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    state["optimizer"].pop(left, None)
    torch.save({**state, "optimizer": state["optimizer"] | more}, tmp_path / "checkpoint.pt")
    with pytest.raises(ConfigError, match=rf"optimizer state of {named}.*start without --resume"):
        earlier_part(tmp_path, tiny_config(resumed, *KEEPING, "train.keep_best=true"), 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "weights"),
    [
        *product(["model", "ema"], [None, "x", [1], {"a": 1}]),
        *product(["optimizer"], [None, "x", [1]]),
    ],
)
def test_what_holds_no_weights_is_refused(resumed, tmp_path, part, weights):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    torch.save({**state, part: weights}, tmp_path / "checkpoint.pt")
    with pytest.raises(ConfigError, match=r"checkpoint\.pt: is not a checkpoint of this trainer"):
        read_checkpoint(tmp_path / "checkpoint.pt")


@pytest.mark.slow
@pytest.mark.parametrize("step", ["3", None, float("nan"), 3.0, -1, 8, 10**30])
def test_a_checkpoint_of_a_step_that_no_training_has_is_refused(resumed, tmp_path, step):
    state = torch.load(resumed / "checkpoint.pt", weights_only=True)
    torch.save({**state, "step": step}, tmp_path / "checkpoint.pt")
    with pytest.raises(
        ConfigError, match=rf"checkpoint\.pt: got step {re.escape(repr(step))}, expected .* 0 to 7"
    ):
        read_checkpoint(tmp_path / "checkpoint.pt")


@pytest.mark.slow
def test_a_checkpoint_with_another_byte_is_refused(resumed, tmp_path):
    with zipfile.ZipFile(resumed / "checkpoint.pt") as parts:
        largest = max(parts.infolist(), key=lambda part: part.file_size)
        content = parts.read(largest)
    damaged = bytearray((resumed / "checkpoint.pt").read_bytes())
    damaged[damaged.index(content)] ^= 1
    (tmp_path / "checkpoint.pt").write_bytes(damaged)
    with pytest.raises(ConfigError, match=r"checkpoint\.pt: cannot be read as a checkpoint \(BadZipFile: "):
        read_checkpoint(tmp_path / "checkpoint.pt")


def hanging_after_a_checkpoint(folder: Path, *overrides: str) -> subprocess.Popen:
    """A training in folder/out that hangs in step 4 and has written a checkpoint after step 2."""
    settings = [f"--set={text}" for text in ("train.checkpoint_every_updates=2", *overrides)]
    where = ["--config", tiny_file(folder), "--out", folder / "out"]
    arguments = ["-m", "trainer", "train", *where, *settings, "--seed", "3"]
    fault = {"SPEEDPROOF_TEST_FAULT": "hang@rank0@step4"}
    return started(arguments, until=folder / "out/checkpoint.pt", environment=fault)


def started(arguments: list, *, until: Path, environment: dict[str, str] | None = None) -> subprocess.Popen:
    """A Python process that has made a file."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stderr=subprocess.PIPE,
        text=True,
        # Tests that were started in the background ignore Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not until.exists():
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.slow
def test_a_folder_holds_one_training_at_a_time_until_its_process_ends(tmp_path):
    out, overrides = tmp_path / "out", ["train.checkpoint_every_updates=2", "speed.loader_workers=1"]
    config, process = tiny_config(tmp_path, *overrides), hanging_after_a_checkpoint(tmp_path, *overrides)
    for resume in (False, True):
        with pytest.raises(ConfigError, match=f"--out: {out}: another training is running in it; name"):
            run_training(config, out, 3, Progress(), resume=resume)
    process.kill()
    process.wait()  # the loader's worker ends later
    run_training(config, out, 3, Progress(), resume=True)
    assert len(train_losses(out)) == 7
    assert not (out / "earlier").exists()


def test_ranks_are_refused_alike_a_folder_that_rank_0_finds_held(tmp_path):
    class WithAnother(World):
        def gather_text(self, text: str) -> list[str]:
            return ["another training is running in it", text]

    refused = pytest.raises(ConfigError, match=f"--out: {tmp_path}: another training is running in it")
    with refused, hold_folder(tmp_path, WithAnother(1, 2, torch.device("cpu"))):
        pass


def test_a_folder_whose_lock_is_somebody_elses_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(errno.EACCES, "Permission denied")))
    world = World(0, 1, torch.device("cpu"))
    with pytest.raises(
        ConfigError, match=r"training\.lock cannot be written .*: Permission denied; name another"
    ):
        hold_folder(tmp_path, world).__enter__()


@pytest.mark.slow
def test_a_training_that_ended_early_holds_its_folder_until_its_process_ends(tmp_path):
    with pytest.raises(Diverged), hold_folder(tmp_path, World(0, 1, torch.device("cpu"))):
        raise Diverged(1, "a test")
    take = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", take, str(tmp_path / "training.lock")]
    assert "BlockingIOError" in subprocess.run(command, capture_output=True, text=True).stderr


@pytest.mark.slow
def test_a_training_needs_no_file_system_with_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "lockf", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    run_training(tiny_config(tmp_path), tmp_path, 3, Progress())
    assert events(tmp_path, "run_end")


@pytest.mark.slow
def test_an_interrupted_training_says_in_one_line_what_it_leaves(tmp_path):
    out, process = tmp_path / "out", hanging_after_a_checkpoint(tmp_path)
    time.sleep(1)  # into the step that hangs
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert f"; --resume continues from {out / 'checkpoint.pt'}\n" in told
    assert "Traceback" not in told
    assert told.splitlines()[-1].startswith("interrupted at step ")  # and nothing of what is left in memory


SLOW_SAVE = """
import sys, time
from trainer.run.checkpoint import files as checkpoint
save, saving = checkpoint.torch.save, sys.argv.pop(1)
checkpoint.torch.save = lambda *of: (open(saving, "w"), time.sleep(3), save(*of))
from trainer.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_an_interruption_waits_for_the_checkpoint_that_is_being_written(tmp_path):
    out, saving = tmp_path / "out", tmp_path / "saving"
    sets = ["train.checkpoint_every_updates=2", "train.updates=100000", "speed.async_checkpoint=true"]
    arguments = ["train", "--config", tiny_file(tmp_path), "--out", out, "--seed", "3"]
    process = started(
        ["-c", SLOW_SAVE, saving, *arguments, *(f"--set={text}" for text in sets)], until=saving
    )
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130, told
    assert read_checkpoint(out / "checkpoint.pt")["step"] == 2


@pytest.mark.slow
def test_a_failure_waits_for_the_checkpoint_that_is_being_written(tmp_path):
    out = tmp_path / "out"
    sets = ["train.checkpoint_every_updates=2", "speed.async_checkpoint=true"]
    arguments = ["train", "--config", tiny_file(tmp_path), "--out", out, "--seed", "3"]
    settings = [f"--set={text}" for text in sets]
    program = ["-c", SLOW_SAVE, tmp_path / "saving", *arguments, *settings]
    done = python(program, SPEEDPROOF_TEST_FAULT="crash@rank0@step3")
    assert done.returncode == 1, done.stderr
    assert "simulated by SPEEDPROOF_TEST_FAULT" in done.stderr
    assert read_checkpoint(out / "checkpoint.pt")["step"] == 2


@pytest.mark.slow
def test_a_resumed_run_lets_go_of_the_checkpoint_that_it_started_from(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, "train.checkpoint_every_updates=2")
    interrupted_at(3, monkeypatch, config, tmp_path)
    held, keep = [], CheckpointManager.save_if_due

    def noted(checkpoints: CheckpointManager, *arguments: object) -> None:
        held.append((checkpoints.earlier.state, checkpoints.earlier.metrics))
        keep(checkpoints, *arguments)

    monkeypatch.setattr(CheckpointManager, "save_if_due", noted)
    run_training(config, tmp_path, 3, Progress(), resume=True)
    assert set(held) == {(None, b"")}


def test_a_record_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(CannotWrite, match=r"metrics\.jsonl cannot be written.*No space left.*start again"):
        MetricsFile(tmp_path / "metrics.jsonl").phase("data", 1.0)
    (tmp_path / "checkpoint.pt").write_text("")
    with pytest.raises(CannotWrite, match="continue with --resume"):
        MetricsFile(tmp_path / "metrics.jsonl").phase("data", 1.0)


SPOILT_BY_ITS_FIRST_UPDATE = [
    "optimizer.learning_rate=3e37",
    "optimizer.weight_decay=11",  # weights of about 1 times both are more than float32 holds
    "optimizer.warmup_updates=0",
]


@pytest.mark.slow
def test_an_update_that_spoils_the_weights_leaves_no_checkpoint_of_them(tmp_path):
    config = tiny_config(tmp_path, *SPOILT_BY_ITS_FIRST_UPDATE, "train.checkpoint_every_updates=1")
    with pytest.raises(Diverged, match=r"is not finite after step 1; lower optimizer\.learning_rate"):
        run_training(config, tmp_path, 3, Progress())
    assert [window["first_step"] for window in events(tmp_path, "steps")] == [1]
    assert not (tmp_path / "checkpoint.pt").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("spoilt", "kept"), [(4, 2), (7, 6)])  # by a periodic checkpoint, and by the last
@pytest.mark.parametrize("writing", ["speed.async_checkpoint=false", "speed.async_checkpoint=true"])
def test_the_checkpoint_before_the_weights_were_spoilt_is_kept(tmp_path, monkeypatch, spoilt, kept, writing):
    work = Learner.work

    def spoiling(learner: Learner, step: int, *arguments: object):
        done = work(learner, step, *arguments)
        if step == spoilt:
            next(learner.model.parameters()).data[0] = float("inf")
        return done

    def slow(*arguments: object, **best: bool) -> None:
        time.sleep(0.2)
        _save(*arguments, **best)

    monkeypatch.setattr("trainer.run.checkpoint.files._save", slow)
    monkeypatch.setattr(Learner, "work", spoiling)
    # An infinity can come to nothing in the held-out loss, which the last step has as well.
    monkeypatch.setattr("trainer.run.training.write_evaluation", lambda *_: 1.0)
    config = tiny_config(tmp_path, "train.checkpoint_every_updates=2", writing)
    with pytest.raises(Diverged, match=f"is not finite after step {spoilt};") as raised:
        run_training(config, tmp_path, 3, Progress())
    assert raised.value.step == spoilt
    monkeypatch.undo()
    state = read_checkpoint(tmp_path / "checkpoint.pt")
    assert state["step"] == kept
    run_training(config, tmp_path, 3, Progress(), resume=True)
    assert events(tmp_path, "run_end")


def test_ranks_end_alike_where_the_weights_of_one_are_not_finite():
    class WithAnother(World):
        def gather(self, values: torch.Tensor) -> torch.Tensor:
            return torch.stack([values, torch.tensor([1, 0], dtype=values.dtype)])

    weights = {"first": torch.ones(2), "second": torch.ones(3)}
    with pytest.raises(Diverged, match="second is not finite after step 4"):
        require_finite_weights(weights, WithAnother(0, 2, torch.device("cpu")), 4)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_full_disk_is_named_and_no_part_of_a_checkpoint_stays(tmp_path, asynchronous, monkeypatch):
    partial, state = tmp_path / "checkpoint.partial", {"weights": torch.ones(3)}
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    left = tmp_path / "checkpoint-best.partial"
    for remedy in ("start again", "continue with --resume"):  # without a checkpoint, and with one
        writer = CheckpointWriter(tmp_path, asynchronous=asynchronous)
        left.write_bytes(b"of a run that was killed")
        with pytest.raises(CannotWrite) as ended, monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            writer.write(state, best=True)
            writer.close()
        assert str(ended.value) == (
            f"checkpoint.pt cannot be written to {tmp_path}: No space left on device; "
            f"free space there, then {remedy}"
        )
        assert Failure.of(ended.value, 1, 0).call_stack == ""
        assert not partial.exists()
        assert not left.exists()
        CheckpointWriter(tmp_path, asynchronous=False).write(state, best=True)


def without_hard_links(monkeypatch) -> None:
    def refused(_link, _to):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(Path, "hardlink_to", refused)


def test_the_best_checkpoint_is_a_copy_where_there_are_no_hard_links(tmp_path, monkeypatch):
    without_hard_links(monkeypatch)
    writer = CheckpointWriter(tmp_path, asynchronous=False)
    for value, best in ((1.0, True), (2.0, True), (3.0, False)):
        writer.write({"weights": torch.full((3,), value)}, best=best)
    last, best = (torch.load(tmp_path / name)["weights"][0] for name in (LAST, BEST))
    assert (last, best) == (3.0, 2.0)
    assert sorted(file.name for file in tmp_path.iterdir()) == [BEST, LAST]


def test_a_copy_that_finds_no_room_leaves_the_best_checkpoint_as_it_was(tmp_path, monkeypatch):
    without_hard_links(monkeypatch)
    writer = CheckpointWriter(tmp_path, asynchronous=False)
    writer.write({"weights": torch.ones(3)}, best=True)
    before = (tmp_path / BEST).read_bytes()

    def half(source, to):
        to.write(source.read(9))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", half)
    with pytest.raises(CannotWrite, match="No space left on device"):
        writer.write({"weights": torch.zeros(3)}, best=True)
    assert (tmp_path / BEST).read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [BEST, LAST]


def test_what_the_system_said_is_told_where_torch_says_something_else(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(CannotWrite, match=r"File too large; .* start again"):
            CheckpointWriter(tmp_path, asynchronous=False).write({"a": torch.ones(100_000)}, best=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_of_a_checkpoint_is_in_nobodys_way(tmp_path):
    for name in ("checkpoint.partial", "checkpoint-best.partial"):
        (tmp_path / name).write_bytes(b"half of one")
    CheckpointWriter(tmp_path, asynchronous=False).write({"step": 2}, best=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-best.pt", "checkpoint.pt"]
    for path in tmp_path.iterdir():
        assert torch.load(path, weights_only=True) == {"step": 2}


def test_a_save_that_was_killed_between_its_names_leaves_the_best_one_to_itself(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def until_the_last(partial: Path, name: Path) -> Path:
        if name.name == LAST:
            raise Killed
        return rename(partial, name)

    rename, writer = Path.replace, CheckpointWriter(tmp_path, asynchronous=False)
    with pytest.raises(Killed), monkeypatch.context() as patched:
        patched.setattr(Path, "replace", until_the_last)
        writer.write({"step": 2}, best=True)
    CheckpointWriter(tmp_path, asynchronous=False).write({"step": 4}, best=False)
    assert torch.load(tmp_path / BEST, weights_only=True) == {"step": 2}
    assert torch.load(tmp_path / LAST, weights_only=True) == {"step": 4}


def test_a_checkpoint_takes_its_name_when_the_disk_has_it(tmp_path, monkeypatch):
    done = []

    def noted(owner: object, name: str) -> None:
        call = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *arguments: (done.append(name), call(*arguments))[1])

    noted(os, "fsync")
    noted(Path, "replace")
    CheckpointWriter(tmp_path, asynchronous=False).write({"step": 2}, best=False)
    assert done == ["fsync", "replace"]


def test_a_checkpoint_that_a_thread_writes_is_of_the_moment_when_it_was_asked_for(tmp_path, monkeypatch):
    changed, save = threading.Event(), torch.save
    monkeypatch.setattr(torch, "save", lambda *arguments: (changed.wait(60), save(*arguments)))
    weight, writer = torch.ones(3), CheckpointWriter(tmp_path, asynchronous=True)
    writer.write({"model": {"weight": weight}}, best=False)
    weight.zero_()
    changed.set()
    writer.close()
    assert_same_bits(torch.load(tmp_path / "checkpoint.pt"), {"model": {"weight": torch.ones(3)}})


def test_checkpoints_are_written_one_after_another(tmp_path, monkeypatch):
    written = []

    def slower_at_first(state: dict, out: Path, *, best: bool) -> None:
        time.sleep(0.3 if state["step"] == 1 else 0)
        written.append(state["step"])

    monkeypatch.setattr("trainer.run.checkpoint.files._save", slower_at_first)
    writer = CheckpointWriter(tmp_path, asynchronous=True)
    for step in (1, 2):
        writer.write({"step": step}, best=False)
    writer.close()
    assert written == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("error", [RuntimeError("unexpected pos"), TypeError("cannot pickle")])
def test_what_fails_in_the_writing_thread_ends_the_run(tmp_path, monkeypatch, error):
    def failing(state, file):
        raise error

    monkeypatch.setattr(torch, "save", failing)
    with pytest.raises(type(error), match=error.args[-1]):
        run_training(tiny_config(tmp_path, "speed.async_checkpoint=true"), tmp_path, 3, Progress())
    assert not events(tmp_path, "run_end")
    assert not (tmp_path / "checkpoint.pt").exists()


@pytest.mark.slow
def test_a_fresh_run_moves_what_another_left_in_its_folder(tmp_path, capsys):
    out, config = tmp_path / "out", tiny_config(tmp_path, "train.keep_best=true")
    run_training(config, out, 1, Progress())
    (out / "trace-0.json").write_text("{}")
    names = ("metrics.jsonl", "checkpoint.pt", "checkpoint-best.pt", "trace-0.json")
    before = {name: (out / name).read_bytes() for name in names}
    run_training(config, out, 2, Progress())
    (kept,) = (out / "earlier").iterdir()
    assert {name: (kept / name).read_bytes() for name in before} == before
    assert not (out / "trace-0.json").exists()
    assert events(out, "run_start")[0]["seed"] == 2
    assert states(capsys.readouterr().err, f"{out}: .. previous run .. {kept}")


@pytest.mark.slow
def test_a_run_whose_data_cannot_be_read_leaves_the_one_before_in_its_place(tmp_path):
    out = tmp_path / "out"
    run_training(tiny_config(tmp_path), out, 1, Progress())
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.hdf5").write_text("no HDF5")
    with pytest.raises(ConfigError, match=r"a\.hdf5"):
        run_training(tiny_config(tmp_path, f"data.root={tmp_path / 'other'}"), out, 1, Progress())
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.slow
def test_where_the_run_before_was_moved_away_it_can_be_found(tmp_path):
    config, out = tiny_config(tmp_path), tmp_path / "out"
    for seed in (1, 2, 3):
        run_training(config, out, seed, Progress())
    kept = {events(folder, "run_start")[0]["seed"]: folder for folder in (out / "earlier").iterdir()}
    assert sorted(kept) == [1, 2]
    (out / "checkpoint.pt").unlink()
    with pytest.raises(ConfigError, match=f"move .* of {kept[2]} back, or start without --resume"):
        run_training(config, out, 1, Progress(), resume=True)


@pytest.mark.slow
def test_what_cannot_be_moved_away_is_kept(tmp_path):
    out, config = tmp_path / "out", tiny_config(tmp_path)
    run_training(config, out, 1, Progress())
    (out / "earlier").write_text("a file")
    before = (out / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"--out: .*earlier.* cannot be written"):
        run_training(config, out, 2, Progress())
    assert (out / "metrics.jsonl").read_bytes() == before
