"""Smooth random starts: sums of a few sines on a circle or a torus."""

from __future__ import annotations

import numpy as np


def random_sines(
    random: np.random.Generator, trajectories: int, x: np.ndarray, waves: int, max_wave_number: int
) -> np.ndarray:
    """Return sums of sines (trajectories, x) of period 1, with amplitudes up to 1 and any phase.

    Source of the family and its ranges: PDEBench (Takamoto et al. 2022, appendix D).
    """
    shape = (trajectories, waves, 1)
    amplitude = random.uniform(0.0, 1.0, shape)
    number = random.integers(1, max_wave_number, shape, endpoint=True)
    phase = random.uniform(0.0, 2 * np.pi, shape)
    return (amplitude * np.sin(2 * np.pi * number * x + phase)).sum(axis=1)


def random_waves(
    random: np.random.Generator, trajectories: int, x: np.ndarray, waves: int, max_wave_number: int
) -> np.ndarray:
    """Return sums of plane waves on a torus (trajectories, x, x), at most 1 in size.

    Wave numbers are drawn from all directions; amplitudes fall with them.
    """
    shape = (trajectories, waves, 1, 1)
    numbers = random.integers(-max_wave_number, max_wave_number, (2, *shape), endpoint=True)
    numbers[0] += (numbers == 0).all(axis=0)  # none is constant
    amplitude = random.uniform(0.1, 1.0, shape) / np.hypot(*numbers)
    phase = random.uniform(0.0, 2 * np.pi, shape)
    angle = 2 * np.pi * (numbers[0] * x[:, None] + numbers[1] * x) + phase
    total = (amplitude * np.sin(angle)).sum(axis=1)
    return total / np.abs(total).max(axis=(1, 2), keepdims=True)


def cell_centres(points: int, start: float = 0.0, length: float = 1.0) -> np.ndarray:
    return start + (np.arange(points) + 0.5) * length / points


def frame_times(frames: int, end_time: float) -> np.ndarray:
    """Times of the frames, from 0 to the end time."""
    return np.linspace(0.0, end_time, frames)
