"""Floating-point operations of one training pair, counted on tensors without data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from trainer.build import build_choices, build_model, build_objective
from trainer.config.schema import Config, SpeedConfig
from trainer.contracts.term import EVERYTHING, Phase
from trainer.data.batches.batch import Batch
from trainer.data.conditions import condition_size
from trainer.data.tasks import TASKS
from trainer.model.token_grid import Grids
from trainer.switches.model import hoist_fixed_grid

PARTS = ("encoder", "operator", "decoder")


def flops_per_pair(config: Config, steps: range | None = None) -> dict[str, float]:
    """FLOP of matrix products, forward and backward, by part and in all; a multiply-add counts 2.

    The mean over the pairs of some steps, by default of all, of which not all have every term, and over the
    tasks by their shares. Attention counts its products once, whatever kernel repeats some, and places
    that pairs have in common once where they are embedded once: products that are not made are no work.
    """
    choices, steps_of = build_choices(config, 0), Counter()
    plain = replace(config, speed=_leaving_out_products(config.speed))
    for step in steps or range(1, config.cut.steps + 1):
        steps_of[choices.phase(step)] += 1
    mean: dict[str, float] = Counter()
    for phase, count in steps_of.items():
        for part, flops in _flops_per_pair_in(plain, phase).items():
            mean[part] += flops * count / steps_of.total()
    return dict(mean)


@lru_cache
def _flops_per_pair_in(config: Config, phase: Phase) -> dict[str, float]:
    # So many that the embedding of the tokens' places, once a decode, weighs nothing in the mean.
    each = 256 * config.recipe.inverse_every_nth_pair
    with FlopCounterMode(display=False) as counter:
        pairs = pass_without_data(config, each, phase)
    counts = counter.get_flop_counts()
    by_part = {part: sum(counts.get(module_of(part), {}).values()) / pairs for part in PARTS}
    return {**by_part, "all": sum(counts["Global"].values()) / pairs}


def module_of(part: str) -> str:
    """Its name as torch's module tracker gives it."""
    return f"Objective.model.{part}"


def pass_without_data(config: Config, pairs: int, phase: Phase = EVERYTHING) -> int:
    """Forward and backward on tensors without data; return the number of all pairs.

    pairs: for each unit of a task's share.
    """
    config = replace(config, speed=_leaving_out_products(config.speed))
    objective = build_objective(build_model(config), config).to("meta")
    hoist_fixed_grid.put_on(objective, config.speed)
    batch = _batch_without_data(config.grids, config.task_shares, pairs)
    inputs = build_choices(config, 0).inputs(1, batch.pair)
    with sdpa_kernel(SDPBackend.MATH):
        objective(batch, inputs, phase).backward()
    return len(batch.pair)


def _leaving_out_products(speed: SpeedConfig) -> SpeedConfig:
    """With the one switch that does, so that all others share what was counted."""
    return SpeedConfig(hoist_fixed_grid=speed.hoist_fixed_grid)


def _batch_without_data(grids: Grids, shares: tuple[int, ...], pairs: int) -> Batch:
    sizes = [pairs * share for share in shares]
    tasks = [(TASKS[name], grid) for name, grid in grids.items()]
    shapes = list(zip(sizes, tasks, strict=True))
    return Batch(
        torch.zeros(sum(sizes), dtype=torch.long, device="meta"),
        tuple(torch.empty(size, len(task.given), *grid, device="meta") for size, (task, grid) in shapes),
        tuple(torch.empty(size, len(task.target), *grid, device="meta") for size, (task, grid) in shapes),
        torch.empty(sum(sizes), condition_size(tuple(grids)), device="meta"),
    )
