"""The command `tune-batch`: the most pairs per micro-step that a GPU's memory holds, before any training."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable
from dataclasses import replace

import torch

from trainer.config import Config
from trainer.config.rules import broken_rules
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import Data, open_data
from trainer.errors import ConfigError
from trainer.process.ranks import rank_from_environment
from trainer.process.terminal import answer
from trainer.process.world import World, open_world
from trainer.run.failures.failure import is_out_of_memory
from trainer.run.step.learner import Learner

TRIAL_UPDATES = 2  # the second has optimizer state and gradients side by side


def tune_batch(config: Config, memory_fraction: float) -> int:
    """Print the largest number of pairs per micro-step, and what to set; one GPU, no wrapper."""
    if (processes := rank_from_environment()[1]) > 1:
        raise ConfigError(
            f"tune-batch: was started as {processes} processes, expected one: it searches on a single GPU. "
            "Start it without torchrun"
        )
    with open_world(config.train.timeout_seconds) as world:
        if world.device.type != "cuda":
            raise ConfigError(
                "tune-batch: there is no GPU, expected one: its memory is the limit. Run it on a GPU"
            )
        torch.cuda.set_per_process_memory_fraction(memory_fraction)
        data = open_data(config)
        unit = sum(config.task_shares) * config.recipe.inverse_every_nth_pair
        most = _most_pairs(data, config.task_shares)

        def trial(pairs: int) -> None:
            _train(_trial(config, pairs), data, world)

        found = largest_that_fits(lambda pairs: _fits(pairs, trial), unit, most)
    if found == 0:
        answer(f"{unit} pairs per micro-step, the smallest number, do not fit into memory")
        return 1
    micro_steps = fewest_micro_steps(config, found)
    if micro_steps is None:
        answer(
            f"{found} pairs per micro-step fit, but no speed.accumulation_steps makes every micro-step "
            "that small"
        )
        return 1
    answer(f"{found} pairs per micro-step fit; on one GPU, set speed.accumulation_steps={micro_steps}")
    return 0


def fewest_micro_steps(config: Config, pairs: int) -> int | None:
    """Return how many keep to so many pairs in a step and to all rules; None where none do."""
    for micro_steps in range(math.ceil(config.step_pairs / pairs), config.train.pairs_per_update + 1):
        cut = replace(config, speed=replace(config.speed, accumulation_steps=micro_steps))
        if not list(broken_rules(cut)):
            return micro_steps
    return None


def largest_that_fits(fits: Callable[[int], bool], unit: int, most: int) -> int:
    """Return the largest multiple of `unit` up to `most` that fits, 0 if none; to within a sixteenth.

    Doubles until one does not fit, then halves the gap; each size is tried once.
    """
    fitting, tried = 0, unit
    while tried <= most and fits(tried):
        fitting, tried = tried, tried * 2
    failing = min(tried, most + unit)
    while failing - fitting > max(unit, fitting // 16):
        tried = (fitting + failing) // 2 // unit * unit
        if tried in (fitting, failing):
            break
        fitting, failing = (tried, failing) if fits(tried) else (fitting, tried)
    return fitting


def _fits(pairs: int, trial: Callable[[int], None]) -> bool:
    """Whether the trial of so many pairs runs."""
    try:
        trial(pairs)
        fits = True
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        fits = False
    if "torch._dynamo" in sys.modules:  # where something was compiled
        torch._dynamo.reset()  # each size has graphs of its own, which nothing else frees
    gc.collect()
    torch.cuda.empty_cache()
    answer(f"{pairs} pairs: {'fit' if fits else 'do not fit'}")
    return fits


def _trial(config: Config, pairs: int) -> Config:
    """Return a training of few steps, of so many pairs in one micro-step; each is the heaviest there is."""
    return replace(
        config,
        train=replace(config.train, pairs_per_update=pairs, updates=TRIAL_UPDATES),
        optimizer=replace(config.optimizer, warmup_updates=0),
        recipe=replace(
            config.recipe,
            inverse_every=1,
            priors_every=1,
            exploration_updates=0,
            batch_cut_into=1,
            warmup_updates=None,
        ),
        speed=replace(config.speed, accumulation_steps=1, cuda_graph=False, wrapper="none"),
    )


def _train(config: Config, data: Data, world: World) -> None:
    share = Share(data.train.schedule(config.train.pairs_per_update, 0), 0, 1, 1)
    feed = open_feed(data.train, share, TRIAL_UPDATES, config.speed, world.device)
    try:
        learner = Learner(config, 0, world)
        # fp16's own first scale overflows: both updates would be skipped, without an optimizer's state.
        learner.scaled_step.start_at(1.0)
        for step in range(1, TRIAL_UPDATES + 1):
            learner.update(step, feed)
        torch.cuda.synchronize()
    finally:
        feed.close()


def _most_pairs(data: Data, shares: tuple[int, ...]) -> int:
    """A micro-step cannot have more pairs of a task than there are."""
    of_tasks = zip(data.train.tasks, shares, strict=True)
    return min(len(pairs.table) // share for pairs, share in of_tasks) * sum(shares)
