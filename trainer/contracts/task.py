"""A PDE, as the rest of the trainer knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

Layout = Literal[
    "scalar-1d", "darcy", "cfd", "incompressible", "grouped"
]  # of its files: trainer/data/layouts


@runtime_checkable
class TaskSettings(Protocol):
    """The part of the config that says how a task's data are made; one file per case.

    With a field `files: FilePattern = None`, a config can select the task's files in data.root by name. With
    a field `frame_strides`, the task has strides of its own in place of data.frame_strides.
    """

    trajectories: int  # per file

    @property
    def cases(self) -> tuple[tuple[float, ...], ...]:
        """Values of the task's parameters, file by file."""
        ...

    @property
    def frames(self) -> int: ...

    @property
    def grid(self) -> tuple[int, ...]: ...

    def problems(self) -> Iterator[tuple[str, str]]:
        """Key and text of what is wrong among settings that are each in range."""
        ...


@dataclass(frozen=True)
class Score:
    """How far fields break a law: 0 where they keep it.

    `of` is given the fields at the start of a rollout and later ones, (n, fields, *grid) in physical units,
    and the spacing of the grid. It returns one number per trajectory, (n,).
    """

    name: str
    of: Callable[[Tensor, Tensor, tuple[float, ...]], Tensor]


@dataclass(frozen=True)
class Task:
    """A pair leads from `state` to `target`: the same fields later, or, in a steady task, other fields.

    `conserved`, `positive` and `zero_border` are what is known of every target field.
    """

    name: str
    settings: type  # a frozen dataclass that keeps TaskSettings, with a default for each field
    layout: Layout
    parameters: tuple[str, ...]  # attributes of the file, in the order of a case; more than 0
    state: tuple[str, ...]
    target: tuple[str, ...]
    solver_version: int  # part of the cache key: raise it when the numbers change
    # Of settings, seed and case number; and of the case's values and their hash. None: files are given.
    generate: Callable[[TaskSettings, int, int], np.ndarray] | None = None
    write: Callable[[Path, TaskSettings, int, np.ndarray, str], None] | None = None
    files: str | None = None  # file name pattern, if nothing else separates them from another task's
    statics: tuple[str, ...] = ()  # fields that stay as they are: given with each state, not asked for
    joins_files: bool = False  # the trajectories of a case may be spread over several files
    conserved: bool = False
    positive: bool = False
    zero_border: bool = False
    # Opposite borders have the same place features. darcy2d keeps them, so that its records stand.
    wraps_around: bool = True
    scores: tuple[Score, ...] = ()  # of its rollouts

    @property
    def steady(self) -> bool:
        return self.state != self.target

    @property
    def given(self) -> tuple[str, ...]:
        """The fields that the model is given."""
        return self.state + self.statics

    @property
    def centred(self) -> bool:
        """Whether normalisation may move zero."""
        return not (self.positive or self.zero_border)
