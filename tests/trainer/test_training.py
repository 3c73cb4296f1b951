"""A whole training in this process: what it writes, and that the way it is cut does not change it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
import torch
from tiny import ROOT, SAME_WEIGHTS, events, gradient_norms, tiny_config, train_losses, weights
from torch import nn

from trainer.build import build_rates
from trainer.config import Config
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.errors import ConfigError, Diverged
from trainer.losses.choices import StepChoices
from trainer.optimizer.adamw import AdamW
from trainer.optimizer.hybrid import Hybrid
from trainer.process.world import World, open_world
from trainer.run.record.metrics_file import MetricsFile
from trainer.run.record.window import StepRecord, Window
from trainer.run.step import learner as learner_module
from trainer.run.step.learner import Learner
from trainer.run.training import Progress, run_training

ROLLOUT_ERRORS = (
    "rmse",
    "nrmse",
    "crmse",
    "brmse",
    "max",
    "frmse_low",
    "frmse_mid",
)  # 16 points have no more
JOINING_SECONDS = 1.0  # more than all else that builds the tiny model
ALONE = World(rank=0, size=1, device=torch.device("cpu"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The tiny training as it is."""
    folder = tmp_path_factory.mktemp("plain")
    run_training(tiny_config(folder), folder, 3, Progress())
    return folder


@pytest.mark.slow
def test_every_line_of_the_metrics_keeps_the_contract(plain):
    validator = jsonschema.Draft202012Validator(
        json.loads((ROOT / "schemas/metrics.schema.json").read_text())
    )
    lines = events(plain)
    for event in lines:
        validator.validate(event)
    names = [event["event"] for event in lines]
    assert names[0] == "run_start"
    assert names[-1] == "run_end"
    assert {"steps", "evaluation", "phase", "epoch"} <= set(names)


@pytest.mark.slow
def test_set_up_is_made_of_phases_in_their_order(plain):
    phases = [event for event in events(plain, "phase") if event["name"] != "checkpoint"]
    assert [phase["name"] for phase in phases] == ["import", "data", "build"]
    assert all(phase["seconds"] > 0 for phase in phases)


@pytest.mark.slow
def test_joining_the_ranks_is_part_of_building(tmp_path, monkeypatch):
    """What lies in no phase would be no set-up, however long it takes."""

    @contextmanager
    def joined(timeout_seconds: float) -> Iterator[World]:
        time.sleep(JOINING_SECONDS)
        with open_world(timeout_seconds) as world:
            yield world

    monkeypatch.setattr("trainer.run.training.open_world", joined)
    run_training(tiny_config(tmp_path, "train.updates=3"), tmp_path, 3, Progress())
    (build,) = [event["seconds"] for event in events(tmp_path, "phase") if event["name"] == "build"]
    assert build > JOINING_SECONDS


@pytest.mark.slow
def test_every_step_is_reported_once(plain):
    windows = events(plain, "steps")
    assert [window["first_step"] for window in windows] == [1, 3, 5, 7]
    assert [len(window["step_seconds"]) for window in windows] == [2, 2, 2, 1]
    assert {samples for window in windows for samples in window["samples"]} == {16}


@pytest.mark.slow
def test_a_pass_over_the_data_is_counted_where_it_ends(plain):
    (event,) = events(plain, "epoch")  # of 12 trajectories with 5 + 4 pairs, 16 at a time
    assert (event["epoch"], event["step"]) == (1, 6)


def test_a_rank_that_is_late_to_a_collective_counts_once(tmp_path, monkeypatch):
    # Two ranks are late by turns, each by a second, which the other waits in its next step; 8 or 8.5 s pass.
    ranks = torch.tensor([[[3.0, 1, 3, 1], [0, 0, 0, 0]], [[1, 3, 1, 3.5], [0.1, 0, 0.2, 0.1]]])
    losses = torch.zeros(2, 1, 4)
    monkeypatch.setattr(World, "gather", lambda _self, _own: torch.cat([ranks, losses], dim=1).double())
    record = StepRecord(torch.zeros(()), None, 16, 0.0, 1e-3, compiled=False)
    window, file = Window(1, [record] * 4), MetricsFile(tmp_path / "metrics.jsonl")
    window.report([1.0] * 4, ALONE, file)
    (written,) = events(tmp_path, "steps")
    assert written["step_seconds"] == [1, 3, 1, 3.5]
    assert written["data_wait_seconds"] == pytest.approx([0.1, 0, 0.2, 0.1])


def test_the_loss_of_a_step_is_the_mean_over_the_ranks(tmp_path, monkeypatch):
    ranks = torch.tensor(
        [[[1.0, 1], [0, 0], [0.5, 0.1]], [[1.0, 1], [0, 0], [1.5, 0.3]]], dtype=torch.float64
    )
    monkeypatch.setattr(World, "gather", lambda _self, _own: ranks)
    record = StepRecord(torch.zeros(()), None, 16, 0.0, 1e-3, compiled=False)
    Window(1, [record] * 2).report([1.0] * 2, ALONE, MetricsFile(tmp_path / "metrics.jsonl"))
    assert train_losses(tmp_path) == pytest.approx([1, 0.2])


@pytest.mark.parametrize("loss", [float("inf"), float("-inf"), float("nan")])
def test_the_first_loss_that_is_not_finite_is_named_behind_what_came_before(tmp_path, loss):
    records = [StepRecord(torch.tensor(x), None, 16, 0.0, 1e-3, compiled=False) for x in (1.0, loss, 1.0)]
    with pytest.raises(Diverged, match=f"the training loss of step 6 is {loss}"):
        Window(5, records).report([1.0] * 3, ALONE, MetricsFile(tmp_path / "metrics.jsonl"))
    assert train_losses(tmp_path) == [1]


@pytest.mark.slow
def test_a_step_that_compiled_is_a_phase_of_its_own_seconds(tmp_path):
    plain = StepRecord(torch.zeros(()), None, 16, 0.0, 1e-3, compiled=False)
    records = [plain, replace(plain, compiled=True)]
    Window(5, records).report([1.0, 2.0], ALONE, MetricsFile(tmp_path / "metrics.jsonl"))
    assert events(tmp_path, "phase") == [{"event": "phase", "name": "compile", "seconds": 2.0, "step": 6}]


@pytest.mark.slow
def test_the_evaluation_covers_the_held_out_split(plain):
    (evaluation,) = events(plain, "evaluation")
    assert evaluation["step"] == 7
    assert evaluation["samples_seen"] == 112
    one_step = {"val_loss", "persistence_loss", "nrmse"}
    assert set(evaluation["metrics"]) == {
        "val_loss_ema",
        "val_loss_ema/advection1d",
        "persistence_loss",
        "nrmse",
        *(f"{name}/advection1d" for name in one_step),
        *(f"rollout_{name}/advection1d" for name in ROLLOUT_ERRORS),
        "mass_gap/advection1d",
        "mass_gap_max/advection1d",
    }
    assert events(plain, "run_start")[0]["evaluation_samples"] == 4 * (5 + 4)


@pytest.mark.slow
def test_persistence_is_the_mean_squared_change(plain):
    pairs = open_data(tiny_config(plain)).held_out.tasks[0]
    batch = pairs.read(np.arange(len(pairs.table)))
    change = batch.field - batch.next_field
    (evaluation,) = events(plain, "evaluation")
    assert evaluation["metrics"]["persistence_loss"] == pytest.approx(change.square().mean().item(), rel=1e-5)


@pytest.mark.slow
def test_the_checkpoint_holds_the_whole_state(plain):
    state = torch.load(plain / "checkpoint.pt", weights_only=True)
    learned = {"model", "ema", "optimizer", "scaled_step"}
    assert learned | {"normalisation", "step", "seed", "config"} <= set(state)
    assert state["step"] == 7
    assert not (plain / "checkpoint.partial").exists()


@pytest.mark.slow
def test_the_same_seed_trains_the_same_weights(plain, tmp_path):
    run_training(tiny_config(plain), tmp_path, 3, Progress())
    assert all(torch.equal(weight, weights(plain)[name]) for name, weight in weights(tmp_path).items())


@pytest.mark.slow
def test_a_run_draws_its_pairs_by_its_own_seed_and_config(tmp_path, monkeypatch):
    class Opened(Exception):
        pass

    def opened(pairs, share, *_rest):
        raise Opened(share)

    monkeypatch.setattr("trainer.run.training.open_feed", opened)
    cut = ["train.rest=pad", "speed.accumulation_steps=4"]
    cut += ["recipe.batch_cut_into=2", "train.pairs_per_update=32"]
    config = tiny_config(tmp_path, *cut)
    with pytest.raises(Opened) as caught:
        run_training(config, tmp_path, 3, Progress())
    (share,) = caught.value.args
    (schedule,) = share.schedule.tasks
    assert (share.rank, share.world_size, share.micro_steps) == (0, 1, 4)
    assert (schedule.pairs_per_update, schedule.seed, schedule.rest) == (32, 3, "pad")
    assert schedule.cut_into == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["speed.accumulation_steps=4"],
        ["speed.data_path=resident"],
        ["speed.fused_adamw=true", "speed.foreach_ema=true"],
        ["evaluation.every_updates=2", "evaluation.batch_pairs=5"],
    ],
)
def test_how_the_work_is_cut_does_not_change_the_training(plain, tmp_path, overrides):
    run_training(tiny_config(plain, *overrides), tmp_path, 3, Progress())
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    assert gradient_norms(tmp_path) == pytest.approx(gradient_norms(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", ["null", "1.0"])
@pytest.mark.parametrize(
    ("overrides", "within"),
    [
        (["speed.accumulation_steps=4"], 1e-5),
        (["speed.wrapper=flat", "speed.accumulation_steps=2"], 1e-5),
        (["speed.precision=fp16"], 5e-3),
    ],
)
def test_plain_descent_steps_as_far_however_the_work_is_done(
    tmp_path, monkeypatch, overrides, within, clip_norm
):
    """AdamW and Muon would hide the size of a gradient."""

    class Descent(AdamW):
        @torch.no_grad()
        def step(self) -> None:
            for parameter in self.parameters.values():
                parameter -= self.learning_rate * parameter.grad

    monkeypatch.setattr(learner_module, "make_optimizer", optimizer_of(Descent))
    same = ["optimizer.weight_decay=0", f"optimizer.clip_norm={clip_norm}"]
    plain, other = (_first_step(tiny_config(tmp_path, *same, *more)) for more in ([], overrides))
    length = plain.norm().item()
    assert length > 2 if clip_norm == "null" else length == pytest.approx(1, rel=1e-4)
    assert (other - plain).norm() < within * length


def optimizer_of(kind: type[AdamW]):
    """Return what makes that of every parameter, unfused, whatever the config asks for."""

    def make(model, config, speed, world):
        part = kind(dict(model.named_parameters()), config, fused=False, device=world.device)
        return Hybrid([part], model)

    return make


def _first_step(config: Config) -> torch.Tensor:
    """Return the change of all weights at a learning rate of 1."""
    data = open_data(config)
    share = Share(data.train.schedule(16, 0), 0, 1, config.speed.accumulation_steps)
    feed = open_feed(data.train, share, 1, config.speed, ALONE.device)
    learner = Learner(config, 3, ALONE)
    before = nn.utils.parameters_to_vector(learner.model.parameters()).detach()
    learner.work(1, 1.0, feed.update(1))
    return nn.utils.parameters_to_vector(learner.model.parameters()).detach() - before


@pytest.mark.parametrize("wrapper", ["none", "flat"])
def test_no_step_adds_to_the_gradient_of_the_one_before(tmp_path, wrapper):
    config = tiny_config(tmp_path, f"speed.wrapper={wrapper}", "speed.data_path=resident")
    data = open_data(config)
    feed = open_feed(data.train, Share(data.train.schedule(16, 0), 0, 1, 1), 1, config.speed, ALONE.device)
    learner = Learner(config, 3, ALONE)
    first, second = ([part.item() for part in learner.work(1, 0.0, feed.update(1))] for _ in range(2))
    assert second == pytest.approx(first, rel=1e-6)


def test_other_seeds_begin_with_other_weights(tmp_path):
    config = tiny_config(tmp_path)
    one, again, other = (
        nn.utils.parameters_to_vector(Learner(config, s, ALONE).model.parameters()) for s in (3, 3, 4)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_a_step_has_the_rate_and_the_terms_that_are_due_in_it(tmp_path, monkeypatch):
    given = []

    def noted(_learner, step, rate, _batches, phase):
        given.append((step, rate, *phase))
        return torch.zeros(()), None

    monkeypatch.setattr(Learner, "work", noted)
    recipe = ["recipe.inverse_every=2", "recipe.priors_every=3", "speed.data_path=resident"]
    config = tiny_config(tmp_path, *recipe)
    data = open_data(config)
    feed = open_feed(data.train, Share(data.train.schedule(16, 0), 0, 1, 1), 3, config.speed, ALONE.device)
    learner = Learner(config, 3, ALONE)
    rates = [learner.update(step, feed).learning_rate for step in (1, 2, 3)]
    assert rates == [build_rates(config).rate(step) for step in (1, 2, 3)]
    assert given == [
        (1, rates[0], False, False),
        (2, rates[1], True, False),
        (3, rates[2], False, True),
    ]


@pytest.mark.slow
def test_choices_are_drawn_by_the_seed_and_step_of_the_run(tmp_path, monkeypatch):
    drawn, inputs = [], StepChoices.inputs

    def noted(choices: StepChoices, step: int, pair: torch.Tensor):
        drawn.append((choices.seed, step))
        return inputs(choices, step, pair)

    monkeypatch.setattr(StepChoices, "inputs", noted)
    run_training(tiny_config(tmp_path, "train.updates=3"), tmp_path, 3, Progress())
    assert drawn == [(3, 1), (3, 2), (3, 3)]


def test_the_waits_for_all_batches_of_a_step_count(monkeypatch):
    times = iter([0.0, 1.0, 10.0, 13.0, 20.0, 20.5])
    monkeypatch.setattr(learner_module.time, "perf_counter", lambda: next(times))
    waits = learner_module._Waits()
    assert list(waits.measured(iter(["one", "other"]))) == ["one", "other"]
    assert waits.seconds == 4.5


@pytest.mark.slow
def test_a_short_training_beats_persistence(tmp_path):
    overrides = [
        "train.updates=150",
        "optimizer.learning_rate=1e-2",
        "model.drop_path=0",
        "speed.data_path=resident",
    ]
    run_training(tiny_config(tmp_path, *overrides), tmp_path, 0, Progress())
    (evaluation,) = events(tmp_path, "evaluation")
    assert evaluation["val_loss"] < evaluation["metrics"]["persistence_loss"] / 2


@pytest.mark.slow
def test_a_loss_that_is_not_finite_ends_the_run_at_its_step(tmp_path, monkeypatch):
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step4")
    with pytest.raises(Diverged, match="step 4"):
        run_training(tiny_config(tmp_path), tmp_path, 3, Progress())
    assert len(train_losses(tmp_path)) == 3
    *_, cut_short = events(tmp_path, "steps")  # before the second of its two steps
    assert {len(values) for values in cut_short.values() if isinstance(values, list)} == {1}
    assert not events(tmp_path, "run_end")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Error detected in MulBackward0")  # and where it was called
def test_an_operation_that_makes_a_nan_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step4")
    with (
        torch.autograd.set_detect_anomaly(False),
        pytest.raises(Diverged, match="MulBackward0; lower") as ended,
    ):
        run_training(tiny_config(tmp_path, "train.detect_anomaly=true"), tmp_path, 3, Progress())
    assert ended.value.step == 4


@pytest.mark.slow
def test_weights_that_the_last_update_spoilt_end_the_run_as_diverged(tmp_path):
    one = ["train.updates=1", "optimizer.warmup_updates=0", "optimizer.learning_rate=1e38"]
    with pytest.raises(Diverged, match="held-out loss of step 1 is"):
        run_training(tiny_config(tmp_path, *one), tmp_path, 3, Progress())
    assert not events(tmp_path, "run_end")


@pytest.mark.slow
def test_a_malformed_fault_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@step4")
    with pytest.raises(ConfigError, match="expected KIND@rankR@stepS"):
        run_training(tiny_config(tmp_path), tmp_path, 3, Progress())


def effective(folder, *overrides: str) -> dict:
    config = tiny_config(folder, *overrides)
    data = open_data(config)
    share = Share(data.train.schedule(16, 0), 0, 1, config.speed.accumulation_steps)
    feed = open_feed(data.train, share, config.train.updates, config.speed, ALONE.device)
    try:
        return {**Learner(config, 0, ALONE).effective(), **feed.effective()}
    finally:
        feed.close()


ALL_ON = [
    "speed.compile=blocks",
    "speed.precision=bf16",
    "speed.fused_adamw=true",
    "speed.foreach_ema=true",
    "speed.loader_workers=2",
]


def test_switches_that_are_on_read_back_as_on(tmp_path):
    expected = {
        "wrapper": "none",
        "gradient_reductions": 0,
        "compile": "blocks",
        "compiled_blocks": 3,
        "attention": "flash",
        "cross_attention": "auto",
        "fp8_layers": 0,
        "fused_layers": 0,
        "hoisted_tasks": 0,
        "joint_decodes": 0,
        "checkpointed_blocks": 0,
        "checkpointed_ends": 0,
        "precision": "bfloat16",
        "optimizer": "AdamW fused",
        "ema": "foreach",
        "data_path": "loader",
        "data_device": "cpu",
        "loader_workers": 2,
        "loader_prefetch": 2,
        "loader_pinned": False,
        "micro_steps": 1,
    }
    assert effective(tmp_path, *ALL_ON).items() >= expected.items()


def test_switches_that_are_off_read_back_as_off(tmp_path):
    expected = {
        "wrapper": "none",
        "gradient_reductions": 0,
        "compile": "off",
        "compiled_blocks": 0,
        "attention": "flash",
        "cross_attention": "auto",
        "fp8_layers": 0,
        "fused_layers": 0,
        "hoisted_tasks": 0,
        "joint_decodes": 0,
        "checkpointed_blocks": 0,
        "checkpointed_ends": 0,
        "precision": "float32",
        "optimizer": "AdamW for-loop",
        "ema": "for-loop",
        "data_path": "resident",
        "data_device": "cpu",
        "loader_workers": 0,
        "micro_steps": 1,
    }
    assert effective(tmp_path, "speed.data_path=resident").items() >= expected.items()


@pytest.mark.parametrize(
    ("switch", "broken", "key", "off"),
    [
        ("put_on_model", lambda objective, speed: None, "compiled_blocks", 0),
        (
            "product_format",
            lambda precision, device: torch.autocast("cpu", enabled=False),
            "precision",
            "float32",
        ),
        ("make_optimizer", optimizer_of(AdamW), "optimizer", "AdamW for-loop"),
    ],
)
def test_a_switch_broken_behind_its_config_reads_back_as_off(tmp_path, monkeypatch, switch, broken, key, off):
    monkeypatch.setattr(learner_module, switch, broken)
    assert effective(tmp_path, *ALL_ON)[key] == off


def test_workers_that_died_are_not_counted(tmp_path):
    config = tiny_config(tmp_path, "speed.loader_workers=2")
    data = open_data(config)
    share = Share(data.train.schedule(16, 0), 0, 1, 1)
    feed = open_feed(data.train, share, 5, config.speed, ALONE.device)
    for _ in feed.update(1):
        pass
    feed.close()
    assert feed.effective()["loader_workers"] == 0
