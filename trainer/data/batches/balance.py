"""Do the ranks of a training see the same mixture? Counts of what each of them trains on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainer.data.batches.mixture import MixedSchedule, TaskSet
from trainer.process.terminal import show_progress

LARGEST_SPREAD = 0.1  # standard deviation over the ranks / mean


@dataclass(frozen=True)
class FileBalance:
    """Pairs of one file (one choice of a task's parameters) that each rank trains on."""

    task: str
    file: str
    pairs: np.ndarray  # per rank

    @property
    def spread(self) -> float:
        return float(self.pairs.std() / self.pairs.mean()) if self.pairs.any() else float("inf")


def sampling_balance(
    train: TaskSet, schedule: MixedSchedule, steps: int, micro_steps: int, ranks: int
) -> list[FileBalance]:
    """Go through the batches of a whole training, without reading their fields."""
    counts = [np.zeros((len(task.files), ranks), dtype=np.int64) for task in train.tasks]
    for step in range(1, steps + 1):
        for micro_step in range(micro_steps):
            for rank in range(ranks):
                pairs = schedule.micro_batch(step, micro_step, micro_steps, rank, ranks)
                for task, first, count in zip(train.tasks, train.first_pairs, counts, strict=True):
                    own = pairs[(pairs >= first) & (pairs < first + len(task.table))] - first
                    count[:, rank] += np.bincount(task.file_of(own), minlength=len(task.files))
        show_progress("step", step, steps)
    return [
        FileBalance(task.task.name, file.path.name, row)
        for task, count in zip(train.tasks, counts, strict=True)
        for file, row in zip(task.files, count, strict=True)
    ]


def is_balanced(balance: list[FileBalance]) -> bool:
    return all(part.spread < LARGEST_SPREAD for part in balance)


def as_text(balance: list[FileBalance]) -> str:
    """One line per file: pairs per rank and their spread."""
    lines = [
        f"{part.task}  {part.file}  pairs per rank {' '.join(map(str, part.pairs))}  "
        f"std/mean {part.spread:.1%}{'' if part.spread < LARGEST_SPREAD else '  UNBALANCED'}"
        for part in balance
    ]
    verdict = "balanced" if is_balanced(balance) else "unbalanced"
    return "\n".join([*lines, f"{verdict}: std/mean over ranks must be below {LARGEST_SPREAD:.0%}"])
