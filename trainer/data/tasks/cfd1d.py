"""1-D compressible Navier-Stokes on [0, 1]: random waves on a circle, and shock tubes with open ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, CountOrZero, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.cfd import write_cfd
from trainer.data.physics_scores import GAS_SCORES

WAVES, MAX_WAVE_NUMBER = 4, 8
LEVELS = (0.5, 2.0)  # of density and pressure
RELATIVE_SIZES = (0.1, 0.6)  # of their waves
LARGEST_SPEED = 1.0
TUBE_LEVELS = (0.1, 2.0)
LARGEST_TUBE_SPEED = 0.5
TUBE_PLACES = (0.3, 0.7)  # of the jump


@dataclass(frozen=True)
class Cfd1dConfig:
    """PDEBench's 1-D compressible flow; eta and zeta are the same."""

    etas: Annotated[tuple[Positive, ...], NotEmpty()] = (1e-8, 0.01, 0.1)
    trajectories: Annotated[int, AtLeast(2)] = 1000  # per eta
    # Every n-th trajectory is a shock tube with open ends, which PDEBench has in other files; 0 = none.
    shock_tube_every: CountOrZero = 4
    grid_points: Annotated[int, AtLeast(8)] = 1024
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 1.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (2,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float, float], ...]:
        return tuple((eta, eta) for eta in self.etas)

    @property
    def grid(self) -> tuple[int]:
        return (self.grid_points,)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: Cfd1dConfig, seed: int, case: int) -> np.ndarray:
    """Return density, pressure and velocity, (3, trajectories, frames, points) float32."""
    from trainer.data.numerics.compressible import Gas
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import frame_times

    random, times = np.random.default_rng([seed, case, 8]), frame_times(config.frames, config.end_time)
    every, number = config.shock_tube_every, np.arange(config.trajectories)
    is_tube = number % every == every - 1 if every else np.zeros(config.trajectories, dtype=bool)
    values = np.empty((config.trajectories, config.frames, 3, config.grid_points), dtype=np.float32)
    for chosen, draw, border in ((~is_tube, draw_waves, "periodic"), (is_tube, draw_tubes, "open")):
        if chosen.any():
            gas = Gas(*config.cases[case], border, 1 / config.grid_points)
            starts = draw(random, int(chosen.sum()), config.grid_points)
            values[chosen] = solved(starts, config.frames, lambda start, gas=gas: gas.frames(start, times))
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))


def draw_waves(random: np.random.Generator, trajectories: int, points: int) -> np.ndarray:
    """Return starts (trajectories, 3, points): levels of density and pressure, with waves on all fields."""
    from trainer.data.numerics.random_fields import cell_centres, random_sines

    x, waves = cell_centres(points), []
    for _ in range(3):
        drawn = random_sines(random, trajectories, x, WAVES, MAX_WAVE_NUMBER)
        waves.append(drawn / np.abs(drawn).max(axis=1, keepdims=True))
    level = random.uniform(*LEVELS, (2, trajectories, 1))
    size = random.uniform(*RELATIVE_SIZES, (2, trajectories, 1))
    speed = random.uniform(0, LARGEST_SPEED, (trajectories, 1))
    density, pressure = level * (1 + size * np.stack(waves[:2]))
    return np.stack([density, pressure, speed * waves[2]], axis=1)


def draw_tubes(random: np.random.Generator, trajectories: int, points: int) -> np.ndarray:
    """Return starts (trajectories, 3, points): one state on the left, another on the right."""
    from trainer.data.numerics.random_fields import cell_centres

    sides = np.exp(random.uniform(*np.log(TUBE_LEVELS), (2, trajectories, 3, 1)))
    sides[:, :, 2] = random.uniform(-LARGEST_TUBE_SPEED, LARGEST_TUBE_SPEED, (2, trajectories, 1))
    place = random.uniform(*TUBE_PLACES, (trajectories, 1, 1))
    return np.where(cell_centres(points) < place, sides[0], sides[1])


def write(path: Path, config: Cfd1dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    coordinates = {"x": cell_centres(config.grid_points)}
    parameters = dict(zip(TASK.parameters, config.cases[case], strict=True))
    t = frame_times(config.frames, config.end_time)
    write_cfd(path, values, coordinates, t, parameters, content_hash)


TASK = Task(
    name="cfd1d",
    settings=Cfd1dConfig,
    layout="cfd",
    parameters=("eta", "zeta"),
    state=("density", "pressure", "Vx"),
    target=("density", "pressure", "Vx"),
    solver_version=1,
    generate=generate,
    write=write,
    wraps_around=False,  # shock tubes do not
    scores=GAS_SCORES,
)
