"""Which trajectories are held out, which pairs there are, and how a pair's number is taken apart."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from trainer.config.schema import DataConfig
from trainer.data.layout import TrajectoryFile


@dataclass(frozen=True)
class PairTable:
    """The pairs of one split. Pair p is frame pair p % pairs_per_trajectory of trajectory p // pairs_per_trajectory."""

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

    def __len__(self) -> int:
        return self.trajectories * self.pairs_per_trajectory


@dataclass(frozen=True)
class Splits:
    train: PairTable
    held_out: PairTable


def split_trajectories(config: DataConfig) -> Splits:
    """Split the trajectories of each file, disjoint, by data.seed alone."""
    count = config.advection1d.trajectories
    held_out = min(count - 1, max(1, round(count * config.held_out_fraction)))
    orders = [
        np.random.default_rng([config.seed, index, 1]).permutation(count)
        for index in range(len(config.advection1d.betas))
    ]
    return Splits(
        train=_table(config, [np.sort(order[held_out:]) for order in orders]),
        held_out=_table(config, [np.sort(order[:held_out]) for order in orders]),
    )


def data_hash(config: DataConfig, files: list[TrajectoryFile]) -> str:
    """Equal exactly when two runs train and evaluate on the same numbers."""
    selection = [config.seed, config.held_out_fraction, config.reduced_resolution, config.frame_strides]
    parts = [[file.beta, file.content_hash or _hash_file(file), config.advection1d.trajectories] for file in files]
    return hashlib.sha256(json.dumps([selection, parts]).encode()).hexdigest()[:16]


def _table(config: DataConfig, rows: list[np.ndarray]) -> PairTable:
    firsts = [np.arange(config.advection1d.frames - stride) for stride in config.frame_strides]
    return PairTable(
        file_index=np.concatenate([np.full(len(part), index) for index, part in enumerate(rows)]),
        row=np.concatenate(rows),
        first_frame=np.concatenate(firsts),
        stride=np.concatenate([np.full(len(first), s) for first, s in zip(firsts, config.frame_strides, strict=True)]),
    )


def _hash_file(file: TrajectoryFile) -> str:
    return hashlib.sha256(np.memmap(file.path, mode="r", dtype=np.uint8)).hexdigest()
