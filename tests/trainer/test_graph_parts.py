"""The parts of the whole-step CUDA graph that need no GPU: fixed inputs, tables, and rolled_back warm-ups."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from graphs_on_cpu import replay_by_calls
from tiny import events, gradient_norms, tiny_config, tiny_file, train_losses
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.build import build_rates
from trainer.config import load_config
from trainer.config.speed_rules import require_device_fits
from trainer.counter_random import uniform
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.errors import ConfigError, Diverged
from trainer.optimizer import scaled_step
from trainer.optimizer.adamw import AdamW
from trainer.optimizer.ema import MISSING
from trainer.optimizer.skipping import add_unless, lerp_unless
from trainer.process.world import World
from trainer.run.checkpoint.files import read_checkpoint
from trainer.run.step.cuda_graph import warm_up
from trainer.run.step.learner import Learner
from trainer.run.step.rollback import rolled_back
from trainer.run.step.static_update import StaticUpdate, rate_table
from trainer.run.training import Progress, run_training

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


# As of a graph, whose optimizer skips on the device; of AdamW's forms a CPU takes the fused one then.
FP16 = ["speed.precision=fp16", "speed.fused_adamw=true"]
FP16_GRAPH = [*FP16, "speed.cuda_graph=true"]


def learner_and_feed(folder, *overrides: str):
    config = tiny_config(folder, *GRAPHED, *overrides)
    data = open_data(config)
    share = Share(
        data.train.schedule(config.train.pairs_per_update, 3, cut_into=config.cut.cut_into), 0, 1, 2
    )
    feed = open_feed(data.train, share, config.cut.steps, config.speed, ALONE.device)
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


class Reads(TorchDispatchMode):
    """Counts the numbers that the host reads while it is open."""

    count = 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*arguments, **(named or {}))


def set_scale(learner: Learner, scale: float, growth: int = 0) -> None:
    """growth: updates without an overflow so far; after 2000 the scale doubles."""
    state = learner.scaled_step.state_dict()
    saved = {**state["scaler"], "scale": scale, "_growth_tracker": growth}
    learner.scaled_step.load_state_dict({**state, "scaler": saved})


def everything(learner: Learner) -> dict[str, dict]:
    """What a step changes, copied."""
    return deepcopy(learner.state_dict())


@pytest.mark.parametrize("overrides", [["optimizer.clip_norm=1.0"], ["optimizer.clip_norm=null"], CUT])
@pytest.mark.parametrize(("scale", "growth"), [(2.0**14, 0), (2.0**14, 1998), (2.0**20, 0)])
def test_an_update_that_skips_on_the_device_is_the_one_that_asks_it(
    tmp_path, overrides, scale, growth, monkeypatch
):
    eager, feed = learner_and_feed(tmp_path, *FP16, *overrides)
    fixed, _ = learner_and_feed(tmp_path, *FP16_GRAPH, *overrides)
    set_rate = eager.optimizer.set_learning_rate
    monkeypatch.setattr(eager.optimizer, "set_learning_rate", lambda rate: set_rate(torch.tensor(rate)))
    static = StaticUpdate(fixed, feed)
    warm_up(static, [fixed.choices.phase(1)])
    for learner in (eager, fixed):
        set_scale(learner, scale, growth)
    seen = []
    for step in range(1, 6):
        record = eager.update(step, feed)
        static.put(step)
        static.run(fixed.choices.phase(step))
        seen.append(bool(static.skipped(step)))
        assert seen[-1] is record.skipped
        torch.testing.assert_close(static.loss(step), record.loss, **EQUAL)
        torch.testing.assert_close(static.norm(step), record.gradient_norm, **EQUAL, equal_nan=True)
    skipped = sum(seen)
    assert 0 < skipped < 5 if scale > 2**14 else skipped == 0
    assert fixed.scaled_step.state_dict() == eager.scaled_step.state_dict()
    assert fixed.scaled_step.skipped_updates == skipped
    assert fixed.scaled_step.scaler.get_scale() == scale * (2 if growth else 1) / 2**skipped
    for part in ("model", "ema", "optimizer"):
        torch.testing.assert_close(fixed.state_dict()[part], eager.state_dict()[part], **EQUAL)


@pytest.mark.parametrize("foreach_ema", ["true", "false"])
@pytest.mark.parametrize("steps_before", [0, 2])
def test_a_skipped_update_changes_the_scale_alone(tmp_path, steps_before, foreach_ema):
    learner, feed = learner_and_feed(tmp_path, *FP16_GRAPH, f"speed.foreach_ema={foreach_ema}")
    static = StaticUpdate(learner, feed)
    warm_up(static, [learner.choices.phase(1)])
    for step in range(1, steps_before + 1):
        static.put(step)
        static.run(learner.choices.phase(step))
    set_scale(learner, 2.0**40, growth=7)
    before = everything(learner)
    static.put(steps_before + 1)
    static.run(learner.choices.phase(steps_before + 1))
    assert not static.norm(steps_before + 1).isfinite()
    after = everything(learner)
    for part in ("model", "ema", "optimizer"):
        torch.testing.assert_close(after[part], before[part], **EQUAL)
    found = after["scaled_step"]
    assert (found["scaler"]["scale"], found["scaler"]["_growth_tracker"]) == (2.0**39, 0)
    assert found["skipped_updates"] == 1


@pytest.mark.parametrize("overflowed", [True, False])
def test_a_tensor_skips_the_step_of_the_fused_adamw(tmp_path, overflowed):
    config = tiny_config(tmp_path).optimizer
    torch.manual_seed(0)
    weights = {"matrix": torch.randn(3, 2), "bias": torch.randn(2)}
    parts = [AdamW(weights, config, fused=True, device=ALONE.device)]
    parts.append(AdamW({n: w.clone() for n, w in weights.items()}, config, fused=True, device=ALONE.device))
    for step in range(3):
        for part in parts:
            for weight in part.parameters.values():
                weight.grad = torch.ones_like(weight) * (step + 1)
        parts[0].step()
        parts[1].step(torch.zeros(()))
    if overflowed:
        for weight in parts[1].parameters.values():
            weight.grad = torch.full_like(weight, float("nan"))
        parts[1].step(torch.ones(()))
    torch.testing.assert_close(parts[1].parameters, parts[0].parameters, **EQUAL)
    torch.testing.assert_close(parts[1].state(), parts[0].state(), **EQUAL)


def test_a_tensor_skips_a_lerp_and_an_addition():
    tensors, ends = [torch.tensor([1.0, -0.0, 2.0])], [torch.tensor([float("nan"), float("inf"), 4.0])]
    for change in (lerp_unless, lambda *arguments: add_unless(*arguments[:-1])):
        change(torch.ones(()), tensors, ends, 0.25)
        assert tensors[0].view(torch.int32).equal(torch.tensor([1.0, -0.0, 2.0]).view(torch.int32))
    finite = [torch.tensor([5.0, 1.0, 4.0])]
    lerp_unless(torch.zeros(()), tensors, finite, 0.25)
    assert tensors[0].tolist() == [2, 0.25, 2.5]
    add_unless(torch.zeros(()), tensors, finite)
    assert tensors[0].tolist() == [7, 1.25, 6.5]


def test_an_update_that_skips_on_the_device_asks_for_no_number(tmp_path):
    learner, feed = learner_and_feed(tmp_path, *FP16_GRAPH)
    static = StaticUpdate(learner, feed)
    warm_up(static, [learner.choices.phase(1)])
    with Reads() as reads:
        static.run(learner.choices.phase(1))
    assert reads.count == 0
    eager, _ = learner_and_feed(tmp_path, *FP16)
    with Reads() as reads:
        eager.update(1, feed)
    assert reads.count > 0


@pytest.mark.parametrize("skips", [0, 2])
def test_a_warm_up_leaves_the_scale_where_a_graph_looks_for_it(tmp_path, skips):
    learner, feed = learner_and_feed(tmp_path, *FP16_GRAPH)
    static = StaticUpdate(learner, feed)
    warm_up(static, [learner.choices.phase(1)])
    set_scale(learner, 2.0**40 if skips else 2.0**16, growth=5)
    for step in range(1, skips + 1):
        static.put(step)
        static.run(learner.choices.phase(step))
    held = [learner.scaled_step.scaler._scale, learner.scaled_step._skipped_updates]
    addresses, before = [tensor.data_ptr() for tensor in held], learner.scaled_step.state_dict()
    warm_up(static, [learner.choices.phase(1)])
    assert learner.scaled_step.state_dict() == before
    assert before["skipped_updates"] == skips
    held = [learner.scaled_step.scaler._scale, learner.scaled_step._skipped_updates]
    assert [tensor.data_ptr() for tensor in held] == addresses


@pytest.mark.slow
def test_skips_of_a_graph_reach_the_metrics_and_are_survived(tmp_path, monkeypatch):
    replay_by_calls(monkeypatch.setattr)
    monkeypatch.setattr(
        scaled_step, "loss_scaler", lambda *_: torch.amp.GradScaler("cpu", init_scale=2.0**20)
    )
    overrides = [*GRAPHED, *FP16_GRAPH, "train.updates=12", "train.window_updates=4"]
    config = tiny_config(tmp_path, *overrides)
    run_training(config, tmp_path, 3, Progress())
    (start,), windows = events(tmp_path, "run_start"), events(tmp_path, "steps")
    assert start["effective"]["cuda_graph"] is True
    assert start["effective"]["precision"] == "float16"
    overflowed = [norm is None for norm in gradient_norms(tmp_path)]
    skipped = sum(overflowed)
    assert 0 < skipped < 8
    counts = [sum(overflowed[first : first + 4]) for first in (0, 4, 8)]
    assert [window["skipped_updates"] for window in windows] == counts
    assert events(tmp_path, "run_end")[0]["skipped_updates"] == skipped
    assert train_losses(tmp_path)[-1] < train_losses(tmp_path)[0]
    state = read_checkpoint(tmp_path / "checkpoint.pt")
    assert state["ema"][MISSING].item() == pytest.approx(config.optimizer.ema_decay ** (12 - skipped))
    assert state["scaled_step"]["scaler"]["scale"] == 2.0 ** (20 - skipped)


@pytest.mark.slow
def test_a_graph_reports_its_updates_as_eager_ones_are(tmp_path, monkeypatch):
    replay_by_calls(monkeypatch.setattr)
    told = {}
    for graph in ("false", "true"):
        folder = tmp_path / graph
        speed = [f"speed.cuda_graph={graph}", "speed.fused_adamw=true"]  # the form that a CPU can
        config = tiny_config(tmp_path, *GRAPHED, *CUT, *speed, "train.window_updates=4")
        run_training(config, folder, 3, Progress())
        told[graph] = events(folder, "steps")
    assert len(told["true"]) == len(told["false"]) > 1
    for captured, eager in zip(told["true"], told["false"], strict=True):
        for name in ("first_step", "samples", "learning_rate"):
            assert captured[name] == eager[name]
        for name in ("train_loss", "gradient_norm"):
            assert captured[name] == pytest.approx(eager[name], rel=1e-2)
        assert captured.keys() == eager.keys()
        assert all(seconds > 0 for seconds in captured["data_wait_seconds"])


@pytest.mark.slow
def test_a_fault_strikes_a_step_of_a_graph_and_no_warm_up(tmp_path, monkeypatch):
    replay_by_calls(monkeypatch.setattr)
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "nan@rank0@step3")
    speed = ["speed.cuda_graph=true", "speed.fused_adamw=true"]
    config = tiny_config(tmp_path, *GRAPHED, *speed, "train.window_updates=5")
    with pytest.raises(Diverged, match="the training loss of step 3 is nan"):
        run_training(config, tmp_path, 3, Progress())
    assert len(train_losses(tmp_path)) == 2
    monkeypatch.setenv("SPEEDPROOF_TEST_FAULT", "crash@rank0@step1")
    with pytest.raises(RuntimeError, match="simulated by SPEEDPROOF_TEST_FAULT"):
        run_training(config, tmp_path / "crash", 3, Progress())
    assert events(tmp_path / "crash", "run_start")


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
    table = rate_table(build_rates(config))
    assert len(table) == 2 * config.train.updates + 1
    for step in range(1, 2 * config.train.updates + 1):
        expected = build_rates(config).rate(step)
        assert table[step].item() == pytest.approx(expected)


@pytest.mark.parametrize("steps_before", [0, 2])
def test_undone_steps_leave_no_trace(tmp_path, steps_before):
    plain, feed = learner_and_feed(tmp_path)
    warmed, _ = learner_and_feed(tmp_path)
    for step in range(1, steps_before + 1):
        plain.update(step, feed)
        warmed.update(step, feed)
    addresses = [p.data_ptr() for p in warmed.model.parameters()]
    with rolled_back(warmed):
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
        (["speed.data_path=loader"], 'speed.data_path: got "loader", expected resident'),
        (["speed.precision=fp16", "speed.fused_adamw=false"], "speed.fused_adamw: got false, expected true"),
        (["speed.muon=loop"], 'speed.muon: got "loop", expected batched or sharded'),
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
        ("cuda", 2, [], 'speed.wrapper: got "ddp", expected flat: a CUDA graph over 2 ranks'),
        ("cuda", 2, ["speed.wrapper=flat"], None),
        ("cuda", 1, [], None),
    ],
)
def test_where_a_graph_cannot_run_it_is_refused(tmp_path, device, world_size, overrides, expected):
    config = tiny_config(tmp_path, *GRAPHED, "speed.cuda_graph=true", *overrides)
    if expected is None:
        require_device_fits(config.speed, device, world_size)
        return
    with pytest.raises(ConfigError) as caught:
        require_device_fits(config.speed, device, world_size)
    assert expected in str(caught.value)
