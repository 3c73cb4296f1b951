"""Which trajectories of a task are held out, which pairs there are, and what a pair's number means."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trainer.config.schema import DataConfig
from trainer.data.layouts.field_file import FieldFile


@dataclass(frozen=True)
class PairTable:
    """The pairs of one task and split.

    Pair p is frame pair p % pairs_per_trajectory of trajectory p // pairs_per_trajectory.
    """

    file_index: np.ndarray  # per trajectory
    row: np.ndarray  # per trajectory, in its file
    first_frame: np.ndarray  # per frame pair
    stride: np.ndarray  # per frame pair, in frames

    @property
    def trajectories(self) -> int:
        return len(self.row)

    @property
    def pairs_per_trajectory(self) -> int:
        return len(self.first_frame)

    def rows_of(self, file: int) -> np.ndarray:
        """The rows of a file, in ascending order."""
        return self.row[self.file_index == file]

    def runs(self, part: slice) -> Iterator[tuple[slice, int, slice]]:
        """Cut a part of the trajectories into rows that follow each other: place in the part, file, rows."""
        file_index, row = self.file_index[part], self.row[part]
        gaps = np.flatnonzero((np.diff(file_index) != 0) | (np.diff(row) != 1)) + 1
        for start, stop in pairwise((0, *gaps, len(row))):
            yield slice(start, stop), int(file_index[start]), slice(row[start], row[stop - 1] + 1)

    @property
    def digest(self) -> str:
        """Of all that it lists."""
        found = hashlib.sha256()
        for part in (self.file_index, self.row, self.first_frame, self.stride):
            found.update(f"{part.dtype} {part.shape}".encode() + part.tobytes())
        return found.hexdigest()

    def __len__(self) -> int:
        return self.trajectories * self.pairs_per_trajectory


@dataclass(frozen=True)
class Splits:
    train: PairTable
    held_out: PairTable

    @property
    def digest(self) -> str:
        return self.train.digest + self.held_out.digest


def split_trajectories(config: DataConfig, task: str) -> Splits:
    """Split the trajectories, disjoint, by data.seed alone; the same rows are held out of every file.

    PDEBench's files of one equation hold the same draws, solved with another parameter (its configs of
    advection, data_gen_NLE/AdvectionEq/config/multi/beta*.yaml, all have init_key 2022): a row held out of
    one file alone would be learned from the others.
    """
    settings = getattr(config, task)
    count = settings.trajectories
    held_out = min(count - 1, max(1, round(count * config.held_out_fraction)))
    order = np.random.default_rng([config.seed, 0, 1]).permutation(count)
    files = len(settings.cases)
    strides = config.strides_of(task)
    return Splits(
        train=_table(settings.frames, strides, np.sort(order[held_out:]), files),
        held_out=_table(
            settings.frames, strides, np.sort(order[:held_out]), files, config.held_out_every_nth_frame
        ),
    )


def data_hash(
    config: DataConfig,
    files: dict[str, list[FieldFile]],
    content_hashes: dict[str, tuple[str, ...]],
    splits: dict[str, Splits],
) -> str:
    """Equal only where two runs train and evaluate on the same pairs, of the files of each task.

    A file that we did not write, or that was changed since, is hashed whole: written again with the same
    fields it may count as another.
    """
    resolutions = [config.reduced_resolution, config.reduced_resolution_2d]
    conditions = {
        task: [[file.frame_seconds, file.spacing, sorted(file.parameters.items())] for file in of_task]
        for task, of_task in files.items()
    }
    parts = [
        [task, of_files, conditions[task], splits[task].digest] for task, of_files in content_hashes.items()
    ]
    return hashlib.sha256(json.dumps([resolutions, parts]).encode()).hexdigest()[:16]


def _table(
    frames: int, strides: tuple[int, ...], rows: np.ndarray, files: int, every_nth_frame: int = 1
) -> PairTable:
    firsts = [np.arange(0, frames - stride, every_nth_frame) for stride in strides]
    return PairTable(
        file_index=np.repeat(np.arange(files), len(rows)),
        row=np.tile(rows, files),
        first_frame=np.concatenate(firsts),
        stride=np.concatenate(
            [np.full(len(first), stride) for first, stride in zip(firsts, strides, strict=True)]
        ),
    )
