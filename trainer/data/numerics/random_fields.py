"""Smooth random starts: sums of a few sines on a circle."""

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


def cell_centres(points: int, start: float = 0.0, length: float = 1.0) -> np.ndarray:
    return start + (np.arange(points) + 0.5) * length / points


def frame_times(frames: int, end_time: float) -> np.ndarray:
    """Times of the frames, from 0 to the end time."""
    return np.linspace(0.0, end_time, frames)
