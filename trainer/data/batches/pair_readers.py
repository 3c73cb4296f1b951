"""How the pairs of one task are read: from memory-mapped files, or from one tensor on the device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from trainer.contracts.task import Task
from trainer.data.batches.batch import TaskPairs
from trainer.data.conditions import condition_vectors
from trainer.data.files.normalisation import FieldUnits, Normalisation, log_conditions, normalise
from trainer.data.files.pairs import PairTable
from trainer.data.layouts.field_file import FieldFile, States
from trainer.data.layouts.pieces import Pieces
from trainer.data.threads import on_threads
from trainer.process.ranks import is_first_rank
from trainer.process.terminal import show_progress

# Read at once by a thread, or one trajectory where that is larger; for a GPU into pinned memory, which torch
# keeps: as much for each thread.
PART_BYTES = 2**22
OPENED = ("states_of_files", "statics")  # what every process reads itself


@dataclass(frozen=True)
class MappedPairs:
    """Reads pairs of one split from files; opened lazily, so that each worker process has its own maps.

    Trajectories of chunked files stay in memory once they were read, up to a bound if there is one.
    """

    task: Task
    tasks: tuple[str, ...]  # of the whole training, which the conditions tell apart
    files: list[FieldFile]
    table: PairTable
    normalisation: Normalisation
    every: int  # n-th grid point
    mean_targets: np.ndarray | None  # of the training split, normalised, (files, fields, *grid); steady tasks
    most_bytes: int | None = None  # of chunked files in memory; None: all that was read

    def read(self, pairs: np.ndarray) -> TaskPairs:
        trajectory, frame_pair = np.divmod(pairs, self.table.pairs_per_trajectory)
        frame, stride = self.table.first_frame[frame_pair], self.table.stride[frame_pair]
        per_frame_pair, per_trajectory = self.conditions
        field = self.frames(trajectory, frame, self.normalisation.state)
        return TaskPairs(
            field=self.with_statics(field, trajectory),
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
        file_index = self.table.file_index[trajectory]
        states = self.physical_frames(trajectory, frame)
        return torch.from_numpy(normalise(states, units.mean[file_index], units.scale[file_index]))

    def with_statics(self, states: torch.Tensor, trajectory: np.ndarray) -> torch.Tensor:
        """Return the states, and behind them the static fields of their trajectories, which are given too."""
        if not self.task.statics:
            return states
        statics = torch.from_numpy(self.statics[trajectory]).to(states.device)
        return torch.cat([states, statics], dim=1)

    @cached_property
    def statics(self) -> np.ndarray:
        """The static fields of each trajectory of the split, normalised, (trajectories, statics, *grid)."""
        read = [
            file.read_statics(file.path, self.table.rows_of(n), self.every)
            for n, file in enumerate(self.files)
        ]
        units = self.normalisation.statics
        by_file = [
            normalise(
                fields,
                *(np.repeat(unit[n : n + 1], len(fields), axis=0) for unit in (units.mean, units.scale)),
            )
            for n, fields in enumerate(read)
        ]
        return np.concatenate(by_file)

    def physical_frames(self, trajectory: np.ndarray, frame: np.ndarray) -> np.ndarray:
        """Return states (n, fields, *grid) of n trajectories of the split, as the files have them."""
        file_index, row = self.table.file_index[trajectory], self.table.row[trajectory]
        states = np.empty((len(row), len(self.files[0].fields), *self.grid), dtype=np.float32)
        for index in np.unique(file_index):
            chosen = file_index == index
            states[chosen] = self.states_of_files[index].take(row[chosen], frame[chosen], self.every)
        return states

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(-(-points // self.every) for points in self.files[0].grid)

    @cached_property
    def conditions(self) -> tuple[np.ndarray, np.ndarray]:
        """Per frame pair and per trajectory; their sum is the condition of a pair."""
        units, logs = self.normalisation, log_conditions(self.task, self.files, self.table)
        parts = zip(logs, units.condition_mean, units.condition_scale, strict=True)
        dt, *parameters = [(log - mean) * scale for log, mean, scale in parts]
        return condition_vectors(self.tasks, self.task.name, dt, parameters, len(self.table.row))

    @cached_property
    def states_of_files(self) -> list[States]:
        return self.open_states(keeps=True)

    def open_states(self, *, keeps: bool) -> list[States]:
        most_bytes = None if self.most_bytes is None else self.most_bytes // len(self.files)
        return [
            file.states(self.table.rows_of(index), keeps=keeps, most_bytes=most_bytes)
            for index, file in enumerate(self.files)
        ]

    def load_chunked(self) -> None:
        """Read the chunked files of this split now, so that forked processes share them."""
        chunked = [states for states in self.states_of_files if isinstance(states, Pieces)]
        for number, states in enumerate(chunked, 1):
            states.load(self.every)
            if is_first_rank():
                show_progress("reading the data, file", number, len(chunked), stays=False)

    def __getstate__(self) -> dict[str, object]:
        """Leave the open files out: a process that is not forked opens them itself."""
        return {name: value for name, value in self.__dict__.items() if name not in OPENED}


class ResidentPairs:
    """The trajectories of one split as one tensor on the device; a batch is an index into it."""

    def __init__(self, mapped: MappedPairs, device: torch.device) -> None:
        table, file = mapped.table, mapped.files[0]
        self.states = torch.empty(
            (table.trajectories, file.frames, len(file.fields), *mapped.grid), device=device
        )
        self.statics = torch.from_numpy(mapped.statics).to(device) if mapped.task.statics else None
        self._read_files(mapped)
        self._normalise(mapped)
        self.frame_pairs = table.pairs_per_trajectory
        self.first_frame = torch.from_numpy(table.first_frame).to(device)
        self.stride = torch.from_numpy(table.stride).to(device)
        self.per_frame_pair, self.per_trajectory = (
            torch.from_numpy(part).to(device) for part in mapped.conditions
        )

    def _read_files(self, mapped: MappedPairs) -> None:
        """Straight into place; to a GPU through pinned pages, while other threads read."""
        files = mapped.open_states(keeps=False)  # before threads would do so at the same time
        at_once = max(1, PART_BYTES // self.states[0].nbytes)

        def read(first: int) -> None:
            part = slice(first, first + at_once)
            place = self.states[part]
            states = torch.empty(place.shape, pin_memory=True) if place.is_cuda else place
            for run, file, rows in mapped.table.runs(part):
                files[file].read_into(states[run].numpy(), rows, mapped.every)
            if place.is_cuda:
                place.copy_(states)  # waits for its end, after which others may take the pinned pages

        on_threads(read, range(0, len(self.states), at_once), "reading the data, part")

    def _normalise(self, mapped: MappedPairs) -> None:
        """In place, on the device; in a steady task the second frame is in units of the target."""
        units, of_trajectory = mapped.normalisation, mapped.table.file_index
        roles = [units.state, units.target] if mapped.task.steady else [units.state]
        per_field = (self.states.shape[2], *(1 for _ in mapped.grid))
        for states, role in zip(self.states.chunk(len(roles), dim=1), roles, strict=True):
            mean, scale = (
                torch.from_numpy(unit[of_trajectory]).to(states).view(-1, 1, *per_field)
                for unit in (role.mean, role.scale)
            )
            states.sub_(mean).mul_(scale)

    def read(self, pairs: torch.Tensor) -> TaskPairs:
        trajectory, frame_pair = pairs // self.frame_pairs, pairs % self.frame_pairs
        frame = self.first_frame[frame_pair]
        field = self.states[trajectory, frame]
        return TaskPairs(
            field=field if self.statics is None else torch.cat([field, self.statics[trajectory]], dim=1),
            next_field=self.states[trajectory, frame + self.stride[frame_pair]],
            condition=self.per_frame_pair[frame_pair] + self.per_trajectory[trajectory],
        )
