"""What ours is compared with in speed trains the same, without the libraries of the rivals."""

import json

import numpy as np
import pytest
import torch
from tiny import tiny_config

from benchmarks.rivals import adamw
from benchmarks.rivals.adamw import make_optimizer
from benchmarks.rivals.record import Stopwatch, write_result
from benchmarks.rivals.workload import SEED, Workload
from trainer.build import build_rates
from trainer.config import Config
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.process.world import World
from trainer.run.record.window import StepRecord
from trainer.run.step.learner import Learner
from trainer.switches.model import hoist_fixed_grid

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
RESIDENT = ("speed.data_path=resident", "speed.accumulation_steps=2", "data.tasks=[advection1d, darcy2d]")
# Decoded at some points alone, in an order of the step's own; the grids' places are embedded once for all.
CHOSEN = ("recipe.query_points=8", "recipe.query_strategy=lattice", "speed.hoist_fixed_grid=true")
SAME = {"rtol": 1e-5, "atol": 1e-6}


def workload(config: Config, rank: int = 0, ranks: int = 1) -> Workload:
    return Workload(config, rank, ranks, ALONE.device)


def trained_by_ours(config: Config, updates: int) -> tuple[Learner, list[StepRecord]]:
    learner, train = Learner(config, SEED, ALONE), open_data(config).train
    share = Share(train.schedule(config.train.pairs_per_update, SEED), 0, 1, config.speed.accumulation_steps)
    feed = open_feed(train, share, config.train.updates, config.speed, ALONE.device)
    return learner, [learner.update(update, feed) for update in range(1, updates + 1)]


def train(rival: Workload, config: Config, stopwatch: Stopwatch | None = None) -> list[float]:
    """As the rivals do, by plain torch; return the loss of each update."""
    optimizer, schedule = make_optimizer(rival.model.parameters(), config)
    micro_steps, losses = config.speed.accumulation_steps, []
    for update in range(1, config.train.updates + 1):
        losses.append(0.0)
        for micro_step in range(micro_steps):
            loss = rival(update, micro_step) / micro_steps
            loss.backward()
            losses[-1] += loss.item()
        if config.optimizer.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(rival.model.parameters(), config.optimizer.clip_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        if stopwatch:
            stopwatch.after(update)
    return losses


@pytest.mark.parametrize("done", [0, 3])
def test_a_rival_has_our_loss_and_gradients_for_the_same_weights(tmp_path, done):
    config = tiny_config(tmp_path, *RESIDENT, *CHOSEN, "optimizer.clip_norm=1e9")  # a norm that nothing clips
    before, _ = trained_by_ours(config, done)
    _, records = trained_by_ours(config, done + 1)
    rival = workload(config)
    rival.model.load_state_dict(before.model.state_dict())
    shared = hoist_fixed_grid.read_back(rival.objective, config.speed, torch.float32)
    assert shared == {"hoisted_tasks": 2}
    losses = [rival(done + 1, micro_step) for micro_step in range(2)]
    torch.stack(losses).mean().backward()
    gradients = [weight.grad for weight in rival.model.parameters()]
    torch.testing.assert_close(torch.stack(losses).mean().detach(), records[-1].loss, **SAME)
    torch.testing.assert_close(torch.nn.utils.get_total_norm(gradients), records[-1].gradient_norm, **SAME)


def test_a_rival_starts_from_our_weights(tmp_path):
    config = tiny_config(tmp_path, *RESIDENT)
    ours, _ = trained_by_ours(config, 0)
    torch.testing.assert_close(workload(config).model.state_dict(), ours.model.state_dict(), rtol=0, atol=0)


def test_the_ranks_of_a_rival_share_our_pairs(tmp_path):
    config = tiny_config(tmp_path, *RESIDENT, *CHOSEN)
    _, (ours,) = trained_by_ours(config, 1)
    parts = [workload(config, rank, 2)(1, micro_step) for rank in range(2) for micro_step in range(2)]
    torch.testing.assert_close(torch.stack(parts).mean().detach(), ours.loss, **SAME)


def test_a_rival_takes_our_steps_where_all_of_ours_are_adamws(tmp_path):
    # Ours decays matrices alone.
    config = tiny_config(tmp_path, *RESIDENT, "optimizer.weight_decay=0")
    _, records = trained_by_ours(config, config.train.updates)
    ours = [step.loss.item() for step in records]
    np.testing.assert_allclose(train(workload(config), config), ours, rtol=1e-3)


def test_a_rivals_rate_warms_up_and_falls_as_ours(tmp_path):
    muon = tiny_config(
        tmp_path, "optimizer.matrices=muon", "optimizer.learning_rate=5e-3", "train.updates=20"
    )
    optimizer, schedule = make_optimizer([torch.nn.Parameter(torch.zeros(2))], muon)
    rates = []
    for _ in range(muon.train.updates):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    ours = [build_rates(muon).rate(update) for update in range(1, muon.train.updates + 1)]
    np.testing.assert_allclose(rates, np.array(ours) * adamw.LEARNING_RATE / 5e-3)
    assert max(rates) == adamw.LEARNING_RATE
    assert all(
        isinstance(rate, float) for rate in rates
    )  # a tensor on the device might have to be waited for


def test_a_rivals_record_has_each_timed_update_and_the_losses_of_the_first_and_last(tmp_path):
    config, rival = tiny_config(tmp_path, *RESIDENT), workload(tiny_config(tmp_path, *RESIDENT))
    stopwatch = Stopwatch(config.train.updates)
    losses = train(rival, config, stopwatch)
    out = tmp_path / "new/numpy.json"
    write_result(out, "numpy", "abc", config, stopwatch, 1, rival.losses())  # as if it were a rival
    written = json.loads(out.read_text())
    np.testing.assert_allclose(
        [written["first_loss"], written["last_loss"]], [losses[0], losses[-1]], rtol=1e-6
    )
    assert len(written["milliseconds"]) == 4  # of seven updates three warm up
    assert np.mean(written["milliseconds"]) == pytest.approx(written["seconds_per_update"] * 1e3, rel=0.01)
    assert written["pairs_per_second"] == pytest.approx(16 / written["seconds_per_update"])
    assert (written["rival"], written["rival_version"]) == ("numpy", np.__version__)
    assert (written["torch"], written["commit"]) == (torch.__version__, "abc")
    assert (written["warmup_updates"], written["largest_learning_rate"]) == (2, 1e-3)
    assert (written["gpu"], written["driver"]) == ("CPU", None)
