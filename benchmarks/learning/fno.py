"""A library FNO (`neuraloperator`) of one task, trained one step ahead on our data for a given time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks.learning.library import FNO
from trainer.config import Config
from trainer.data.batches.batch import Batch
from trainer.data.batches.pair_readers import MappedPairs, ResidentPairs
from trainer.data.batches.schedule import BatchSchedule
from trainer.data.conditions import condition_size
from trainer.data.splits import Data
from trainer.process.world import World
from trainer.run.evaluation.one_step import Evaluator

MODES = {1: (32,), 2: (24, 24)}
WIDTH = {1: 64, 2: 48}
LAYERS = 4
LEARNING_RATE, WEIGHT_DECAY, PAIRS = 1e-3, 1e-4, 128
EVALUATIONS = 8
STEPS_BETWEEN_CLOCK_READS = 10  # a wait for the GPU after each step would leave it idle between them


class ConditionedFno(nn.Module):
    """Gets the condition vector as constant channels; answers like the trainer's model."""

    def __init__(self, pairs: MappedPairs, grid: tuple[int, ...]) -> None:
        super().__init__()
        self.pairs = min(PAIRS, len(pairs.table))
        channels = len(pairs.task.given) + condition_size(pairs.tasks)
        modes = tuple(min(n, points // 2) for n, points in zip(MODES[len(grid)], grid, strict=True))
        self.fno = FNO(
            n_modes=modes,
            in_channels=channels,
            out_channels=len(pairs.task.target),
            hidden_channels=WIDTH[len(grid)],
            n_layers=LAYERS,
        )

    def forward(self, task: str, field: Tensor, condition: Tensor) -> Tensor:
        """In evaluation by batches as large as in training, the last one filled up.

        What the library's FNO makes of a pair depends on the size of the batch: the spectra that it
        transforms back are not those of real fields, and cuFFT's kernels differ in what they make of such.
        """
        channels = self.channels(field, condition)
        if self.training:
            return self.fno(channels)
        missing = -len(channels) % self.pairs
        filled = torch.cat([channels, channels[-1:].expand(missing, *channels.shape[1:])])
        return torch.cat([self.fno(rows) for rows in filled.split(self.pairs)])[: len(channels)]

    def channels(self, field: Tensor, condition: Tensor) -> Tensor:
        constant = condition.view(*condition.shape, *(1 for _ in field.shape[2:]))
        return torch.cat([field, constant.expand(-1, -1, *field.shape[2:])], dim=1)

    def capture(self, batch: Batch) -> None:
        """Replay the passes over such a batch as CUDA graphs: a small FNO would wait for its launches."""
        sample = self.channels(batch.field, batch.condition)
        torch.cuda.make_graphed_callables(self.fno, (sample,), allow_unused_input=True)


def train_fno(
    config: Config, data: Data, task: str, seconds: float, seed: int, world: World
) -> Iterator[dict[str, float]]:
    """Yield the held-out errors several times while training for `seconds`, evaluations not counted."""
    torch.manual_seed(seed)
    place = config.data.tasks.index(task)
    mapped = data.train.tasks[place]
    resident = ResidentPairs(mapped, world.device)
    schedule = BatchSchedule(len(mapped.table), min(PAIRS, len(mapped.table)), seed, task)
    model = ConditionedFno(mapped, config.grids[task]).to(world.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    parameters = sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())  # real numbers
    evaluation = replace(config.evaluation, batch_pairs=model.pairs)
    evaluator = Evaluator(replace(config, evaluation=evaluation), data.held_out, world)
    on_gpu = world.device.type == "cuda"

    def batch_of(step: int) -> Batch:
        return resident.read(torch.from_numpy(schedule.update(step)).to(world.device))

    if on_gpu:
        model.capture(batch_of(1))
    spent, step = 0.0, 0
    for goal in (seconds * (n + 1) / EVALUATIONS for n in range(EVALUATIONS)):
        while spent < goal:
            started = time.perf_counter()
            for group in optimizer.param_groups:  # a cosine in time
                group["lr"] = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * min(1.0, spent / seconds)))
            for _ in range(STEPS_BETWEEN_CLOCK_READS):
                step += 1
                batch = batch_of(step)
                loss = (model(task, batch.field, batch.condition) - batch.next_field).square().mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            if on_gpu:
                torch.cuda.synchronize()
            spent += time.perf_counter() - started
        errors = evaluator.errors_of(model.eval(), task)
        model.train()
        yield {
            "step": step,
            "parameters": parameters,
            "training_seconds": spent,
            "train_loss": loss.item(),
            f"val_loss/{task}": errors.val_loss,
            f"persistence_loss/{task}": errors.persistence_loss,
            f"nrmse/{task}": errors.nrmse,
        }
