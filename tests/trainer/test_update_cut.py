"""Updates cut into smaller steps: the same pairs in the same order, with the rates that go with it."""

import json
import math

import jsonschema
import pytest
import torch
from tiny import ROOT, events, tiny_config, train_losses, weights

from trainer.build import build_rates
from trainer.data.batches.schedule import BatchSchedule
from trainer.data.batches.update_cut import UpdateCut
from trainer.errors import ConfigError, Diverged
from trainer.process.world import World
from trainer.run.step.learner import Learner
from trainer.run.training import Progress, run_training

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
# 12 steps of 16 pairs take the place of 6 updates of 32.
CUT = ["recipe.batch_cut_into=2", "train.pairs_per_update=32", "train.updates=6", "train.window_updates=1"]


def test_a_step_is_an_update_where_none_is_cut():
    cut = UpdateCut(5)
    assert cut.steps == 5
    assert [cut.completed(step) for step in (1, 5)] == [1, 5]


def test_an_update_is_completed_by_its_last_part():
    cut = UpdateCut(6, 4)
    assert (cut.steps, cut.factor) == (24, 0.25)
    assert [cut.position(step) for step in (1, 4, 24)] == [0.25, 1, 6]
    assert [cut.completed(step) for step in range(1, 9)] == [None, None, None, 1, None, None, None, 2]
    assert [step for step in range(1, 25) if cut.is_due(step, 2)] == [8, 16, 24]
    assert not any(cut.is_due(step, 0) for step in range(1, 25))


@pytest.mark.parametrize(("world_size", "micro_steps"), [(1, 1), (2, 1), (1, 2)])
def test_the_parts_of_a_batch_have_its_pairs_in_their_order(world_size, micro_steps):
    plain = BatchSchedule(40, 8, 5, "a")  # passes of five updates
    cut = BatchSchedule(40, 8, 5, "a", cut_into=4)
    parts = [
        cut.micro_batch(step, micro_step, micro_steps, rank, world_size)
        for step in range(1, 49)
        for micro_step in range(micro_steps)
        for rank in range(world_size)
    ]
    assert {len(part) for part in parts} == {2 // (world_size * micro_steps)}
    assert [pair for part in parts for pair in part] == [
        n for step in range(1, 13) for n in plain.update(step)
    ]


@pytest.mark.slow
def test_a_run_in_smaller_steps_reports_them_and_the_same_samples(tmp_path):
    config = tiny_config(tmp_path, *CUT, "evaluation.every_updates=2")
    run_training(config, tmp_path, 3, Progress())
    assert [window["samples"] for window in events(tmp_path, "steps")] == [[16]] * 12
    validator = jsonschema.Draft202012Validator(
        json.loads((ROOT / "schemas/metrics.schema.json").read_text())
    )
    for event in events(tmp_path):
        validator.validate(event)
    (start,), (end,) = (events(tmp_path, name) for name in ("run_start", "run_end"))
    assert start["planned_steps"] == end["attempted_updates"] == 12
    assert end["samples"] == 6 * 32
    seen = [(event["step"], event["samples_seen"]) for event in events(tmp_path, "evaluation")]
    assert seen == [(4, 64), (8, 128), (12, 192)]


@pytest.mark.slow
def test_passes_over_the_data_end_with_the_last_part_of_an_update(tmp_path):
    folders = []
    for cut in (1, 2):
        folder = tmp_path / str(cut)
        folder.mkdir()
        sets = [f"data.root={tmp_path / 'data'}", "train.updates=12", "train.pairs_per_update=32"]
        config = tiny_config(folder, *sets, f"recipe.batch_cut_into={cut}")
        run_training(config, folder, 3, Progress())
        folders.append({event["epoch"]: event["step"] for event in events(folder, "epoch")})
    whole, cut = folders
    assert whole
    assert cut == {epoch: 2 * step for epoch, step in whole.items()}


def test_a_shorter_schedule_has_its_rates_sooner_and_stays_at_its_lowest(tmp_path):
    sets = ["optimizer.warmup_updates=2", "train.pairs_per_update=64", "recipe.batch_cut_into=2"]
    whole = tiny_config(tmp_path, *sets, "train.updates=6")
    sooner = tiny_config(tmp_path, *sets, "train.updates=12", "recipe.schedule_updates=6")
    assert [build_rates(sooner).rate(step) for step in range(1, 13)] == [
        build_rates(whole).rate(step) for step in range(1, 13)
    ]
    lowest = {build_rates(sooner).rate(step) for step in range(12, 25)}
    assert lowest == {build_rates(whole).rate(12)}
    assert build_rates(sooner).rate(11) > lowest.pop()


def test_a_recipe_may_warm_up_in_fewer_updates(tmp_path):
    cut = ["train.updates=12", "train.pairs_per_update=64", "recipe.batch_cut_into=2"]
    declared = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=2")
    own = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=6", "recipe.warmup_updates=2")
    rates = [[build_rates(config).rate(step) for step in range(1, 25)] for config in (declared, own)]
    assert rates[0] == rates[1]
    without = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=6", "recipe.warmup_updates=0")
    assert build_rates(without).rate(1) > build_rates(without).rate(2) > 0


@pytest.mark.slow
def test_a_run_by_a_shorter_schedule_is_the_shorter_training_and_then_goes_on_at_its_lowest_rate(tmp_path):
    sets = ["train.pairs_per_update=32", "recipe.batch_cut_into=2"]
    runs = {"short": ["train.updates=4"], "long": ["train.updates=6", "recipe.schedule_updates=4"]}
    found = {}
    for name, of_run in runs.items():
        (tmp_path / name).mkdir()
        config = tiny_config(tmp_path, *sets, *of_run)
        run_training(config, tmp_path / name, 3, Progress())
        windows = events(tmp_path / name, "steps")
        found[name] = {
            key: [value for window in windows for value in window[key]]
            for key in ("learning_rate", "train_loss", "gradient_norm")
        }
    peak = 1e-3 / math.sqrt(2)
    lowest = 0.01 * peak
    rates = [peak / 4, peak / 2, 3 * peak / 4, peak, lowest + 0.99 * peak * 0.5 * (1 + math.cos(math.pi / 4))]
    assert found["long"]["learning_rate"][:5] == pytest.approx(rates)
    assert found["long"]["learning_rate"][7:] == pytest.approx([lowest] * 5)
    assert {key: values[:8] for key, values in found["long"].items()} == found["short"]
    effective = [events(tmp_path / name, "run_start")[0]["effective"] for name in runs]
    assert [read["learning_rate_schedule"] for read in effective] == [
        "lowest from update 4 of 4",
        "lowest from update 4 of 6",
    ]


def test_smaller_steps_have_the_rates_of_their_size(tmp_path):
    sets = ["train.updates=12", "optimizer.warmup_updates=2", "train.pairs_per_update=64"]
    plain, cut = tiny_config(tmp_path, *sets), tiny_config(tmp_path, *sets, "recipe.batch_cut_into=4")
    for update in (1, 2, 3, 12):
        assert build_rates(cut).rate(4 * update) == pytest.approx(build_rates(plain).rate(update) / 2)
    learner = Learner(cut, 3, ALONE)
    assert learner.optimizer.parts[0].weight_decay == pytest.approx(0.015)
    assert learner.ema.decay == pytest.approx(0.999**0.25)


def test_an_average_over_so_many_updates_keeps_that_pace_in_smaller_steps(tmp_path):
    one = tiny_config(tmp_path, "recipe.average_updates=2")
    cut = tiny_config(
        tmp_path, "recipe.average_updates=2", "train.pairs_per_update=64", "recipe.batch_cut_into=4"
    )
    whole, quarter = (Learner(config, 3, ALONE).ema.decay for config in (one, cut))
    assert whole == pytest.approx(math.exp(-1 / 2))
    assert quarter**4 == pytest.approx(whole)


@pytest.mark.slow
def test_a_run_resumed_in_smaller_steps_ends_in_the_same_bits(tmp_path, monkeypatch):
    sets = [*CUT, f"data.root={tmp_path / 'data'}", "train.checkpoint_every_updates=2"]
    for name in ("whole", "cut-off"):
        (tmp_path / name).mkdir()
    config = tiny_config(tmp_path, *sets)
    run_training(config, tmp_path / "whole", 3, Progress())
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step7")
    with pytest.raises(Diverged):
        run_training(config, tmp_path / "cut-off", 3, Progress())
    monkeypatch.delenv("SPEEDPROOF_TEST_FAULT")
    run_training(config, tmp_path / "cut-off", 3, Progress(), resume=True)
    assert events(tmp_path / "cut-off", "run_start")[0]["resumed_at_steps"] == [4]
    assert train_losses(tmp_path / "cut-off") == train_losses(tmp_path / "whole")
    expected = weights(tmp_path / "whole")
    assert all(torch.equal(found, expected[name]) for name, found in weights(tmp_path / "cut-off").items())


def test_a_batch_that_cannot_be_cut_is_refused(tmp_path):
    with pytest.raises(
        ConfigError,
        match=r"recipe\.batch_cut_into: got 3, expected a divisor of train\.pairs_per_update \(16\)",
    ):
        tiny_config(tmp_path, "recipe.batch_cut_into=3")
    text = r"batch_cut_into: got 4, expected at most 2: train\.pairs_per_update 32 .* 16 pairs per step"
    with pytest.raises(ConfigError, match=text):
        tiny_config(tmp_path, "train.pairs_per_update=32", "recipe.batch_cut_into=4")
