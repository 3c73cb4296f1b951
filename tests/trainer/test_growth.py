"""A batch that grows: the same pairs in the same order in fewer steps, with the rates that go with it."""

import json
import math

import jsonschema
import pytest
import torch
from tiny import ROOT, events, tiny_config, train_losses, weights

from trainer.config.growth import Growth
from trainer.data.feed import Share, open_feed
from trainer.data.schedule import BatchSchedule
from trainer.data.splits import open_data
from trainer.errors import ConfigError, Diverged
from trainer.optimizer.learning_rate import learning_rate
from trainer.run.learner import Learner
from trainer.run.training import Progress, run_training
from trainer.run.world import World

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
# 4 updates of 16 pairs, 2 of 32, 1 of 64: 12 declared updates in 7 steps.
GROWING = ["recipe.batch_doubles_after=[4, 8]", "train.updates=12", "train.window_updates=1"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grown")
    run_training(tiny_config(folder, *GROWING, "train.checkpoint_every_updates=5"), folder, 3, Progress())
    return folder


def test_steps_take_more_and_more_declared_updates_together():
    growth = Growth(12, (4, 8))
    taken = [list(growth.taken_together(step)) for step in range(1, growth.steps + 1)]
    assert taken == [[1], [2], [3], [4], [5, 6], [7, 8], [9, 10, 11, 12]]
    assert [growth.factor(step) for step in (4, 5, 7)] == [1, 2, 4]


def test_without_growth_a_step_is_an_update():
    growth = Growth(5)
    assert growth.steps == 5
    assert [list(growth.taken_together(step)) for step in (1, 5, 9)] == [[1], [5], [9]]


@pytest.mark.parametrize(("world_size", "micro_steps"), [(1, 1), (2, 2)])
def test_a_grown_batch_has_the_pairs_of_the_updates_that_it_replaces(world_size, micro_steps):
    plain = BatchSchedule(40, 8, 5, "a")  # passes of five updates, so that steps span the end of one
    grown = BatchSchedule(40, 8, 5, "a", growth=Growth(12, (4, 8)))
    for step in range(1, 8):
        replaced = [pair for update in grown.growth.taken_together(step) for pair in plain.update(update)]
        parts = [
            grown.micro_batch(step, micro_step, micro_steps, rank, world_size)
            for micro_step in range(micro_steps)
            for rank in range(world_size)
        ]
        assert {len(part) for part in parts} == {len(replaced) // (world_size * micro_steps)}
        assert [pair for part in parts for pair in part] == replaced


def test_the_run_reports_its_steps_and_all_its_samples(grown):
    validator = jsonschema.Draft202012Validator(
        json.loads((ROOT / "schemas/metrics.schema.json").read_text())
    )
    for event in events(grown):
        validator.validate(event)
    assert [window["samples"] for window in events(grown, "steps")] == [[16]] * 4 + [[32]] * 2 + [[64]]
    (start,), (end,), (evaluation,) = (events(grown, name) for name in ("run_start", "run_end", "evaluation"))
    assert start["planned_steps"] == end["attempted_updates"] == evaluation["step"] == 7
    assert end["samples"] == evaluation["samples_seen"] == 12 * 16


def test_passes_over_the_data_end_where_they_do_without_growth(grown, tmp_path):
    plain = tiny_config(tmp_path, f"data.root={grown / 'data'}", "train.updates=12")
    run_training(plain, tmp_path, 3, Progress())
    growth = Growth(12, (4, 8))
    ends = {event["epoch"]: event["step"] for event in events(tmp_path, "epoch")}
    assert ends
    for event in events(grown, "epoch"):
        assert ends.pop(event["epoch"]) in growth.taken_together(event["step"])
    assert not ends


def test_the_learning_rate_grows_by_the_root_and_falls_along_the_same_cosine(tmp_path):
    plain, grown = (tiny_config(tmp_path, "train.updates=12", *sets) for sets in ([], GROWING))
    assert learning_rate(grown, 4) == learning_rate(plain, 4)
    assert learning_rate(grown, 6) == pytest.approx(math.sqrt(2) * learning_rate(plain, 8))
    assert learning_rate(grown, 7) == pytest.approx(2 * learning_rate(plain, 12))


@pytest.mark.parametrize("muon", ["loop", "batched"])
def test_weight_decay_and_average_keep_their_pace_per_pair(tmp_path, muon):
    config = tiny_config(
        tmp_path, *GROWING, "optimizer.matrices=muon", f"speed.muon={muon}", "speed.data_path=resident"
    )
    train = open_data(config).train
    share = Share(train.schedule(16, 3, growth=config.growth), 0, 1, 1)
    learner, feed = Learner(config, 3, ALONE), open_feed(train, share, 7, config.speed, ALONE.device)
    seen = {}
    for step in range(1, 8):
        assert learner.update(step, feed).samples == 16 * config.growth.factor(step)
        adamw, matrices = learner.optimizer.parts
        of_muon = (
            matrices.weight_decay if muon == "batched" else matrices.optimizer.param_groups[0]["weight_decay"]
        )
        of_adamw = [group["weight_decay"] for group in adamw.optimizer.param_groups]
        seen[config.growth.factor(step)] = (of_muon, *of_adamw, learner.ema.decay)
    assert seen[1] == (0.03, 0.03, 0.0, 0.999)
    assert seen[4] == pytest.approx((0.06, 0.06, 0.0, 0.999**4))


def test_a_run_resumed_after_the_batch_grew_ends_in_the_same_bits(grown, tmp_path, monkeypatch):
    config = tiny_config(
        tmp_path, f"data.root={grown / 'data'}", *GROWING, "train.checkpoint_every_updates=5"
    )
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step7")
    with pytest.raises(Diverged):
        run_training(config, tmp_path, 3, Progress())
    monkeypatch.delenv("SPEEDPROOF_TEST_FAULT")
    run_training(config, tmp_path, 3, Progress(), resume=True)
    assert events(tmp_path, "run_start")[0]["resumed_at_steps"] == [5]
    assert train_losses(tmp_path) == train_losses(grown)
    assert all(torch.equal(weight, weights(tmp_path)[name]) for name, weight in weights(grown).items())


@pytest.mark.parametrize("after", ["[1]", "[2]", "[12]", "[8, 4]", "[5]", "[4, 6]"])
def test_a_schedule_that_does_not_come_out_even_is_refused(tmp_path, after):
    with pytest.raises(ConfigError, match=r"recipe\.batch_doubles_after: got \["):
        tiny_config(tmp_path, "train.updates=12", f"recipe.batch_doubles_after={after}")
