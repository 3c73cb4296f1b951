"""The larger events of metrics.jsonl, made from the objects of a run."""

from __future__ import annotations

import math
import platform
import sys
import time

import numpy as np
import torch

from trainer.config import Config, config_hash, to_plain
from trainer.data.batches.feed import Feed
from trainer.data.splits import Data
from trainer.errors import Diverged
from trainer.losses.read_back import WORK_KEYS
from trainer.model.latent_operator import parameter_count
from trainer.process.clock import seconds_since_start
from trainer.process.terminal import say
from trainer.process.world import World
from trainer.run.checkpoint.manager import CheckpointManager
from trainer.run.evaluation.one_step import Evaluator, beside_judged
from trainer.run.evaluation.rollouts import finite_part
from trainer.run.record.metrics_file import SCHEMA_VERSION, MetricsFile
from trainer.run.step.fallback import Started
from trainer.run.step.learner import Learner
from trainer.sharding import whole_state
from trainer.switches.process.process_switches import ProcessSwitches

# Evaluations from one with rollouts to the next: a drift that one-step errors hide is seen as it comes.
ROLLOUTS_EVERY = 5


def write_run_start(
    metrics: MetricsFile,
    config: Config,
    seed: int,
    world: World,
    data: Data,
    started: Started,
    feed: Feed,
    switches: ProcessSwitches,
    checkpoints: CheckpointManager,
) -> None:
    metrics.write(
        "run_start",
        schema_version=SCHEMA_VERSION,
        config=to_plain(config),
        config_hash=config_hash(config),
        seed=seed,
        world_size=world.size,
        device_names=world.gather_text(world.device_name()),
        versions=_versions(),
        parameter_count=parameter_count(started.learner.model),
        data_hash=data.content_hash,
        evaluation_samples=len(data.held_out),
        period_steps=config.period_updates,
        planned_steps=config.cut.steps,
        effective={
            **started.effective(),
            **feed.effective(),
            **switches.effective(),
            **checkpoints.writer.effective(),
        },
        work_keys=list(WORK_KEYS),
        resumed_at_steps=list(checkpoints.earlier.resumed_at_steps) or None,
    )


def write_evaluation(metrics: MetricsFile, step: int, evaluator: Evaluator, learner: Learner) -> float:
    """Evaluate the weights and their average; return the val_loss of what the config has judged of both."""
    started, config = time.perf_counter(), learner.config
    weights = {"raw": whole_state(learner.model), "ema": learner.ema.weights()}
    errors = {name: evaluator.errors(tensors) for name, tensors in weights.items()}
    for name, words in (("raw", ""), (config.judged_weights, " of the averaged weights")):
        loss = errors[name].val_loss
        if not math.isfinite(loss):  # by the update whose loss was the last that was looked at
            raise Diverged(step, f"the held-out loss{words} of step {step} is {loss}")
    numbers = {name: {"val_loss": found.val_loss, **found.metrics()} for name, found in errors.items()}
    judged = errors[config.judged_weights]
    is_last = step == config.cut.steps
    rolls_out = is_last or config.cut.is_due(step, ROLLOUTS_EVERY * config.evaluation.every_updates)
    rollouts = evaluator.rollout_errors(weights[config.judged_weights]) if rolls_out else {}
    finite = finite_part(rollouts)
    if is_last and evaluator.world.rank == 0:
        nrmse = judged.metrics()["nrmse"]
        say(f"held-out loss {judged.val_loss:.4g}, NRMSE {nrmse:.4g} after {step} steps", sys.stdout)
    metrics.write(
        "evaluation",
        step=step,
        samples_seen=round(config.cut.position(step) * config.train.pairs_per_update),
        val_loss=judged.val_loss,
        metrics={**beside_judged(numbers, config.judged_weights), **judged.metrics(), **finite},
        not_finite=sorted(rollouts.keys() - finite.keys()) or None,
        seconds=time.perf_counter() - started,
    )
    return judged.val_loss


def write_run_end(
    metrics: MetricsFile,
    world: World,
    learner: Learner,
    switches: ProcessSwitches,
    checkpoints: CheckpointManager,
) -> None:
    train, steps = learner.config.train, learner.config.cut.steps
    memory = _allocator_record(world)
    metrics.write(
        "run_end",
        status="finished",
        samples=train.updates * train.pairs_per_update,
        attempted_updates=steps,
        skipped_updates=learner.scaled_step.skipped_updates,
        nccl_warnings=switches.nccl_warnings(),
        updates_read=switches.updates_read,
        memory_cleanups=switches.cleanup.made,
        asynchronous_checkpoints=checkpoints.writer.by_thread,
        total_seconds=checkpoints.earlier.seconds + seconds_since_start(),
        **memory,
    )


def _allocator_record(world: World) -> dict[str, list[int]]:
    """What the caching allocator of each rank counted; nothing without a GPU."""
    if world.device.type != "cuda":
        return {}
    mine = {
        "peak_memory_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_memory_reserved_bytes": torch.cuda.max_memory_reserved(),
        "allocation_retries": torch.cuda.memory_stats()["num_alloc_retries"],
    }
    everyone = world.gather(torch.tensor(list(mine.values()), device=world.device)).tolist()
    return {name: [row[column] for row in everyone] for column, name in enumerate(mine)}


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    if torch.cuda.is_available():
        versions["cuda"] = torch.version.cuda or "unknown"
        versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return versions
