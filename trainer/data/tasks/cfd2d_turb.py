"""2-D compressible Navier-Stokes on the torus [0, 1]^2, from turbulence in gas of one density and pressure.

The velocity is about 1 and without divergence, and Mach's number sets the pressure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.cfd import write_cfd
from trainer.data.physics_scores import GAMMA, GAS_SCORES

WAVES, MAX_WAVE_NUMBER = 8, 4
DENSITY = 1.0


@dataclass(frozen=True)
class Cfd2dTurbConfig:
    """PDEBench's 2-D compressible flow from turbulence; eta and zeta are the same."""

    machs: Annotated[tuple[Positive, ...], NotEmpty()] = (0.1, 1.0)
    etas: Annotated[tuple[Positive, ...], NotEmpty()] = (1e-8, 0.01, 0.1)
    trajectories: Annotated[int, AtLeast(2)] = 200  # per file
    grid_points: Annotated[int, AtLeast(8)] = 128  # per axis
    frames: Annotated[int, AtLeast(2)] = 21
    end_time: Positive = 1.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (1,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float, float, float], ...]:
        return tuple((mach, eta, eta) for mach, eta in product(self.machs, self.etas))

    @property
    def grid(self) -> tuple[int, int]:
        return (self.grid_points, self.grid_points)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: Cfd2dTurbConfig, seed: int, case: int) -> np.ndarray:
    """Return density, pressure and velocities, (4, trajectories, frames, X, Y) float32."""
    from trainer.data.numerics.compressible import Gas
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import frame_times

    mach, eta, zeta = config.cases[case]
    gas = Gas(eta, zeta, "periodic", 1 / config.grid_points)
    starts = draw(np.random.default_rng([seed, case, 11]), config.trajectories, config.grid_points, mach)
    times = frame_times(config.frames, config.end_time)
    values = solved(starts, config.frames, lambda start: gas.frames(start, times))
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))


def draw(random: np.random.Generator, trajectories: int, points: int, mach: float) -> np.ndarray:
    """Return starts (trajectories, 4, points, points); the velocity has the root mean square 1."""
    from trainer.data.numerics.random_fields import cell_centres, random_waves

    stream = random_waves(random, trajectories, cell_centres(points), WAVES, MAX_WAVE_NUMBER)
    # Central differences of a stream function: what central differences find has no divergence.
    along_x, along_y = (np.roll(stream, -1, axis) - np.roll(stream, 1, axis) for axis in (1, 2))
    size = np.sqrt((along_x**2 + along_y**2).mean(axis=(1, 2), keepdims=True))
    density = np.full_like(stream, DENSITY)
    return np.stack([density, density / (GAMMA * mach**2), along_y / size, -along_x / size], axis=1)


def write(path: Path, config: Cfd2dTurbConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    centres = cell_centres(config.grid_points)
    parameters = dict(zip(TASK.parameters, config.cases[case], strict=True))
    t = frame_times(config.frames, config.end_time)
    write_cfd(path, values, {"x": centres, "y": centres}, t, parameters, content_hash)


TASK = Task(
    name="cfd2d_turb",
    settings=Cfd2dTurbConfig,
    layout="cfd",
    parameters=("M", "eta", "zeta"),
    state=("density", "pressure", "Vx", "Vy"),
    target=("density", "pressure", "Vx", "Vy"),
    solver_version=1,
    generate=generate,
    write=write,
    files="*Turb*",
    scores=GAS_SCORES,
)
