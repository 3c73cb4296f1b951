"""The parts of the whole-step CUDA graph that need no GPU: fixed inputs, tables, and undone warm-ups."""

from dataclasses import replace

import pytest
import torch
from tiny import tiny_config, tiny_file

from trainer.config import load_config
from trainer.config.speed_rules import require_device_fits
from trainer.counter_random import uniform
from trainer.data.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.optimizer.learning_rate import learning_rate
from trainer.run.learner import Learner
from trainer.run.static_update import StaticUpdate, rate_table
from trainer.run.undo import undone
from trainer.run.world import World
from trainer.switches.cuda_graph import warm_up

EQUAL = {"rtol": 0, "atol": 0}
ALONE = World(rank=0, size=1, device=torch.device("cpu"))
CUT = ["recipe.batch_cut_into=2", "train.pairs_per_update=32"]
GRAPHED = [
    "speed.data_path=resident",
    "optimizer.matrices=muon",
    "speed.muon=batched",
    "speed.accumulation_steps=2",
    "train.updates=10",
]


def learner_and_feed(folder, *overrides: str):
    config = tiny_config(folder, *GRAPHED, *overrides)
    data = open_data(config)
    share = Share(data.train.schedule(config.train.pairs_per_update, 3, growth=config.growth), 0, 1, 2)
    feed = open_feed(data.train, share, config.growth.steps, config.speed, ALONE.device)
    return Learner(config, 3, ALONE), feed


@pytest.mark.parametrize(("compiled", "updates"), [("off", 1), ("blocks", 3), ("model", 3)])
def test_a_warm_up_goes_through_each_phase_and_trains_nothing(tmp_path, monkeypatch, compiled, updates):
    learner, feed = learner_and_feed(tmp_path, "recipe.inverse_every=2")
    learner.config = replace(learner.config, speed=replace(learner.config.speed, compile=compiled))
    run, ran = StaticUpdate.run, []
    monkeypatch.setattr(StaticUpdate, "run", lambda static, phase: (ran.append(phase), run(static, phase)))
    before = {name: weight.clone() for name, weight in learner.model.state_dict().items()}
    phases = [learner.choices.phase(step) for step in (1, 2)]
    warm_up(StaticUpdate(learner, feed), phases)
    assert len(set(phases)) == 2
    assert ran == phases * updates
    torch.testing.assert_close(learner.model.state_dict(), before, **EQUAL)


@pytest.mark.parametrize("overrides", [["optimizer.clip_norm=1.0"], ["optimizer.clip_norm=null"], CUT])
def test_an_update_on_fixed_inputs_is_the_eager_update(tmp_path, overrides, monkeypatch):
    eager, feed = learner_and_feed(tmp_path, *overrides)
    fixed, _ = learner_and_feed(tmp_path, *overrides)
    # A number is rounded elsewhere, and Muon's bf16 may make 1% of the way of a matrix out of its last bit.
    set_rate = eager.optimizer.set_learning_rate
    monkeypatch.setattr(eager.optimizer, "set_learning_rate", lambda rate: set_rate(torch.tensor(rate)))
    static = StaticUpdate(fixed, feed)
    for step in range(1, 6):
        record = eager.update(step, feed)
        static.put(step)
        static.run(fixed.choices.phase(step))
        torch.testing.assert_close(static.loss(step), record.loss, **EQUAL)
        torch.testing.assert_close(static.norm(step), record.gradient_norm, **EQUAL)
    torch.testing.assert_close(fixed.model.state_dict(), eager.model.state_dict(), **EQUAL)
    torch.testing.assert_close(fixed.ema.state_dict(), eager.ema.state_dict(), **EQUAL)


def test_the_losses_of_a_window_are_kept_until_it_ends(tmp_path):
    learner, feed = learner_and_feed(tmp_path, "train.window_updates=3")
    static, seen = StaticUpdate(learner, feed), []
    for step in (1, 2, 3):
        static.put(step)
        static.run(learner.choices.phase(step))
        seen.append(static.loss(step).item())
    assert [static.loss(step).item() for step in (1, 2, 3)] == seen
    assert len(set(seen)) == 3


def test_a_step_that_is_a_tensor_draws_the_same_numbers():
    pairs = torch.arange(50)
    assert torch.equal(uniform(2, 7, torch.tensor(11), pairs, 8), uniform(2, 7, 11, pairs, 8))


@pytest.mark.parametrize("sooner", [[], ["recipe.schedule_updates=4"]])
def test_the_table_has_the_learning_rate_of_every_step(tmp_path, sooner):
    config = tiny_config(tmp_path, *CUT, *sooner)
    table = rate_table(config)
    assert len(table) == 2 * config.train.updates + 1
    for step in range(1, 2 * config.train.updates + 1):
        expected = learning_rate(config, step)
        assert table[step].item() == pytest.approx(expected)


@pytest.mark.parametrize("steps_before", [0, 2])
def test_undone_steps_leave_no_trace(tmp_path, steps_before):
    plain, feed = learner_and_feed(tmp_path)
    warmed, _ = learner_and_feed(tmp_path)
    for step in range(1, steps_before + 1):
        plain.update(step, feed)
        warmed.update(step, feed)
    addresses = [p.data_ptr() for p in warmed.model.parameters()]
    with undone(warmed):
        for _ in range(3):
            warmed.update(9, feed)
    assert [p.data_ptr() for p in warmed.model.parameters()] == addresses
    for step in range(steps_before + 1, steps_before + 4):
        assert torch.equal(plain.update(step, feed).loss, warmed.update(step, feed).loss)
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(warmed.model.state_dict()[name], weight)
    for name, average in plain.ema.state_dict().items():
        assert torch.equal(warmed.ema.state_dict()[name], average)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["speed.data_path=loader"], 'speed.data_path: got "loader"'),
        (["speed.precision=fp16"], 'speed.precision: got "fp16"'),
        (["speed.muon=loop"], 'speed.muon: got "loop"'),
        (["recipe.batch_doubles_after=[4]"], "recipe.batch_doubles_after: got [4]"),
        (["speed.compile=blocks", "speed.compile_mode=reduce-overhead"], 'speed.compile_mode: got "reduce-o'),
    ],
)
def test_what_a_graph_cannot_hold_is_refused(tmp_path, overrides, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(tiny_file(tmp_path), [*GRAPHED, "speed.cuda_graph=true", *overrides])
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("device", "world_size", "overrides", "expected"),
    [
        ("cpu", 1, [], "speed.cuda_graph: got true, but there is no GPU"),
        ("cuda", 2, [], 'speed.wrapper: got "ddp", but a CUDA graph over 2 ranks'),
        ("cuda", 2, ["speed.wrapper=flat"], None),
        ("cuda", 1, [], None),
    ],
)
def test_where_a_graph_cannot_run_it_is_refused(tmp_path, device, world_size, overrides, expected):
    config = tiny_config(tmp_path, *GRAPHED, "speed.cuda_graph=true", *overrides)
    if expected is None:
        require_device_fits(config, device, world_size)
        return
    with pytest.raises(ConfigError) as caught:
        require_device_fits(config, device, world_size)
    assert expected in str(caught.value)
