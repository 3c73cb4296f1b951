"""The errors that are reported: known errors come out as the numbers that they are."""

import io
import json
import math
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from facts import states
from forked import SERVER
from processes import is_there
from tiny import ensure_files, events, launch, tiny_config

from trainer.build import build_model
from trainer.cli import BAD_INPUT, main
from trainer.config import Config
from trainer.data.batches.mixture import TaskSet
from trainer.data.files.normalisation import FieldUnits
from trainer.data.splits import open_data
from trainer.errors import CannotWrite, ConfigError, Diverged
from trainer.optimizer.ema import LoopEma
from trainer.process.ranks import rank_from_environment
from trainer.process.terminal import show_progress
from trainer.process.world import World
from trainer.run.checkpoint.files import read_checkpoint
from trainer.run.evaluation.command import (
    _take_gpu,
    _write_whole,
    as_text,
    evaluate_checkpoint,
    evaluate_runs,
)
from trainer.run.evaluation.one_step import Evaluator, relative_errors
from trainer.run.evaluation.rollouts import Rollouts, _sums, finite_part
from trainer.run.training import Progress, run_training

CPU = torch.device("cpu")
ALONE = World(rank=0, size=1, device=CPU)
BOTH = "data.tasks=[advection1d, darcy2d]"


class ExactModel(torch.nn.Module):
    """Knows the trajectories and adds an error of its own to the next frame."""

    def __init__(self, rollouts: Rollouts, error: torch.Tensor) -> None:
        super().__init__()
        self.rollouts, self.error, self.step = rollouts, error, 0

    def forward(self, task: str, field: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        self.step += 1
        truth = self.rollouts._frame(self.rollouts.frames[self.step])
        scale = self.rollouts._units()[1][..., None].float()
        return truth + self.error * (scale if truth.ndim == 3 else scale[..., None])


class WaveOff(torch.nn.Module):
    """Knows the next frames, in their order, and adds a wave to each."""

    def __init__(self, held_out: TaskSet, heights: dict[str, float]) -> None:
        super().__init__()
        self.heights = heights
        self.left = {
            part.task.name: part.read(np.arange(len(part.table))).next_field for part in held_out.tasks
        }

    def forward(self, task: str, field: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        truth, self.left[task] = self.left[task].tensor_split([len(field)])
        points = truth.shape[-1]
        return truth + self.heights[task] * torch.cos(2 * torch.pi * torch.arange(points) / points)


def rollouts_of(folder, task: str, *overrides: str) -> Rollouts:
    config = tiny_config(folder, f"data.tasks=[{task}]", *overrides)
    return Rollouts(open_data(config).held_out.tasks[0], 2, ALONE, at_once=4)


def drawn_weights(config: Config) -> dict[str, torch.Tensor]:
    return build_model(config).state_dict()


def errors(rollouts: Rollouts, error: torch.Tensor) -> dict[str, float]:
    return rollouts.errors(ExactModel(rollouts, error))


def test_a_constant_error_is_one_of_the_mean(tmp_path):
    rollouts = rollouts_of(tmp_path, "advection1d")
    found = errors(rollouts, torch.tensor(0.1))
    for name in ("rmse", "crmse", "brmse", "max"):
        assert found[f"rollout_{name}/advection1d"] == pytest.approx(0.1, rel=1e-4)
    assert found["rollout_frmse_low/advection1d"] == pytest.approx(0.1 / 4, rel=1e-4)
    assert found["rollout_frmse_mid/advection1d"] == pytest.approx(0, abs=1e-6)
    frames = rollouts.pairs.frames(rollouts.mine, np.zeros(4, dtype=int), rollouts.pairs.normalisation.state)
    scale = rollouts._units()[1][..., None]
    sizes = (frames / scale + rollouts._units()[0][..., None]).square().mean(dim=2).sqrt()
    assert found["mass_gap/advection1d"] == pytest.approx((0.1 / sizes).mean().item(), rel=1e-3)
    assert found["rollout_nrmse/advection1d"] == pytest.approx((0.1 / sizes).mean().item(), rel=1e-3)


def test_errors_of_one_trajectory_in_four_are_averaged_as_pdebench_does(tmp_path):
    error = torch.tensor([0.2, 0, 0, 0])[:, None, None]
    found = errors(rollouts_of(tmp_path, "advection1d"), error)
    for name in ("rmse", "brmse"):  # the root of each trajectory, then their mean
        assert found[f"rollout_{name}/advection1d"] == pytest.approx(0.2 / 4, rel=1e-4)
    # the root of the mean of the squares
    assert found["rollout_crmse/advection1d"] == pytest.approx(0.2 / 2, rel=1e-4)
    assert found["rollout_frmse_low/advection1d"] == pytest.approx(0.2 / 2 / 4, rel=1e-4)


def test_a_wave_is_an_error_of_its_own_mode(tmp_path):
    wave = 0.1 * torch.cos(2 * torch.pi * 5 * torch.arange(16) / 16)
    found = errors(rollouts_of(tmp_path, "advection1d"), wave)
    assert found["rollout_rmse/advection1d"] == pytest.approx(0.1 / 2**0.5, rel=1e-4)
    assert found["rollout_crmse/advection1d"] == pytest.approx(0, abs=1e-6)
    assert found["rollout_frmse_low/advection1d"] == pytest.approx(0, abs=1e-6)
    assert found["rollout_frmse_mid/advection1d"] == pytest.approx(
        0.05 / 5, rel=1e-4
    )  # modes 4 to 8 of 16 points


@pytest.mark.parametrize(("mode", "mid", "high"), [(11, 0.05 / 8, 0), (12, 0, 0.05 / 5)])
def test_the_high_modes_are_those_from_twelve_on(tmp_path, mode, mid, high):
    wave = 0.1 * torch.cos(2 * torch.pi * mode * torch.arange(32) / 32)  # which has modes 0 to 16
    found = errors(rollouts_of(tmp_path, "advection1d", "data.reduced_resolution=1"), wave)
    assert found["rollout_frmse_mid/advection1d"] == pytest.approx(mid, rel=1e-4, abs=1e-6)
    assert found["rollout_frmse_high/advection1d"] == pytest.approx(high, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("grid", [(12,), (6, 10)])
def test_the_sums_of_several_fields_are_those_of_their_definitions(grid):
    predicted, target = np.random.default_rng(0).normal(0.5, 1, (2, 3, 2, *grid))  # 3 trajectories, 2 fields
    error, space = predicted - target, tuple(range(2, 2 + len(grid)))
    sides = [np.take(error, [0, -1], axis).reshape(3, 2, -1) for axis in space]
    root, size, border = (
        np.sqrt(np.square(part).mean(axis=tuple(range(2, part.ndim))))
        for part in (error, target, np.concatenate(sides, axis=2))
    )
    squares = [root, root / size, border, np.square(error.mean(axis=space))]
    shells = grid[0] // 2 + 1 if len(grid) == 1 else min(grid) // 2
    modes = np.zeros(shells)
    for number in np.ndindex(*(n // 2 + (len(grid) == 1) for n in grid)):
        shell = int(math.hypot(*number))
        turns = sum(k * place / n for k, place, n in zip(number, np.indices(grid), grid, strict=True))
        amplitude = np.abs((error * np.exp(-2j * np.pi * turns)).mean(axis=space))
        if shell < shells:
            modes[shell] += np.square(amplitude).mean(axis=1).sum()
    expected = [3, *(part.mean(axis=1).sum() for part in squares), *modes]
    found = _sums(torch.from_numpy(predicted), torch.from_numpy(target))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


def test_errors_that_grow_are_averaged_over_the_steps(tmp_path):
    class Growing(ExactModel):
        def forward(self, *given) -> torch.Tensor:
            self.error = torch.tensor(-0.1 * (self.step + 1))
            return super().forward(*given)

    rollouts = rollouts_of(tmp_path, "advection1d")
    found = rollouts.errors(Growing(rollouts, torch.zeros(())))
    for name in ("rmse", "crmse", "brmse", "max"):
        assert found[f"rollout_{name}/advection1d"] == pytest.approx(0.3, rel=1e-4)  # of 0.1 to 0.5


@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_a_rollout_begins_as_the_pairs_of_the_first_stride_do(tmp_path, task):
    rollouts = rollouts_of(tmp_path, task, "data.frame_strides=[2, 1]")
    given = []

    class Noted(ExactModel):
        def forward(self, task: str, *given_now: torch.Tensor) -> torch.Tensor:
            given.append(given_now)
            return super().forward(task, *given_now)

    rollouts.errors(Noted(rollouts, torch.zeros(())))
    first = rollouts.pairs.read(rollouts.mine * rollouts.pairs.table.pairs_per_trajectory)
    torch.testing.assert_close(given[0], (first.field, first.condition), rtol=0, atol=0)
    assert all(torch.equal(condition, first.condition) for _, condition in given)
    assert list(rollouts.frames) == ([0, 2, 4] if task == "advection1d" else [0, 1])


def test_the_mass_gap_is_what_a_trajectory_gains_or_loses_of_its_own_size(tmp_path):
    files = ensure_files(tiny_config(tmp_path).data)
    growth = 0.1 * np.arange(6.0)[:, None]  # of the mean, by frame
    for path, height, sign in zip(files, (1, 5), (1, -1), strict=True):
        with h5py.File(path, "r+") as file:
            file["tensor"][:] = height * (file["tensor"][:] + 2) + sign * growth
    rollouts = rollouts_of(tmp_path, "advection1d")
    first, last = (rollouts.pairs.physical_frames(rollouts.mine, np.full(4, frame)) for frame in (0, 5))
    gaps = np.abs(last.mean(axis=(1, 2)) - first.mean(axis=(1, 2)))
    np.testing.assert_allclose(gaps, 0.5, rtol=1e-3)
    sizes = np.sqrt(np.square(first).mean(axis=(1, 2)))
    found = errors(rollouts, torch.zeros(()))
    assert found["mass_gap/advection1d"] == pytest.approx((gaps / sizes).mean(), rel=1e-4)
    assert found["mass_gap_max/advection1d"] == pytest.approx((gaps / sizes).max(), rel=1e-4)


def test_the_worst_trajectory_is_named_beside_a_mean_that_hides_it(tmp_path):
    error = torch.tensor([0.4, 0, 0, 0])[:, None, None]
    found = errors(rollouts_of(tmp_path, "advection1d"), error)
    others = errors(rollouts_of(tmp_path, "advection1d"), torch.zeros(()))["mass_gap_max/advection1d"]
    assert others < 1e-4
    assert found["mass_gap_max/advection1d"] == pytest.approx(4 * found["mass_gap/advection1d"], rel=1e-3)


def test_each_field_has_a_relative_error_of_its_own():
    """A pressure of 100,000 Pa beside a velocity of 1 m/s: an error of half the velocity is no small one."""
    target = torch.stack([torch.full((2, 8), 1.0), torch.full((2, 8), 1e5)], dim=1)
    predicted = target + torch.tensor([[0.5, 0.0], [0.0, 1e4]])[..., None]
    assert relative_errors(predicted, target).tolist() == pytest.approx([0.25, 0.05])


def test_two_dimensional_modes_are_counted_by_their_shell(tmp_path):
    x = torch.arange(8) / 8
    wave, opposed = (0.1 * torch.cos(2 * torch.pi * (sign * x[:, None] + 2 * x)) for sign in (1, -1))
    rollouts = rollouts_of(tmp_path, "darcy2d")
    # Half of a wave's amplitude is at (1, 2), in shell 2 of 0 to 3, and half at (-1, -2), which
    # PDEBench leaves out; of the opposed one neither half is in its quadrant.
    assert errors(rollouts, opposed)["rollout_frmse_low/darcy2d"] == pytest.approx(0, abs=1e-6)
    found = errors(rollouts, wave)
    assert found["rollout_frmse_low/darcy2d"] == pytest.approx(0.1 / 2 / 4, rel=1e-4)
    assert found["rollout_brmse/darcy2d"] == pytest.approx(0.1 / 2**0.5, rel=1e-4)
    assert "mass_gap/darcy2d" not in found


def test_of_a_rollout_that_blows_up_no_number_is_finite(tmp_path):
    found = errors(rollouts_of(tmp_path, "advection1d"), torch.tensor(float("inf")))
    assert {"rollout_nrmse/advection1d", "mass_gap/advection1d", "mass_gap_max/advection1d"} <= set(found)
    assert finite_part(found) == {}


@pytest.mark.slow
def test_what_is_not_finite_is_named_in_place_of_its_number(tmp_path, monkeypatch):
    blown_up = {"rollout_nrmse/advection1d": 0.5, "mass_gap/advection1d": math.nan}
    monkeypatch.setattr(Evaluator, "rollout_errors", lambda *_: blown_up)
    run_training(tiny_config(tmp_path), tmp_path, 3, Progress())
    last = events(tmp_path, "evaluation")[-1]
    assert last["not_finite"] == ["mass_gap/advection1d"]
    assert last["metrics"]["rollout_nrmse/advection1d"] == 0.5
    assert "mass_gap/advection1d" not in last["metrics"]


def test_a_rollout_takes_no_more_memory_than_the_batches_of_the_evaluation(tmp_path):
    found, most = {}, []
    for at_once in (3, 256):
        config = tiny_config(tmp_path, f"evaluation.batch_pairs={at_once}")
        evaluator = Evaluator(config, open_data(config).held_out, ALONE)
        torch.manual_seed(0)
        weights = {name: torch.randn_like(part) / 4 for name, part in evaluator.model.state_dict().items()}
        seen = []
        evaluator.model.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(len(given[1])))
        found[at_once] = evaluator.rollout_errors(weights)
        most.append(max(seen))
    assert most == [3, 4]
    assert found[3] == pytest.approx(found[256], rel=1e-4)


def test_a_coarser_grid_is_evaluated_in_batches_of_as_many_points(tmp_path):
    config = tiny_config(tmp_path, BOTH, "data.held_out_fraction=0.5", "evaluation.batch_pairs=2")
    evaluator = Evaluator(config, open_data(config).held_out, ALONE)
    points = {task: math.prod(grid) for task, grid in config.grids.items()}
    seen = {task: [] for task in points}
    evaluator.model.register_forward_pre_hook(lambda _, given: seen[given[0]].append(len(given[1])))
    evaluator.errors(drawn_weights(config))
    largest = {task: max(pairs) for task, pairs in seen.items()}
    assert points["darcy2d"] > points["advection1d"]
    assert largest == {"darcy2d": 2, "advection1d": 2 * points["darcy2d"] // points["advection1d"]}


def test_an_evaluator_leaves_random_numbers_as_they_are(tmp_path):
    config = tiny_config(tmp_path, BOTH)
    held_out, before = open_data(config).held_out, torch.get_rng_state()
    model = Evaluator(config, held_out, ALONE).model
    assert torch.equal(torch.get_rng_state(), before)
    of_it, of_a_drawn_one = dict(model.named_buffers()), dict(build_model(config).named_buffers())
    assert of_it.keys() == of_a_drawn_one.keys()
    assert all(torch.equal(buffer, of_a_drawn_one[name]) for name, buffer in of_it.items())


def test_ranks_share_the_trajectories(tmp_path):
    pairs = open_data(tiny_config(tmp_path)).held_out.tasks[0]
    shares = [Rollouts(pairs, 2, World(rank, 3, CPU), 4).mine.tolist() for rank in range(3)]
    assert sorted(number for share in shares for number in share) == [0, 1, 2, 3]


def test_ranks_find_together_what_one_finds_alone(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, BOTH)
    held_out = open_data(config).held_out
    weights = {name: part + 0.1 for name, part in drawn_weights(config).items()}

    def found(world: World) -> dict[str, float]:
        evaluator = Evaluator(config, held_out, world)
        one_step = evaluator.errors(weights)
        return {"val_loss": one_step.val_loss, **one_step.metrics(), **evaluator.rollout_errors(weights)}

    alone, told = found(ALONE), []

    def tell(_, own: torch.Tensor) -> torch.Tensor:
        told.append(own)
        return own[None]

    monkeypatch.setattr(World, "gather", tell)
    found(World(1, 2, CPU))
    monkeypatch.setattr(World, "gather", lambda _, own: torch.stack([own, told.pop(0)]))
    assert found(World(0, 2, CPU)) == pytest.approx(alone, rel=1e-4)


def test_a_rollout_is_of_the_first_trajectories_of_each_file(tmp_path):
    pairs = open_data(tiny_config(tmp_path)).held_out.tasks[0]
    assert pairs.table.file_index.tolist() == [0, 0, 1, 1]
    assert Rollouts(pairs, 1, ALONE, 4).mine.tolist() == [0, 2]


def test_a_known_error_of_one_step_comes_out_as_the_number_that_it_is(tmp_path):
    config = tiny_config(tmp_path, BOTH, "evaluation.batch_pairs=3")
    held_out, heights = open_data(config).held_out, {"advection1d": 0.1, "darcy2d": 0.2}
    scales = np.array([[2.0], [5.0]], dtype=np.float32)  # of the files
    units = FieldUnits(mean=np.array([[1.0], [-0.5]], dtype=np.float32), scale=scales)
    tasks = [
        replace(part, normalisation=replace(part.normalisation, target=units)) for part in held_out.tasks
    ]
    held_out = replace(held_out, tasks=tuple(tasks))
    evaluator = Evaluator(config, held_out, ALONE)
    evaluator.model = WaveOff(held_out, heights)
    found = evaluator.errors({})
    for part in held_out.tasks:
        name, table = part.task.name, part.table
        trajectory, frame_pair = np.divmod(np.arange(len(table)), table.pairs_per_trajectory)
        frames = part.physical_frames(trajectory, (table.first_frame + table.stride)[frame_pair])
        sizes = np.sqrt(np.square(frames).reshape(len(table), -1).mean(axis=1))
        error = heights[name] / 2**0.5  # root mean square of a wave
        relative = error / scales[table.file_index[trajectory], 0] / sizes
        assert found.tasks[name].val_loss == pytest.approx(error**2, rel=1e-5)
        assert found.tasks[name].nrmse == pytest.approx(relative.mean(), rel=1e-5)
    assert found.val_loss == pytest.approx((0.1**2 + 0.2**2) / 2 / 2, rel=1e-5)


def test_every_task_counts_the_same(tmp_path):
    config = tiny_config(tmp_path, BOTH)
    evaluator = Evaluator(config, open_data(config).held_out, ALONE)
    found = evaluator.errors(drawn_weights(config))
    parts = found.metrics()
    for name, value in {"val_loss": found.val_loss, **parts}.items():
        if "/" not in name:
            both = [parts[f"{name}/{task}"] for task in ("advection1d", "darcy2d")]
            assert value == pytest.approx(sum(both) / 2)


def test_the_mean_solution_is_what_darcy_is_measured_against(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[darcy2d]")
    data = open_data(config)
    train, held_out = (
        part.tasks[0].read(np.arange(len(part))).next_field for part in (data.train, data.held_out)
    )
    means = [train[:6].mean(dim=0), train[6:].mean(dim=0)]  # by file
    expected = torch.stack([held_out[:2] - means[0], held_out[2:] - means[1]]).square().mean().item()
    evaluator = Evaluator(config, data.held_out, ALONE)
    found = evaluator.errors(drawn_weights(config)).metrics()
    assert found["persistence_loss/darcy2d"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_the_encoder_does_not_collapse(tmp_path):
    """The latent term alone is least when every field has the same latents; others hold them apart."""
    ours = _spread_of_latents(tmp_path / "ours")
    others = ("spectral", "inverse_encoding", "inverse_decoding", "conservation", "latent_norm", "diversity")
    alone = _spread_of_latents(
        tmp_path / "alone", "loss.forward=1e-9", *(f"loss.{term}=0" for term in others)
    )
    assert ours > 3 * alone


def _spread_of_latents(folder: Path, *overrides: str) -> float:
    """Deviation among held-out fields after a training, mean over the latents' numbers."""
    folder.mkdir()
    learning = ("train.updates=120", "optimizer.learning_rate=1e-2", "loss.latent=1")
    config = tiny_config(folder, "speed.data_path=resident", *learning, *overrides)
    run_training(config, folder, 0, Progress())
    held_out = open_data(config).held_out
    evaluator = Evaluator(config, held_out, ALONE)
    evaluator.model.load_state_dict(torch.load(folder / "checkpoint.pt", weights_only=True)["model"])
    with torch.no_grad():
        latents = evaluator.model.encoder(
            "advection1d", held_out.tasks[0].read(np.arange(len(held_out))).field
        )
    return latents.std(dim=0).mean().item()


@pytest.mark.parametrize(("tokens", "pairs"), [(4, 16), (8, 8)])  # 16 points, and 32, the least: 4 a token
def test_a_small_grid_is_evaluated_in_more_pairs_at_once_until_the_operator_takes_more(
    tokens, pairs, tmp_path
):
    config = tiny_config(tmp_path, BOTH, f"model.tokens={tokens}", "evaluation.batch_pairs=4")
    evaluator = Evaluator(config, open_data(config).held_out, ALONE)
    assert evaluator.at_once == {"advection1d": pairs, "darcy2d": 4}


@pytest.mark.slow
def test_evaluate_repeats_the_numbers_of_the_training(tmp_path):
    run_training(tiny_config(tmp_path, BOTH), tmp_path, 3, Progress())
    (evaluation,) = events(tmp_path, "evaluation")
    done = launch(["evaluate", "--checkpoint", str(tmp_path / "checkpoint.pt"), "--json"], processes=1)
    assert done.returncode == 0, done.stderr
    raw = json.loads(done.stdout)["raw"]
    assert raw["val_loss"] == pytest.approx(evaluation["val_loss"], rel=1e-5)
    for name, value in raw.items():
        if name != "val_loss":
            assert value == pytest.approx(evaluation["metrics"][name], rel=1e-4)


@pytest.mark.slow
def test_a_training_that_has_not_ended_is_evaluated_and_told_so(tmp_path, capsys):
    run_training(tiny_config(tmp_path), tmp_path, 3, Progress())
    path = tmp_path / "checkpoint.pt"
    at_its_end = evaluate_checkpoint(path, None)
    assert "was saved at step" not in capsys.readouterr().err
    torch.save({**read_checkpoint(path), "step": 3}, path)
    assert evaluate_checkpoint(path, None).errors == at_its_end.errors
    assert capsys.readouterr().err == f"{path}: was saved at step 3 of 7, before its training ended\n"


@pytest.mark.slow
def test_the_average_is_judged_where_the_recipe_asks_for_it(tmp_path):
    same = [BOTH, "evaluation.every_updates=5", "train.keep_best=true"]
    plain, averaged = tmp_path / "plain", tmp_path / "averaged"
    run_training(tiny_config(tmp_path, *same), plain, 3, Progress())
    run_training(tiny_config(tmp_path, *same, "recipe.average_updates=3"), averaged, 3, Progress())
    weights = events(plain, "evaluation")
    judged = events(averaged, "evaluation")
    # The training is the same; what is judged of it is not.
    for ours, theirs in zip(judged, weights, strict=True):
        assert ours["metrics"]["val_loss_raw"] == theirs["val_loss"]
        assert ours["val_loss"] != theirs["val_loss"]
        for task in ("advection1d", "darcy2d"):
            assert ours["metrics"][f"val_loss_raw/{task}"] == theirs["metrics"][f"val_loss/{task}"]
        beside = [{name for name in of["metrics"] if name.startswith("val_loss_")} for of in (ours, theirs)]
        both = ("", "/advection1d", "/darcy2d")
        assert beside == [{f"val_loss_{which}{task}" for task in both} for which in ("raw", "ema")]
    for folder, reported in ((plain, weights), (averaged, judged)):
        best = read_checkpoint(folder / "checkpoint-best.pt")["best_val_loss"]
        assert best == min(event["val_loss"] for event in reported)
        evaluate_runs([folder], tmp_path / "again.jsonl", None)
        again = json.loads((tmp_path / "again.jsonl").read_text())
        assert again["val_loss"] == pytest.approx(reported[-1]["val_loss"], rel=1e-5)
        assert again["metrics"] == pytest.approx(reported[-1]["metrics"], rel=1e-4)
    for folder, kind in ((plain, "raw (judged)"), (averaged, "ema (judged)")):
        head = as_text(evaluate_checkpoint(folder / "checkpoint.pt", None), as_json=False).splitlines()[0]
        assert kind in head
    found = evaluate_checkpoint(averaged / "checkpoint.pt", None)
    assert found.errors["ema"]["nrmse"] == found.metrics["nrmse"] != found.errors["raw"]["nrmse"]


@pytest.mark.slow
def test_an_average_that_is_not_finite_ends_the_run_where_it_is_judged(tmp_path, monkeypatch):
    whole = LoopEma.weights
    monkeypatch.setattr(
        LoopEma, "weights", lambda ema: {name: w * torch.nan for name, w in whole(ema).items()}
    )
    with pytest.raises(Diverged, match="held-out loss of the averaged weights of step 7 is nan"):
        run_training(tiny_config(tmp_path, BOTH, "recipe.average_updates=3"), tmp_path, 3, Progress())


def pretend_gpus(monkeypatch, count: int) -> None:
    """To whom counts them; whoever takes one finds none, also in a process started from here."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.slow
@pytest.mark.parametrize("gpus", [0, 2])  # with two, in two processes
def test_several_runs_are_evaluated_into_one_file_with_the_numbers_that_they_reported(
    gpus, tmp_path, monkeypatch, capfd
):
    pretend_gpus(monkeypatch, gpus)
    folders = [tmp_path / "one", tmp_path / "other"]
    for seed, folder in enumerate(folders):
        folder.mkdir()
        run_training(tiny_config(tmp_path, BOTH), folder, seed, Progress())
    file = tmp_path / "evaluations.jsonl"
    capfd.readouterr()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["evaluate", "--out", str(file), "--run", *map(str, folders)]) == 0
    bars = capfd.readouterr().err.split("\r\x1b[K")
    assert [bar for bar in bars if "run evaluated" in bar] == [
        "run evaluated [..............................] 0 of 2",
        "run evaluated [###############...............] 1 of 2",
        "run evaluated [##############################] 2 of 2\n",
    ]
    parts = {bar.split(" [")[0] for bar in bars if " [" in bar}
    assert ("rolling out advection1d, frame" in parts) is (gpus == 0)  # else beside those of another process
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(line["run"] for line in lines) == [str(folder) for folder in folders]
    for line, folder in zip(sorted(lines, key=lambda line: line["run"]), folders, strict=True):
        (reported,) = events(folder, "evaluation")
        assert line["val_loss"] == pytest.approx(reported["val_loss"], rel=1e-5)
        assert line["metrics"] == pytest.approx(reported["metrics"], rel=1e-4)


def test_evaluations_side_by_side_have_a_gpu_each_and_draw_no_bars_over_each_other(monkeypatch, capsys):
    monkeypatch.setattr("trainer.process.terminal._is_quiet", False)  # put back after the test, as
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.setenv(name, "")  # these are
    gpus = multiprocessing.SimpleQueue()
    for gpu in range(2):
        gpus.put(gpu)
        _take_gpu(gpus)
        assert rank_from_environment() == (0, 1, gpu)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("step", 1, 10)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_process_that_evaluates_ends_with_the_one_that_started_it(tmp_path):
    pid_file = tmp_path / "pid"
    parent = SERVER.Process(target=_with_a_process_that_evaluates, args=(pid_file,))
    parent.start()
    wait_for(lambda: pid_file.exists() and pid_file.read_text())
    worker = int(pid_file.read_text())
    parent.kill()
    parent.join()
    wait_for(lambda: not is_there(worker))


def _with_a_process_that_evaluates(pid_file: Path) -> None:
    context = multiprocessing.get_context("fork")
    gpus = context.SimpleQueue()
    gpus.put(0)
    with ProcessPoolExecutor(1, context, _take_gpu, (gpus,)) as pool:
        pool.submit(_work, pid_file).result()


def _work(pid_file: Path) -> None:
    pid_file.write_text(str(os.getpid()))
    time.sleep(600)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("gpus", [0, 2])
def test_one_that_cannot_be_evaluated_keeps_no_other_from_it(gpus, tmp_path, monkeypatch, capsys):
    pretend_gpus(monkeypatch, gpus)
    forks = multiprocessing.get_context("fork")  # which need not import torch, as those of the test above do
    monkeypatch.setitem(multiprocessing.context._concrete_contexts, "spawn", forks)
    folders = [tmp_path / "broken", tmp_path / "infinite", tmp_path / "well"]
    for folder in folders[1:]:
        run_training(tiny_config(tmp_path), folder, 3, Progress())
    state = torch.load(folders[1] / "checkpoint.pt")
    state["model"] = {name: torch.full_like(tensor, math.inf) for name, tensor in state["model"].items()}
    torch.save(state, folders[1] / "checkpoint.pt")
    folders[0].mkdir()
    (folders[0] / "checkpoint.pt").write_text("no checkpoint")
    file = tmp_path / "evaluations.jsonl"
    assert main(["evaluate", "--out", str(file), "--run", *map(str, folders)]) in (1, BAD_INPUT)
    said = capsys.readouterr().err
    assert "broken/checkpoint.pt: cannot be read as a checkpoint" in said
    assert f"{folders[1]}: not evaluated: " in said
    assert [json.loads(line)["run"] for line in file.read_text().splitlines()] == [str(folders[2])]


def test_a_record_of_which_the_system_takes_a_part_is_written_whole():
    class Slow(io.RawIOBase):
        taken = b""

        def write(self, text):
            self.taken += bytes(text[:3])
            return min(3, len(text))

    file = Slow()
    _write_whole(file, b'{"run": "a"}\n')
    assert file.taken == b'{"run": "a"}\n'


def test_evaluate_asks_for_the_file_of_several_runs(tmp_path, capsys):
    assert main(["evaluate", "--run", str(tmp_path)]) == BAD_INPUT
    assert "--out: missing" in capsys.readouterr().err


@pytest.mark.slow
def test_evaluate_looks_for_every_run_before_it_replaces_a_file(tmp_path, monkeypatch, capsys):
    run_training(tiny_config(tmp_path), tmp_path / "run", 3, Progress())
    out = tmp_path / "errors.jsonl"
    out.write_text("{ of an earlier call")
    runs = [str(tmp_path / "run"), str(tmp_path / "absent")]
    assert main(["evaluate", "--run", *runs, "--out", str(out)]) == BAD_INPUT
    assert "absent/checkpoint.pt: does not exist" in capsys.readouterr().err
    assert out.read_text() == "{ of an earlier call"
    assert main(["evaluate", "--run", runs[0], "--out", str(out), "--data-root", "/absent"]) == BAD_INPUT
    assert "--data-root: /absent is not a folder" in capsys.readouterr().err
    assert out.read_text() == "{ of an earlier call"
    assert main(["evaluate", "--run", runs[0], f"{runs[0]}/", "--out", str(out)]) == BAD_INPUT
    assert f"--run: {runs[0]} is named twice" in capsys.readouterr().err
    foreign = tmp_path / "checkpoint.pt"
    foreign.write_bytes(b"PK")
    assert main(["evaluate", "--run", runs[0], "--out", str(foreign)]) == BAD_INPUT
    assert f"--out: {foreign} is not a file of evaluations" in capsys.readouterr().err
    assert foreign.read_bytes() == b"PK"
    with pytest.raises(CannotWrite, match=r"^full cannot be written to /dev: No space left on device; free"):
        evaluate_runs([tmp_path / "run"], Path("/dev/full"), None)
    assert main(["evaluate", "--run", runs[0], "--out", str(tmp_path)]) == BAD_INPUT
    assert f"--out: {tmp_path} is a folder; name a file" in capsys.readouterr().err
    assert main(["evaluate", "--run", runs[0], "--out", "/proc/errors.jsonl"]) == BAD_INPUT  # even for root
    assert "--out: /proc" in (said := capsys.readouterr().err) and "cannot be written (" in said
    for name in ("checkpoint.pt", "metrics.jsonl", "new/errors.jsonl"):
        within = tmp_path / "run" / name
        assert main(["evaluate", "--run", runs[0], "--out", str(within)]) == BAD_INPUT
        assert f"--out: {within} is inside {runs[0]} and could replace its files" in capsys.readouterr().err
    assert main(["evaluate", "--run", runs[0], "--out", "/dev/stdout"]) == 0
    monkeypatch.chdir(runs[0])
    assert main(["evaluate", "--run", ".", "--out", str(out)]) == 0
    assert [json.loads(line)["run"] for line in out.read_text().splitlines()] == ["."]
    assert main(["evaluate", "--checkpoint", runs[0]]) == BAD_INPUT
    assert states(capsys.readouterr().err, f"{runs[0]}: is a folder .. checkpoint.pt in it")


def test_evaluate_names_a_checkpoint_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.pt: does not exist; name the checkpoint\.pt"):
        evaluate_checkpoint(tmp_path / "absent.pt", None)


@pytest.mark.slow
def test_evaluate_refuses_other_data(tmp_path):
    run_training(tiny_config(tmp_path, "train.updates=3"), tmp_path, 3, Progress())
    other = tmp_path / "other"
    other.mkdir()
    for path in ensure_files(tiny_config(tmp_path, "data.seed=1").data):
        (other / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ConfigError, match="was trained on other data"):
        evaluate_checkpoint(tmp_path / "checkpoint.pt", str(other))


@pytest.mark.slow
def test_evaluate_makes_no_data_where_they_are_gone(tmp_path):
    run_training(tiny_config(tmp_path, "train.updates=3"), tmp_path, 3, Progress())
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=r"hdf5: not found, .* with --data-root"):
        evaluate_checkpoint(tmp_path / "checkpoint.pt", None)
    assert not (tmp_path / "data").exists()
    assert evaluate_checkpoint(tmp_path / "checkpoint.pt", str(tmp_path / "elsewhere"))
