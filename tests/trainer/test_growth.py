"""Batches of another size: the same pairs in the same order, with the rates that go with it."""

import json
import math

import jsonschema
import pytest
import torch
from forked import python
from tiny import ROOT, events, tiny_config, tiny_file, train_losses, weights

from trainer.config.growth import Growth
from trainer.data.feed import Share, open_feed
from trainer.data.schedule import BatchSchedule
from trainer.data.splits import open_data
from trainer.errors import ConfigError, Diverged
from trainer.optimizer.learning_rate import learning_rate
from trainer.run.learner import Learner
from trainer.run.training import Progress, run_training
from trainer.world import World

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
# 4 updates of 16 pairs, 2 of 32, 1 of 64: 12 declared updates in 7 steps.
GROWING = ["recipe.batch_doubles_after=[4, 8]", "train.updates=12", "train.window_updates=1"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grown")
    run_training(tiny_config(folder, *GROWING, "train.checkpoint_every_updates=5"), folder, 3, Progress())
    return folder


# By torch's own guards, without its compiler, which takes minutes.
COMPILED_EAGERLY = """
import sys
from torch import nn
compile = nn.Module.compile
nn.Module.compile = lambda module, mode, **settings: compile(module, **settings, backend="eager")
from trainer.cli import main
from trainer.switches.compile_blocks import graphs_compiled
code = main(sys.argv[1:])
print(graphs_compiled(), "graphs")
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "compiled",
    [
        ["speed.compile=blocks", "data.tasks=[advection1d, darcy2d]"],
        ["speed.compile=model", "recipe.inverse_every=2", "recipe.priors_every=3", "train.updates=40"],
    ],
)
def test_every_size_of_batch_may_have_graphs_of_its_own(tmp_path, compiled):
    settings = [f"--set={text}" for text in (*GROWING, "train.rest=pad", *compiled)]
    arguments = ["train", "--config", tiny_file(tmp_path), "--out", tmp_path / "out", "--seed", "3"]
    done = python(["-c", COMPILED_EAGERLY, *arguments, *settings])
    assert done.returncode == 0, done.stderr
    assert events(tmp_path / "out", "run_end")
    assert int(done.stdout.split()[-2]) > 8  # where torch gives up by itself


def test_steps_take_more_and_more_declared_updates_together():
    growth = Growth(12, (4, 8))
    taken = [list(growth.parts(step)) for step in range(1, growth.steps + 1)]
    assert taken == [[1], [2], [3], [4], [5, 6], [7, 8], [9, 10, 11, 12]]
    assert [growth.factor(step) for step in (4, 5, 7)] == [1, 2, 4]
    assert growth.largest_factor == 4


def test_without_growth_a_step_is_an_update():
    growth = Growth(5)
    assert growth.steps == 5
    assert [list(growth.parts(step)) for step in (1, 5, 9)] == [[1], [5], [9]]
    assert [list(growth.completed(step)) for step in (1, 5)] == [[1], [5]]


def test_a_batch_can_start_as_a_part_of_the_declared_one():
    growth = Growth(6, (2,), cut_into=4)
    assert growth.steps == 8 + 8
    assert [growth.factor(step) for step in (1, 8, 9, 16)] == [0.25, 0.25, 0.5, 0.5]
    assert growth.largest_factor == 0.5
    assert [growth.position(step) for step in (1, 4, 8, 9, 16)] == [0.25, 1, 2, 2.5, 6]
    assert [step for step in range(1, 17) if growth.is_due(step, 2)] == [8, 12, 16]
    assert [list(growth.completed(step)) for step in range(1, 11)] == [
        [],
        [],
        [],
        [1],
        [],
        [],
        [],
        [2],
        [],
        [3],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("world_size", "micro_steps"), [(1, 1), (2, 2)])
def test_a_grown_batch_has_the_pairs_of_the_updates_that_it_replaces(world_size, micro_steps):
    plain = BatchSchedule(40, 8, 5, "a")  # passes of five updates, so that steps span the end of one
    grown = BatchSchedule(40, 8, 5, "a", growth=Growth(12, (4, 8)))
    for step in range(1, 8):
        replaced = [pair for update in grown.growth.parts(step) for pair in plain.update(update)]
        parts = [
            grown.micro_batch(step, micro_step, micro_steps, rank, world_size)
            for micro_step in range(micro_steps)
            for rank in range(world_size)
        ]
        assert {len(part) for part in parts} == {len(replaced) // (world_size * micro_steps)}
        assert [pair for part in parts for pair in part] == replaced


@pytest.mark.parametrize("doubled_after", [(), (4,)])
def test_the_parts_of_a_batch_have_its_pairs_in_their_order(doubled_after):
    plain = BatchSchedule(40, 8, 5, "a")
    cut = BatchSchedule(40, 8, 5, "a", growth=Growth(12, doubled_after, cut_into=4))
    pairs = [pair for step in range(1, cut.growth.steps + 1) for pair in cut.update(step)]
    assert pairs == [pair for update in range(1, 13) for pair in plain.update(update)]
    assert len(cut.update(1)) == 2


@pytest.mark.slow
def test_a_run_in_smaller_steps_reports_them_and_the_same_samples(tmp_path):
    config = tiny_config(
        tmp_path,
        "recipe.batch_cut_into=2",
        "train.pairs_per_update=32",
        "train.updates=6",
        "train.window_updates=1",
        "evaluation.every_updates=2",
    )
    run_training(config, tmp_path, 3, Progress())
    assert [window["samples"] for window in events(tmp_path, "steps")] == [[16]] * 12
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_passes_over_the_data_end_where_they_do_without_growth(grown, tmp_path):
    plain = tiny_config(tmp_path, f"data.root={grown / 'data'}", "train.updates=12")
    run_training(plain, tmp_path, 3, Progress())
    growth = Growth(12, (4, 8))
    ends = {event["epoch"]: event["step"] for event in events(tmp_path, "epoch")}
    assert ends
    for event in events(grown, "epoch"):
        assert ends.pop(event["epoch"]) in growth.completed(event["step"])
    assert not ends


@pytest.mark.slow
def test_the_learning_rate_grows_by_the_root_and_falls_along_the_same_cosine(tmp_path):
    plain, grown = (tiny_config(tmp_path, "train.updates=12", *sets) for sets in ([], GROWING))
    assert learning_rate(grown, 4) == learning_rate(plain, 4)
    assert learning_rate(grown, 6) == pytest.approx(math.sqrt(2) * learning_rate(plain, 8))
    assert learning_rate(grown, 7) == pytest.approx(2 * learning_rate(plain, 12))


def test_a_shorter_schedule_has_its_rates_sooner_and_stays_at_its_lowest(tmp_path):
    sets = ["optimizer.warmup_updates=2", "train.pairs_per_update=64", "recipe.batch_cut_into=2"]
    whole = tiny_config(tmp_path, *sets, "train.updates=6")
    sooner = tiny_config(tmp_path, *sets, "train.updates=12", "recipe.schedule_updates=6")
    assert [learning_rate(sooner, step) for step in range(1, 13)] == [
        learning_rate(whole, step) for step in range(1, 13)
    ]
    lowest = {learning_rate(sooner, step) for step in range(12, 25)}
    assert lowest == {learning_rate(whole, 12)}
    assert learning_rate(sooner, 11) > lowest.pop()


def test_a_recipe_may_warm_up_in_fewer_updates(tmp_path):
    cut = ["train.updates=12", "train.pairs_per_update=64", "recipe.batch_cut_into=2"]
    declared = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=2")
    own = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=6", "recipe.warmup_updates=2")
    rates = [[learning_rate(config, step) for step in range(1, 25)] for config in (declared, own)]
    assert rates[0] == rates[1]
    without = tiny_config(tmp_path, *cut, "optimizer.warmup_updates=6", "recipe.warmup_updates=0")
    assert learning_rate(without, 1) > learning_rate(without, 2) > 0


@pytest.mark.slow
def test_a_run_by_a_shorter_schedule_is_the_shorter_training_and_then_goes_on_at_its_lowest_rate(tmp_path):
    sets = ["train.pairs_per_update=32", "recipe.batch_cut_into=2", "optimizer.final_fraction=0.5"]
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
    peak, lowest = 1e-3 / math.sqrt(2), 0.5e-3 / math.sqrt(2)
    rates = [peak / 4, peak / 2, 3 * peak / 4, peak, lowest + peak / 2 * 0.5 * (1 + math.cos(math.pi / 4))]
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
        assert learning_rate(cut, 4 * update) == pytest.approx(learning_rate(plain, update) / 2)
    learner = Learner(cut, 3, ALONE)
    assert learner.optimizer.parts[0].weight_decay == pytest.approx(0.015)
    assert learner.ema.decay == pytest.approx(0.999**0.25)


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
        seen[config.growth.factor(step)] = (of_muon, adamw.weight_decay, learner.ema.decay)
    assert seen[1] == (0.03, 0.03, 0.999)
    assert seen[4] == pytest.approx((0.06, 0.06, 0.999**4))


def test_an_average_over_so_many_updates_keeps_that_pace_in_smaller_steps(tmp_path):
    one = tiny_config(tmp_path, "recipe.average_updates=2")
    cut = tiny_config(
        tmp_path, "recipe.average_updates=2", "train.pairs_per_update=64", "recipe.batch_cut_into=4"
    )
    whole, quarter = (Learner(config, 3, ALONE).ema.decay for config in (one, cut))
    assert whole == pytest.approx(math.exp(-1 / 2))
    assert quarter**4 == pytest.approx(whole)


def test_an_average_reads_back_over_as_many_updates_after_the_batch_grew(tmp_path):
    learner = Learner(tiny_config(tmp_path, *GROWING, "recipe.average_updates=2"), 3, ALONE)
    for step in (1, 7):
        learner.follow_growth(step)
        assert learner.effective()["ema"].endswith(", evaluated, over 2 updates")
    assert learner.ema.decay == pytest.approx(math.exp(-4 / 2))


@pytest.mark.slow
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


def test_a_batch_that_cannot_be_cut_is_refused(tmp_path):
    with pytest.raises(
        ConfigError,
        match=r"recipe\.batch_cut_into: got 3, expected a divisor of train\.pairs_per_update \(16\)",
    ):
        tiny_config(tmp_path, "recipe.batch_cut_into=3")
    text = r"got 4, which leaves 8 of train\.pairs_per_update \(32\) to a step, expected to leave 16 or more"
    with pytest.raises(ConfigError, match=text):
        tiny_config(tmp_path, "train.pairs_per_update=32", "recipe.batch_cut_into=4")
