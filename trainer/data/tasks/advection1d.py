"""1-D advection, u_t + beta u_x = 0 on [0, 1] periodic: the exact solution u0(x - beta t)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.scalar_1d import write_scalar_1d
from trainer.process.terminal import show_progress

WAVES = 2  # sines in one initial condition, as PDEBench has
TRAJECTORIES_AT_ONCE = 50  # 1 GB of float64 at PDEBench's grid


@dataclass(frozen=True)
class Advection1dConfig:
    """PDEBench's 1-D advection: u_t + beta u_x = 0 on [0, 1], periodic."""

    betas: Annotated[tuple[Positive, ...], NotEmpty()] = (0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 7.0)
    trajectories: Annotated[int, AtLeast(2)] = 1000  # per beta
    grid_points: Annotated[int, AtLeast(4)] = 1024
    frames: Annotated[int, AtLeast(2)] = 201
    end_time: Positive = 2.0
    max_wave_number: Count = 8
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float], ...]:
        return tuple((beta,) for beta in self.betas)

    @property
    def grid(self) -> tuple[int]:
        return (self.grid_points,)

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.max_wave_number > self.grid_points // 2:
            yield (
                "max_wave_number",
                f"got {self.max_wave_number}, expected at most half of the {self.grid_points} grid points",
            )


@dataclass(frozen=True)
class Waves:
    """Initial conditions, sums of sines: u0(x) = sum of amplitude sin(2 pi number x + phase).

    Arrays of shape (trajectories, waves). Source of the family and its ranges: PDEBench (Takamoto et al.
    2022, appendix D); its occasional absolute values and windows are left out.
    """

    amplitude: np.ndarray
    number: np.ndarray
    phase: np.ndarray


def draw_waves(config: Advection1dConfig, seed: int, case: int) -> Waves:
    """Draw the initial conditions of one file; other betas get other draws."""
    random = np.random.default_rng([seed, case])
    shape = (config.trajectories, WAVES)
    return Waves(
        amplitude=random.uniform(0.0, 1.0, shape),
        number=random.integers(1, config.max_wave_number, shape, endpoint=True),
        phase=random.uniform(0.0, 2 * np.pi, shape),
    )


def generate(config: Advection1dConfig, seed: int, case: int) -> np.ndarray:
    """Return the field of one file, (trajectories, frames, points) float32."""
    waves = draw_waves(config, seed, case)
    x, t = cell_centres(config), frame_times(config)
    tensor = np.empty((config.trajectories, config.frames, config.grid_points), dtype=np.float32)
    for first in range(0, config.trajectories, TRAJECTORIES_AT_ONCE):
        part = slice(first, min(first + TRAJECTORIES_AT_ONCE, config.trajectories))
        drawn = Waves(waves.amplitude[part], waves.number[part], waves.phase[part])
        tensor[part] = solve(drawn, config.betas[case], x, t)
        show_progress("trajectory", part.stop, config.trajectories)
    return tensor


def write(path: Path, config: Advection1dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    x, t = cell_centres(config), frame_times(config)
    write_scalar_1d(path, values, x, t, {"beta": config.betas[case]}, content_hash)


def solve(waves: Waves, beta: float, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return u (trajectories, t, x) in float64."""
    moved = x[None, :] - beta * t[:, None]
    field = np.zeros((len(waves.amplitude), len(t), len(x)))
    for wave in range(waves.amplitude.shape[1]):
        amplitude, number, phase = (
            part[:, wave, None, None] for part in (waves.amplitude, waves.number, waves.phase)
        )
        field += amplitude * np.sin(2 * np.pi * number * moved + phase)
    return field


def cell_centres(config: Advection1dConfig) -> np.ndarray:
    return (np.arange(config.grid_points) + 0.5) / config.grid_points


def frame_times(config: Advection1dConfig) -> np.ndarray:
    """Times of the frames, from 0 to the end time."""
    return np.linspace(0.0, config.end_time, config.frames)


TASK = Task(
    name="advection1d",
    settings=Advection1dConfig,
    layout="scalar-1d",
    parameters=("beta",),
    state=("u",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
    conserved=True,
)
