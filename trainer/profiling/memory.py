"""Bytes that a training holds, by what they are for, and the memory of its loader workers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from trainer.data.batches.feed import Feed, ResidentFeed
from trainer.run.step.learner import Learner
from trainer.sharding import local


def held_bytes(learner: Learner, feed: Feed) -> dict[str, int]:
    """What this rank holds from step to step; gradients as large as they are during a step."""
    weights = list(learner.model.parameters())
    return {
        "weights": _bytes(weights),
        "gradients": _bytes(weight for weight in weights if weight.requires_grad),
        "optimizer state": _bytes(learner.optimizer.held()),
        "averaged weights": _bytes(learner.ema.averages),
        "resident data": _bytes(t.states for t in feed.pairs.tasks) if isinstance(feed, ResidentFeed) else 0,
    }


def worker_bytes(process_ids: Iterable[int]) -> list[int]:
    """Proportional set size of each process: pages that n processes share count 1/n. Linux alone tells it."""
    return [_proportional_set_size(Path(f"/proc/{process_id}/smaps_rollup")) for process_id in process_ids]


def _proportional_set_size(path: Path) -> int:
    if not path.exists():
        return 0
    kilobytes = [line.split()[1] for line in path.read_text().splitlines() if line.startswith("Pss:")]
    return 1024 * sum(map(int, kilobytes))


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(local(tensor).numel() * tensor.element_size() for tensor in tensors)
