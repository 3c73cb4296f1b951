"""1-D advection, u_t + beta u_x = 0 on [0, 1] periodic: the exact solution u0(x - beta t)."""

from dataclasses import dataclass

import numpy as np

from trainer.config.schema import Advection1dConfig

SOLVER_VERSION = 1  # part of the cache key: raise it when the numbers change
TRAJECTORIES_AT_ONCE = 50  # 1 GB of float64 at PDEBench's grid


@dataclass(frozen=True)
class Waves:
    """Initial conditions, sums of sines: u0(x) = sum of amplitude sin(2 pi number x + phase).

    Arrays of shape (trajectories, waves). Source of the family and its ranges: PDEBench (Takamoto et al. 2022,
    appendix D); its occasional absolute values and windows are left out.
    """

    amplitude: np.ndarray
    number: np.ndarray
    phase: np.ndarray


def draw_waves(config: Advection1dConfig, seed: int, beta: float) -> Waves:
    """Draw the initial conditions of one file; other betas get other draws."""
    random = np.random.default_rng([seed, config.betas.index(beta)])
    shape = (config.trajectories, config.waves)
    return Waves(
        amplitude=random.uniform(0.0, 1.0, shape),
        number=random.integers(1, config.max_wave_number, shape, endpoint=True),
        phase=random.uniform(0.0, 2 * np.pi, shape),
    )


def generate(config: Advection1dConfig, seed: int, beta: float) -> np.ndarray:
    """Return the field of one file, (trajectories, frames, points) float32."""
    waves = draw_waves(config, seed, beta)
    x, t = cell_centres(config), frame_times(config)
    tensor = np.empty((config.trajectories, config.frames, config.grid_points), dtype=np.float32)
    for first in range(0, config.trajectories, TRAJECTORIES_AT_ONCE):
        part = slice(first, first + TRAJECTORIES_AT_ONCE)
        tensor[part] = solve(Waves(waves.amplitude[part], waves.number[part], waves.phase[part]), beta, x, t)
    return tensor


def solve(waves: Waves, beta: float, x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return u (trajectories, t, x) in float64."""
    moved = x[None, :] - beta * t[:, None]
    field = np.zeros((len(waves.amplitude), len(t), len(x)))
    for wave in range(waves.amplitude.shape[1]):
        amplitude, number, phase = (part[:, wave, None, None] for part in (waves.amplitude, waves.number, waves.phase))
        field += amplitude * np.sin(2 * np.pi * number * moved + phase)
    return field


def cell_centres(config: Advection1dConfig) -> np.ndarray:
    return (np.arange(config.grid_points) + 0.5) / config.grid_points


def frame_times(config: Advection1dConfig) -> np.ndarray:
    """Times of the frames, from 0 to the end time."""
    return np.linspace(0.0, config.end_time, config.frames)
