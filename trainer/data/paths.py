"""How pairs are read: from the memory-mapped files, or from one tensor that lies on the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from trainer.data.batch import Batch
from trainer.data.layout import TrajectoryFile
from trainer.data.normalisation import Normalisation, conditions
from trainer.data.pairs import PairTable


@dataclass(frozen=True)
class MappedPairs:
    """Reads pairs of one split from the files; opened lazily, so that each worker process has its own maps."""

    files: list[TrajectoryFile]
    table: PairTable
    normalisation: Normalisation
    reduced_resolution: int

    def read(self, pairs: np.ndarray) -> Batch:
        trajectory, frame_pair = np.divmod(pairs, self.table.pairs_per_trajectory)
        frame, stride = self.table.first_frame[frame_pair], self.table.stride[frame_pair]
        dt, beta = self._conditions
        return Batch(
            pair=torch.from_numpy(pairs),
            field=self.normalisation.normalise(torch.from_numpy(self._frames(trajectory, frame))),
            next_field=self.normalisation.normalise(torch.from_numpy(self._frames(trajectory, frame + stride))),
            condition=torch.from_numpy(np.stack([dt[frame_pair], beta[trajectory]], axis=1)),
        )

    def _frames(self, trajectory: np.ndarray, frame: np.ndarray) -> np.ndarray:
        file_index, row = self.table.file_index[trajectory], self.table.row[trajectory]
        points = self.files[0].points // self.reduced_resolution
        fields = np.empty((len(row), points), dtype=np.float32)
        for index in np.unique(file_index):
            chosen = file_index == index
            fields[chosen] = self._values[index][row[chosen], frame[chosen], :: self.reduced_resolution]
        return fields

    @cached_property
    def _values(self) -> list[np.ndarray]:
        return [file.values() for file in self.files]

    @cached_property
    def _conditions(self) -> tuple[np.ndarray, np.ndarray]:
        return conditions(self.files, self.table, self.normalisation)


class ResidentPairs:
    """The trajectories of one split as one tensor on the device; a batch is an index into it."""

    def __init__(self, mapped: MappedPairs, device: torch.device) -> None:
        table, factor = mapped.table, mapped.reduced_resolution
        values = [file.values() for file in mapped.files]
        rows = [values[index][row, :, ::factor] for index, row in zip(table.file_index, table.row, strict=True)]
        self.fields = mapped.normalisation.normalise(torch.from_numpy(np.stack(rows)).to(device))
        self.frame_pairs = table.pairs_per_trajectory
        self.first_frame = torch.from_numpy(table.first_frame).to(device)
        self.stride = torch.from_numpy(table.stride).to(device)
        dt, beta = conditions(mapped.files, table, mapped.normalisation)
        self.dt, self.beta = torch.from_numpy(dt).to(device), torch.from_numpy(beta).to(device)

    def read(self, pairs: torch.Tensor) -> Batch:
        trajectory, frame_pair = pairs // self.frame_pairs, pairs % self.frame_pairs
        frame = self.first_frame[frame_pair]
        return Batch(
            pair=pairs,
            field=self.fields[trajectory, frame],
            next_field=self.fields[trajectory, frame + self.stride[frame_pair]],
            condition=torch.stack([self.dt[frame_pair], self.beta[trajectory]], dim=1),
        )
