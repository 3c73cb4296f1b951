"""How fast a rival trains, and what it writes of that; nothing here waits for the device within an update."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import torch

from benchmarks.harness import machine
from benchmarks.rivals.adamw import largest_rate
from trainer.config import Config
from trainer.process.terminal import answer

WARM_UPS = 0.5  # of the updates


class Stopwatch:
    """Seconds per update between two waits for the device, the end of the warm-up and the end; and each
    update's milliseconds, by marks that the device makes as it gets there."""

    def __init__(self, updates: int) -> None:
        self.first, self.last = int(updates * WARM_UPS), updates
        self.on_gpu = torch.cuda.is_available()
        self.started = self.seconds = 0.0
        self.marks: list[torch.cuda.Event | float] = []  # of the warm-up's end and of each update after it

    def after(self, update: int) -> None:
        if update == self.first:
            self._wait()
            self.started = time.perf_counter()
        if update >= self.first:
            self.marks.append(self._mark())
        if update == self.last:
            self._wait()
            self.seconds = (time.perf_counter() - self.started) / (self.last - self.first)

    def milliseconds(self) -> list[float]:
        """Of each timed update; after the last."""
        return [
            before.elapsed_time(mark) if self.on_gpu else (mark - before) * 1e3
            for before, mark in pairwise(self.marks)
        ]

    def _mark(self) -> torch.cuda.Event | float:
        if not self.on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()


def write_result(
    out: Path,
    rival: str,
    commit: str,
    config: Config,
    stopwatch: Stopwatch,
    world_size: int,
    losses: tuple[float, float],
) -> None:
    """Print and write what was measured; `rival` is the name of its package."""
    reserved = torch.cuda.max_memory_reserved() if stopwatch.on_gpu else None
    result = {
        "rival": rival,
        "rival_version": version(rival),
        "gpu": machine.gpu(),
        "driver": machine.driver(),
        "commit": commit,
        "world_size": world_size,
        "pairs_per_update": config.train.pairs_per_update,
        "micro_steps": config.speed.accumulation_steps,
        "graph": "split" if torch._dynamo.config.optimize_ddp else "one",
        "updates": config.train.updates,
        "warmup_updates": config.warmup_updates,
        "largest_learning_rate": largest_rate(config),
        "seconds_per_update": stopwatch.seconds,
        "pairs_per_second": config.train.pairs_per_update / stopwatch.seconds,
        "milliseconds": [round(each, 3) for each in stopwatch.milliseconds()],
        "peak_memory_reserved_bytes": reserved,
        "first_loss": losses[0],
        "last_loss": losses[1],
        "torch": torch.__version__,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=2) + "\n")
    answer(json.dumps(result))
