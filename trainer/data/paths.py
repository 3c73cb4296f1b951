"""How the pairs of one task are read: from memory-mapped files, or from one tensor on the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from trainer.data.batch import TaskPairs
from trainer.data.conditions import condition_vectors
from trainer.data.layouts.field_file import FieldFile, States
from trainer.data.normalisation import FieldUnits, Normalisation, log_conditions, normalise
from trainer.data.pairs import PairTable
from trainer.data.tasks.task import Task
from trainer.data.threads import on_threads

TRAJECTORIES_AT_ONCE = 16  # on their way to the device


@dataclass(frozen=True)
class MappedPairs:
    """Reads pairs of one split from files; opened lazily, so that each worker process has its own maps."""

    task: Task
    tasks: tuple[str, ...]  # of the whole training, which the conditions tell apart
    files: list[FieldFile]
    table: PairTable
    normalisation: Normalisation
    every: int  # n-th grid point
    mean_targets: np.ndarray | None  # of the training split, normalised, (files, fields, *grid); steady tasks

    def read(self, pairs: np.ndarray) -> TaskPairs:
        trajectory, frame_pair = np.divmod(pairs, self.table.pairs_per_trajectory)
        frame, stride = self.table.first_frame[frame_pair], self.table.stride[frame_pair]
        per_frame_pair, per_trajectory = self.conditions
        return TaskPairs(
            field=self.frames(trajectory, frame, self.normalisation.state),
            next_field=self.frames(trajectory, frame + stride, self.normalisation.target),
            condition=torch.from_numpy(per_frame_pair[frame_pair] + per_trajectory[trajectory]),
        )

    def file_of(self, pairs: np.ndarray) -> np.ndarray:
        return self.table.file_index[pairs // self.table.pairs_per_trajectory]

    def target_units(self, pairs: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and scale (n, fields) of the targets."""
        units, index = self.normalisation.target, self.file_of(pairs)
        return torch.from_numpy(units.mean[index]), torch.from_numpy(units.scale[index])

    def frames(self, trajectory: np.ndarray, frame: np.ndarray, units: FieldUnits) -> torch.Tensor:
        """Return normalised states (n, fields, *grid) of n trajectories of the split."""
        file_index, row = self.table.file_index[trajectory], self.table.row[trajectory]
        grid = tuple(-(-points // self.every) for points in self.files[0].grid)
        states = np.empty((len(row), len(self.files[0].fields), *grid), dtype=np.float32)
        for index in np.unique(file_index):
            chosen = file_index == index
            states[chosen] = self._states[index].take(row[chosen], frame[chosen], self.every)
        return torch.from_numpy(normalise(states, units.mean[file_index], units.scale[file_index]))

    @cached_property
    def conditions(self) -> tuple[np.ndarray, np.ndarray]:
        """Per frame pair and per trajectory; their sum is the condition of a pair."""
        units, logs = self.normalisation, log_conditions(self.task, self.files, self.table)
        parts = zip(logs, units.condition_mean, units.condition_scale, strict=True)
        dt, *parameters = [(log - mean) * scale for log, mean, scale in parts]
        return condition_vectors(self.tasks, self.task.name, dt, parameters)

    @cached_property
    def _states(self) -> list[States]:
        return [file.states() for file in self.files]


class ResidentPairs:
    """The trajectories of one split as one tensor on the device; a batch is an index into it."""

    def __init__(self, mapped: MappedPairs, device: torch.device) -> None:
        table = mapped.table
        shape = (table.trajectories, *_trajectories(mapped, np.arange(1)).shape[1:])
        self.states = torch.empty(shape, device=device)
        parts = np.array_split(np.arange(shape[0]), -(-shape[0] // TRAJECTORIES_AT_ONCE))
        read = on_threads(lambda part: _trajectories(mapped, part), parts)
        for part, states in zip(parts, read, strict=True):
            self.states[part[0] : part[-1] + 1] = states
        self.frame_pairs = table.pairs_per_trajectory
        self.first_frame = torch.from_numpy(table.first_frame).to(device)
        self.stride = torch.from_numpy(table.stride).to(device)
        self.per_frame_pair, self.per_trajectory = (
            torch.from_numpy(part).to(device) for part in mapped.conditions
        )

    def read(self, pairs: torch.Tensor) -> TaskPairs:
        trajectory, frame_pair = pairs // self.frame_pairs, pairs % self.frame_pairs
        frame = self.first_frame[frame_pair]
        return TaskPairs(
            field=self.states[trajectory, frame],
            next_field=self.states[trajectory, frame + self.stride[frame_pair]],
            condition=self.per_frame_pair[frame_pair] + self.per_trajectory[trajectory],
        )


def _trajectories(mapped: MappedPairs, trajectories: np.ndarray) -> torch.Tensor:
    """All frames, (n, frames, fields, *grid); in a steady task the second is in units of the target."""
    units, frames = mapped.normalisation, mapped.files[0].frames
    steady = [(0, 1, units.state), (1, 2, units.target)]
    parts = []
    for first, last, role in steady if mapped.task.steady else [(0, frames, units.state)]:
        chosen, frame = (
            np.repeat(trajectories, last - first),
            np.tile(np.arange(first, last), len(trajectories)),
        )
        parts.append(mapped.frames(chosen, frame, role).unflatten(0, (len(trajectories), -1)))
    return torch.cat(parts, dim=1)
