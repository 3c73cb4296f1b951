"""1-D Burgers' equation, u_t + (u^2/2)_x = (nu/pi) u_xx on [0, 1] periodic.

Godunov's flux on limited slopes for the advection, in Fourier modes for the diffusion, split symmetrically.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.scalar_1d import write_scalar_1d
from trainer.data.physics_scores import conserved_mean, never_growing, one_field, squared_field

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

NUS = (0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4, 1.0, 2.0, 4.0)
WAVES, MAX_WAVE_NUMBER = 2, 8
LARGEST_OFFSET = 0.5  # of the mean, without which all would end at 0


@dataclass(frozen=True)
class Burgers1dConfig:
    """PDEBench's 1-D Burgers' equation."""

    nus: Annotated[tuple[Positive, ...], NotEmpty()] = NUS
    trajectories: Annotated[int, AtLeast(2)] = 1000  # per nu
    grid_points: Annotated[int, AtLeast(8)] = 1024
    frames: Annotated[int, AtLeast(2)] = 201
    end_time: Positive = 2.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (10,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float], ...]:
        return tuple((nu,) for nu in self.nus)

    @property
    def grid(self) -> tuple[int]:
        return (self.grid_points,)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: Burgers1dConfig, seed: int, case: int) -> np.ndarray:
    """Return the field of one file, (trajectories, frames, points) float32."""
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import cell_centres, frame_times, random_sines

    random = np.random.default_rng([seed, case, 3])
    x = cell_centres(config.grid_points)
    waves = random_sines(random, config.trajectories, x, WAVES, MAX_WAVE_NUMBER)
    starts = waves + random.uniform(-LARGEST_OFFSET, LARGEST_OFFSET, (config.trajectories, 1))
    times = frame_times(config.frames, config.end_time)
    return solved(starts, config.frames, lambda start: solve(start, config.nus[case], times))


def solve(start: Tensor, nu: float, times: np.ndarray) -> Iterator[Tensor]:
    """Yield u (n, x) at each time, from its start at cell centres."""
    from trainer.data.numerics import finite_volume
    from trainer.data.numerics.spectral import diffused_on_circle
    from trainer.data.numerics.stepping import frames_at, ssp_rk3, strang

    spacing = 1 / start.shape[-1]

    def advection(u: Tensor) -> Tensor:
        left, right = finite_volume.at_faces(u, "periodic")
        flux = left.clamp_min(0).square().maximum(right.clamp_max(0).square()) / 2
        return finite_volume.change_by(flux, spacing)

    step = strang(
        lambda u, seconds: diffused_on_circle(u, nu / math.pi, seconds, spacing),
        lambda u, seconds: ssp_rk3(advection, u, seconds),
    )
    return frames_at(times, start, step, lambda u: finite_volume.largest_step(u.abs().max(), spacing))


def write(path: Path, config: Burgers1dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    x, t = cell_centres(config.grid_points), frame_times(config.frames, config.end_time)
    write_scalar_1d(path, values, x, t, {"Nu": config.nus[case]}, content_hash)


TASK = Task(
    name="burgers1d",
    settings=Burgers1dConfig,
    layout="scalar-1d",
    parameters=("Nu",),
    state=("u",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
    conserved=True,
    scores=(
        conserved_mean("mass", one_field(0)),
        never_growing("energy", squared_field(0)),
    ),
)
