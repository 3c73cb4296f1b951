"""The stream of micro-batches of a training; both data paths deliver the same pairs in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.multiprocessing import get_start_method
from torch.utils.data import DataLoader, Dataset

from trainer.contracts.sections import AnySpeed
from trainer.data.batches.batch import Batch
from trainer.data.batches.mixture import MixedSchedule, ResidentSet, TaskSet


@dataclass(frozen=True)
class Share:
    """The part of every update that one rank works on, cut into micro-steps."""

    schedule: MixedSchedule
    rank: int
    world_size: int
    micro_steps: int

    def pairs(self, step: int, micro_step: int) -> np.ndarray:
        return self.schedule.micro_batch(step, micro_step, self.micro_steps, self.rank, self.world_size)


class ResidentFeed:
    def __init__(self, pairs: ResidentSet, share: Share) -> None:
        self.pairs, self.share = pairs, share

    def update(self, step: int) -> Iterator[Batch]:
        """Yield the micro-batches of an update; steps count from 1."""
        for micro_step in range(self.share.micro_steps):
            yield self.micro_batch(step, micro_step)

    def micro_batch(self, step: int, micro_step: int) -> Batch:
        chosen = torch.from_numpy(self.share.pairs(step, micro_step))
        if self.pairs.device.type == "cuda":
            chosen = chosen.pin_memory()  # else the copy waits
        return self.pairs.read(chosen.to(self.pairs.device, non_blocking=True))

    def first_batch(self) -> Batch:
        return next(self.update(1))

    def effective(self) -> dict[str, str | int]:
        return {
            "data_path": "resident",
            "data_device": self.pairs.device.type,
            "loader_workers": 0,
            "micro_steps": self.share.micro_steps,
        }

    def close(self) -> None:
        """Nothing to give back."""


class LoaderFeed:
    """DataLoader workers read ahead; updates must be taken in the order of `steps`."""

    def __init__(
        self, pairs: TaskSet, share: Share, steps: range, speed: AnySpeed, device: torch.device
    ) -> None:
        self.device, self.micro_steps = device, share.micro_steps
        if speed.loader_workers and get_start_method() == "fork":
            for task in pairs.tasks:
                task.load_chunked()
        self.loader = DataLoader(
            _MicroBatches(pairs, share),
            batch_size=None,
            sampler=[(step, micro) for step in steps for micro in range(share.micro_steps)],
            num_workers=speed.loader_workers,
            prefetch_factor=speed.loader_prefetch if speed.loader_workers else None,
            pin_memory=speed.loader_pinned and device.type == "cuda",
        )
        self.batches = iter(self.loader)

    def update(self, step: int) -> Iterator[Batch]:
        """Yield the micro-batches of the next update, which must be `step`."""
        for _ in range(self.micro_steps):
            yield next(self.batches).to(self.device)

    def first_batch(self) -> Batch:
        """The first micro-batch of the training, outside the stream."""
        return self.loader.dataset[1, 0].to(self.device)

    def effective(self) -> dict[str, str | int]:
        workers = getattr(self.batches, "_workers", [])
        return {
            "data_path": "loader",
            "data_device": "cpu",
            "loader_workers": sum(worker.is_alive() for worker in workers),
            "loader_prefetch": (self.loader.prefetch_factor or 0) if workers else 0,
            "loader_pinned": getattr(self.batches, "_pin_memory", False),
            "micro_steps": self.micro_steps,
        }

    def close(self) -> None:
        shut_down = getattr(self.batches, "_shutdown_workers", None)
        if shut_down:
            shut_down()


Feed = ResidentFeed | LoaderFeed


def open_feed(
    pairs: TaskSet, share: Share, updates: int, speed: AnySpeed, device: torch.device, first_step: int = 1
) -> Feed:
    """Return the feed of the updates first_step..updates; a resumed run does not start at 1."""
    if speed.data_path == "resident":
        return ResidentFeed(ResidentSet(pairs, device), share)
    return LoaderFeed(pairs, share, range(first_step, updates + 1), speed, device)


class _MicroBatches(Dataset):
    """One item is one whole micro-batch, so that a worker reads it in a few vectorised accesses."""

    def __init__(self, pairs: TaskSet, share: Share) -> None:
        self.pairs, self.share = pairs, share

    def __getitem__(self, place: tuple[int, int]) -> Batch:
        step, micro_step = place
        return self.pairs.read(self.share.pairs(step, micro_step))
