"""2-D compressible Navier-Stokes on the torus [0, 1]^2, from random waves of every field.

The velocity is about 1, and Mach's number sets the pressure.
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

WAVES, MAX_WAVE_NUMBER = 6, 3
DENSITIES = (0.5, 2.0)
RELATIVE_SIZES = (0.1, 0.5)  # of the waves of density, and over Mach's number of pressure


@dataclass(frozen=True)
class Cfd2dRandConfig:
    """PDEBench's 2-D compressible flow from random fields; eta and zeta are the same."""

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


def generate(config: Cfd2dRandConfig, seed: int, case: int) -> np.ndarray:
    """Return density, pressure and velocities, (4, trajectories, frames, X, Y) float32."""
    from trainer.data.numerics.compressible import Gas
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import frame_times

    mach, eta, zeta = config.cases[case]
    gas = Gas(eta, zeta, "periodic", 1 / config.grid_points)
    starts = draw(np.random.default_rng([seed, case, 10]), config.trajectories, config.grid_points, mach)
    times = frame_times(config.frames, config.end_time)
    values = solved(starts, config.frames, lambda start: gas.frames(start, times))
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))


def draw(random: np.random.Generator, trajectories: int, points: int, mach: float) -> np.ndarray:
    """Return starts (trajectories, 4, points, points).

    Waves of pressure move the gas about as fast as waves of velocity do.
    """
    from trainer.data.numerics.random_fields import cell_centres, random_waves

    x = cell_centres(points)
    waves = [random_waves(random, trajectories, x, WAVES, MAX_WAVE_NUMBER) for _ in range(4)]
    level = random.uniform(*DENSITIES, (trajectories, 1, 1))
    of_density, of_pressure = random.uniform(*RELATIVE_SIZES, (2, trajectories, 1, 1))
    density = level * (1 + of_density * waves[0])
    pressure = level / (GAMMA * mach**2) * (1 + of_pressure * min(1.0, GAMMA * mach) * waves[1])
    return np.stack([density, pressure, *waves[2:]], axis=1)


def write(path: Path, config: Cfd2dRandConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    centres = cell_centres(config.grid_points)
    parameters = dict(zip(TASK.parameters, config.cases[case], strict=True))
    t = frame_times(config.frames, config.end_time)
    write_cfd(path, values, {"x": centres, "y": centres}, t, parameters, content_hash)


TASK = Task(
    name="cfd2d_rand",
    settings=Cfd2dRandConfig,
    layout="cfd",
    parameters=("M", "eta", "zeta"),
    state=("density", "pressure", "Vx", "Vy"),
    target=("density", "pressure", "Vx", "Vy"),
    solver_version=1,
    generate=generate,
    write=write,
    files="*Rand*",
    scores=GAS_SCORES,
)
