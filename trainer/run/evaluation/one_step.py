"""The held-out split: one-step errors in fp32 by plain eager code, whatever the training runs with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.build import build_model
from trainer.config.schema import Config
from trainer.data.batches.batch import TaskPairs
from trainer.data.batches.mixture import TaskSet
from trainer.data.batches.pair_readers import MappedPairs
from trainer.data.files.normalisation import physical
from trainer.model.skip_init import SkipInit
from trainer.process.terminal import show_progress
from trainer.process.world import World
from trainer.run.evaluation.rollouts import Rollouts


@dataclass(frozen=True)
class TaskErrors:
    """Means over the held-out pairs of a task; *_loss are mean squared errors in normalised units."""

    val_loss: float
    persistence_loss: float  # of predicting no change; in a steady task, of predicting the training mean
    nrmse: float  # mean over pairs and fields of |error| / |u| in physical units


@dataclass(frozen=True)
class HeldOutErrors:
    """Every task counts the same, however many pairs it has."""

    tasks: dict[str, TaskErrors]

    @property
    def val_loss(self) -> float:
        return float(np.mean([errors.val_loss for errors in self.tasks.values()]))

    def metrics(self) -> dict[str, float]:
        """Means over the tasks, and the numbers of each task."""
        found: dict[str, float] = {}
        for name in ("persistence_loss", "nrmse"):
            found[name] = float(np.mean([getattr(errors, name) for errors in self.tasks.values()]))
        for task, errors in self.tasks.items():
            found[f"val_loss/{task}"] = errors.val_loss
            found[f"persistence_loss/{task}"] = errors.persistence_loss
            found[f"nrmse/{task}"] = errors.nrmse
        return found


def beside_judged(errors: dict[str, dict[str, float]], judged: str) -> dict[str, float]:
    """The held-out losses, whole and by task, of what is not judged: of the weights or of their average."""
    return {
        f"val_loss_{which}{metric.removeprefix('val_loss')}": loss
        for which, found in errors.items()
        if which != judged
        for metric, loss in found.items()
        if metric.startswith("val_loss")
    }


class Evaluator:
    """Has a model of its own, never compiled nor wrapped; its weights mean nothing until some are copied."""

    def __init__(self, config: Config, held_out: TaskSet, world: World) -> None:
        self.held_out, self.world = held_out, world
        # Small batches would leave a GPU waiting for its host; equal points take about equal memory, down to
        # where the operator takes more than the decoder, whose layers a token has several times of.
        least = 4 * config.model.tokens
        points = {task: max(least, math.prod(grid)) for task, grid in config.grids.items()}
        most = max(points.values())
        self.at_once = {task: config.evaluation.batch_pairs * most // n for task, n in points.items()}
        trajectories = config.evaluation.rollout_trajectories
        self.rollouts = [
            Rollouts(pairs, trajectories, world, self.at_once[pairs.task.name])
            for pairs in held_out.tasks
            if trajectories
        ]
        with torch.random.fork_rng(devices=[]), SkipInit():
            self.model = build_model(config).to(world.device).eval()

    @torch.no_grad()
    def errors(self, weights: dict[str, Tensor]) -> HeldOutErrors:
        """Return the errors of these weights; every rank takes its share of the pairs."""
        self.model.load_state_dict(weights)
        return HeldOutErrors(
            {pairs.task.name: self._measured(self.model, pairs) for pairs in self.held_out.tasks}
        )

    @torch.no_grad()
    def errors_of(self, model: nn.Module, task: str) -> TaskErrors:
        """Return the errors in one task of any model that is called like ours."""
        (pairs,) = [pairs for pairs in self.held_out.tasks if pairs.task.name == task]
        return self._measured(model, pairs)

    def rollout_errors(self, weights: dict[str, Tensor]) -> dict[str, float]:
        """Return PDEBench's errors over whole trajectories, by name."""
        self.model.load_state_dict(weights)
        return {name: value for part in self.rollouts for name, value in part.errors(self.model).items()}

    def _measured(self, model: nn.Module, pairs: MappedPairs) -> TaskErrors:
        sums = torch.zeros(4, dtype=torch.float64, device=self.world.device)
        mine = np.arange(self.world.rank, len(pairs.table), self.world.size)
        at_once = self.at_once[pairs.task.name]
        for first in range(0, len(mine), at_once):
            chosen = mine[first : first + at_once]
            batch = TaskPairs(*(part.to(self.world.device) for part in pairs.read(chosen)))
            sums += self._sums(model, pairs, chosen, batch)
            if self.world.rank == 0:
                what = f"evaluating {pairs.task.name}, held-out pair"
                show_progress(what, first + len(chosen), len(mine), stays=False)
        totals = self.world.gather(sums).sum(dim=0)
        return TaskErrors(*(totals[:3] / totals[3]).tolist())

    def _sums(self, model: nn.Module, pairs: MappedPairs, chosen: np.ndarray, batch: TaskPairs) -> Tensor:
        """Sums over pairs of squared error, squared change and relative error, and the number of pairs."""
        prediction = model(pairs.task.name, batch.field, batch.condition).double()
        target = batch.next_field.double()
        means = pairs.mean_targets
        unchanged = (
            batch.field[:, : len(pairs.task.state)]
            if means is None
            else torch.from_numpy(means[pairs.file_of(chosen)])
        )
        unchanged = unchanged.to(target)
        units = [part.to(target) for part in pairs.target_units(chosen)]
        relative = relative_errors(physical(prediction, *units), physical(target, *units))
        return torch.stack(
            [
                (prediction - target).square().flatten(1).mean(dim=1).sum(),
                (unchanged - target).square().flatten(1).mean(dim=1).sum(),
                relative.sum(),
                relative.new_tensor(len(relative)),
            ]
        )


def relative_errors(
    predicted: Float[Tensor, "pairs fields *grid"], target: Float[Tensor, "pairs fields *grid"]
) -> Float[Tensor, " pairs"]:
    """Return |error| / |u| of each pair, the mean over its fields, as PDEBench's metrics code does.

    Over all fields at once, in physical units, the one with the largest numbers would be all that counts.
    """
    error, size = (part.flatten(2).norm(dim=2) for part in (predicted - target, target))
    return (error / size.clamp_min(1e-12)).mean(dim=1)
