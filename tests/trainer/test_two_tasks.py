"""Two tasks in one training, with all that a recipe may ask for: how the work is cut changes nothing."""

import pytest
import torch
from tiny import SAME_WEIGHTS, events, gradient_norms, launch, tiny_config, tiny_file, train_losses, weights

from trainer.cli import main
from trainer.run.training import Progress, run_training

TWO_TASKS = [
    "data.tasks=[advection1d, darcy2d]",
    "recipe.inverse_every=2",
    "recipe.inverse_every_nth_pair=2",
    "recipe.priors_every=3",
    "recipe.query_points=10",
    "recipe.query_strategy=lattice",
    "loss.inverse_warmup_updates=3",
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """One process, one micro-step."""
    folder = tmp_path_factory.mktemp("plain")
    run_training(tiny_config(folder, *TWO_TASKS), folder, 3, Progress())
    return folder


@pytest.mark.slow
def test_the_period_of_the_work_is_reported(plain):
    assert events(plain, "run_start")[0]["period_steps"] == 6


@pytest.mark.slow
def test_each_task_is_evaluated(plain):
    metrics = events(plain, "evaluation")[0]["metrics"]
    for task in ("advection1d", "darcy2d"):
        assert {f"nrmse/{task}", f"persistence_loss/{task}", f"rollout_nrmse/{task}"} <= set(metrics)


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [["speed.accumulation_steps=4"], ["speed.data_path=resident"]])
def test_how_the_work_is_cut_does_not_change_the_training(plain, tmp_path, overrides):
    config = tiny_config(tmp_path, *TWO_TASKS, f"data.root={plain / 'data'}", *overrides)
    run_training(config, tmp_path, 3, Progress())
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    assert gradient_norms(tmp_path) == pytest.approx(gradient_norms(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)


@pytest.mark.slow
def test_two_ranks_train_like_one(plain, tmp_path):
    sets = [part for override in TWO_TASKS for part in ("--set", override)]
    arguments = ["train", "--config", str(tiny_file(plain)), "--out", str(tmp_path), "--seed", "3", *sets]
    done = launch([*arguments, "--set", "speed.accumulation_steps=2"], processes=2)
    assert done.returncode == 0, done.stderr
    assert train_losses(tmp_path) == pytest.approx(train_losses(plain), rel=1e-5)
    assert gradient_norms(tmp_path) == pytest.approx(gradient_norms(plain), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), weights(plain), **SAME_WEIGHTS)
    one, two = events(plain, "evaluation")[0], events(tmp_path, "evaluation")[0]
    assert two["metrics"] == pytest.approx(one["metrics"], rel=1e-4, abs=1e-6)


def test_pairs_that_the_tasks_cannot_share_evenly_are_refused(tmp_path, capsys):
    arguments = ["train", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--seed", "3"]
    sets = ["--set", "data.tasks=[advection1d, darcy2d]", "--set", "train.pairs_per_update=17"]
    assert main([*arguments, *sets]) == 2
    expected = "got 17, expected a multiple of world size 1 x speed.accumulation_steps 1 x task shares 2"
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "metrics.jsonl").exists()
