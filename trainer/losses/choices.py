"""The inputs of a step besides its batch: random choices and weights, functions of (seed, step, pair)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trainer.contracts.sections import RecipeConfig
from trainer.contracts.term import Phase
from trainer.counter_random import Step, uniform
from trainer.data.batches.batch import part_sizes
from trainer.losses.queries import QueryPlan
from trainer.model.token_grid import Grids

DROP_PATH = 1  # stream


class StepInputs(NamedTuple):
    branch_scale: Float[Tensor, "depth pairs"]  # 0 where drop path drops a block
    queries: tuple[Tensor, ...]  # per task, (pairs of the task, points): indices into its flattened grid
    ramp: Float[Tensor, ""]  # 0 to 1: how far the inverse terms are warmed up


@dataclass(frozen=True)
class StepChoices:
    recipe: RecipeConfig
    plans: tuple[QueryPlan, ...]  # per task
    depth: int  # of the operator, in blocks
    drop_path: float
    inverse_warmup_updates: int
    seed: int

    def phase(self, step: int) -> Phase:
        """Steps count from 1; a group that is due every n-th step is due at step n first."""
        return Phase(inverse=step in self.due("inverse"), priors=step in self.due("priors"))

    def due(self, group: Literal["inverse", "priors"]) -> range:
        """Steps in which a group is due; it goes on past the end of the training."""
        recipe = self.recipe
        every = recipe.inverse_every if group == "inverse" else recipe.priors_every
        return range((recipe.exploration_updates // every + 1) * every, sys.maxsize, every)

    def inputs(self, step: Step, pair: Int[Tensor, " pairs"]) -> StepInputs:
        parts = pair.split(part_sizes(len(pair), self.recipe.shares(len(self.plans))))
        queries = (plan.choose(self.seed, step, part) for plan, part in zip(self.plans, parts, strict=True))
        return StepInputs(self.branch_scale(step, pair), tuple(queries), self._ramp(step, pair.device))

    def branch_scale(self, step: Step, pair: Int[Tensor, " pairs"]) -> Float[Tensor, "depth pairs"]:
        """0 where a block is dropped for a pair, else 1 / keep probability."""
        if self.drop_path == 0:
            return torch.ones(self.depth, len(pair), device=pair.device)
        depths = torch.arange(self.depth, device=pair.device) / max(1, self.depth - 1)
        keep = 1 - self.drop_path * depths
        kept = uniform(DROP_PATH, self.seed, step, pair, self.depth) < keep
        return (kept / keep).T

    def _ramp(self, step: Step, device: torch.device) -> Float[Tensor, ""]:
        if self.inverse_warmup_updates == 0:
            return torch.ones((), device=device)
        return (torch.zeros((), device=device) + step).div(self.inverse_warmup_updates).clamp(max=1)


def query_plans(grids: Grids, recipe: RecipeConfig) -> tuple[QueryPlan, ...]:
    return tuple(QueryPlan.of(grid, recipe.query_points, recipe.query_strategy) for grid in grids.values())
