"""The data of a run: both splits, in the units of the training split."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.config.schema import DataConfig
from trainer.data.normalisation import measure_normalisation
from trainer.data.pairs import data_hash, split_trajectories
from trainer.data.paths import MappedPairs
from trainer.data.sources import open_files


@dataclass(frozen=True)
class Data:
    train: MappedPairs
    held_out: MappedPairs
    content_hash: str


def open_data(config: DataConfig) -> Data:
    """Open the files, generated if need be, and measure the normalisation on the training split."""
    files = open_files(config)
    splits = split_trajectories(config)
    normalisation = measure_normalisation(files, splits.train, config.reduced_resolution)
    train, held_out = (
        MappedPairs(files, table, normalisation, config.reduced_resolution) for table in (splits.train, splits.held_out)
    )
    return Data(train, held_out, data_hash(config, files))
