"""2-D incompressible Navier-Stokes in a closed box [0, 1]^2, driven by a force that stays as it is.

The velocity is 0 on the walls. Particles are carried along. Solved by numerics/box_flow.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.incompressible import write_incompressible
from trainer.data.physics_scores import conserved_mean, divergence, one_field, positivity

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

VISCOSITY = 0.01
MODES = 12  # of random fields, along each axis
VELOCITY_SIZE, FORCE_SIZE = 0.15, 0.4  # root mean squares
STREAM_DECAY, FORCE_DECAY = (
    -4.0,
    -1.0,
)  # of amplitudes, as a power of the wave number; velocities have one more
LARGEST_CLUSTER = 0.8  # of particles, of which there are 1 on average


@dataclass(frozen=True)
class NavierStokes2dConfig:
    """PDEBench's inhomogeneous incompressible flow, whose files have 512 points and 1000 frames in 5 s."""

    trajectories: Annotated[int, AtLeast(2)] = 200
    grid_points: Annotated[int, AtLeast(8)] = 128  # per axis
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 5.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (10,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[()]]:
        return ((),)

    @property
    def grid(self) -> tuple[int, int]:
        return (self.grid_points, self.grid_points)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: NavierStokes2dConfig, seed: int, case: int) -> np.ndarray:
    """Return particles, velocity and force, one flat array behind the other, float32."""
    from trainer.data.numerics.box_flow import velocity_of
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    random, count = np.random.default_rng([seed, case, 9]), config.trajectories
    centres, corners = cell_centres(config.grid_points), np.linspace(0, 1, config.grid_points + 1)
    walls = np.sin(np.pi * corners)  # the velocity starts at 0 on the walls too
    stream = random_modes(random, count, corners, STREAM_DECAY, np.sin) * walls[:, None] * walls
    velocity = of_size(velocity_of(stream), VELOCITY_SIZE)
    force = [random_modes(random, count, centres, FORCE_DECAY, np.cos) for _ in range(2)]
    force = of_size(np.stack(force, axis=1), FORCE_SIZE)
    clusters = random_modes(random, count, centres, -2.0, np.cos)[:, None]
    particles = 1 + LARGEST_CLUSTER * clusters / np.abs(clusters).max(axis=(1, 2, 3), keepdims=True)
    starts = np.concatenate([particles, velocity, force], axis=1)
    times = frame_times(config.frames, config.end_time)
    fields = solved(starts, config.frames, lambda start: solve(start[:, :3], start[:, 3:], times))
    parts = (fields[..., :1], fields[..., 1:], np.moveaxis(force, 1, -1).astype(np.float32))
    return np.concatenate([part.ravel() for part in parts])


def solve(start: Tensor, force: Tensor, times: np.ndarray, slips: bool = False) -> Iterator[Tensor]:
    """Yield particles and velocity in cells (n, X, Y, 3) at each time; the start has velocities on faces."""
    from trainer.data.numerics.box_flow import BoxFlow, in_cells

    return (in_cells(state) for state in BoxFlow(VISCOSITY, force, slips).frames(start, times))


def random_modes(
    random: np.random.Generator, trajectories: int, places: np.ndarray, decay: float, wave: np.ufunc
) -> np.ndarray:
    """Return sums of products of sines, or of cosines, with normal amplitudes, (trajectories, x, y)."""
    number = np.arange(1, MODES + 1)
    size = np.hypot(number[:, None], number) ** decay
    amplitude = random.standard_normal((trajectories, MODES, MODES)) * size
    waves = wave(np.pi * number[:, None] * places)
    return waves.T @ amplitude @ waves


def of_size(fields: np.ndarray, size: float) -> np.ndarray:
    """Return fields (n, components, X, Y) whose length has this root mean square in each trajectory."""
    squares = np.square(fields).sum(axis=1, keepdims=True).mean(axis=(2, 3), keepdims=True)
    return fields * (size / np.sqrt(squares))


def write(path: Path, config: NavierStokes2dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import frame_times

    moving = (config.trajectories, config.frames, *config.grid)
    shapes = ((*moving, 1), (*moving, 2), (config.trajectories, *config.grid, 2))
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    parts = (part.reshape(shape) for part, shape in zip(np.split(values, ends), shapes, strict=True))
    write_incompressible(path, *parts, frame_times(config.frames, config.end_time), content_hash)


TASK = Task(
    name="navier_stokes2d",
    settings=NavierStokes2dConfig,
    layout="incompressible",
    parameters=(),
    state=("particles", "Vx", "Vy"),
    target=("particles", "Vx", "Vy"),
    statics=("force_x", "force_y"),
    solver_version=1,
    generate=generate,
    write=write,
    joins_files=True,
    wraps_around=False,
    scores=(conserved_mean("mass", one_field(0)), positivity(0), divergence(1, 2)),
)
