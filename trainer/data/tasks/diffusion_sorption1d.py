"""1-D diffusion and sorption, u_t = D / R(u) u_xx on [0, 1], u = 1 on the left, an outflow on the right.

R is the derivative of what a volume holds, C(u) = u + sorbed(u), so C_t = D u_xx conserves it. Finite volumes
and a second-order implicit Runge-Kutta method, each stage by Newton's.
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
from trainer.data.layouts.grouped import write_grouped
from trainer.data.physics_scores import positivity

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

DIFFUSION = 5e-4
POROSITY, BULK_DENSITY, FREUNDLICH_K, FREUNDLICH_N = 0.29, 2880.0, 3.5e-4, 0.874
SORBED = (1 - POROSITY) / POROSITY * BULK_DENSITY * FREUNDLICH_K  # at u = 1
LARGEST_START = 0.2
WAVES, MAX_WAVE_NUMBER = 2, 3
LARGEST_STEP = 1.25  # seconds
GAMMA = 1 - 1 / math.sqrt(2)  # of the Runge-Kutta method of two equal implicit stages that damps all modes
LEAST = 1e-12  # of u, whose R would else be infinite
TOLERANCE = 1e-11
MAX_ITERATIONS = 30


@dataclass(frozen=True)
class DiffusionSorption1dConfig:
    """PDEBench's diffusion-sorption equation; it has no parameter that varies."""

    trajectories: Annotated[int, AtLeast(2)] = 1000
    grid_points: Annotated[int, AtLeast(8)] = 1024
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 500.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (10,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[()]]:
        return ((),)

    @property
    def grid(self) -> tuple[int]:
        return (self.grid_points,)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: DiffusionSorption1dConfig, seed: int, case: int) -> np.ndarray:
    """Return the field, (trajectories, frames, points, 1) float32; it starts smooth, between 0 and 0.2."""
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import cell_centres, frame_times, random_sines

    random = np.random.default_rng([seed, case, 5])
    x = cell_centres(config.grid_points)
    waves = random_sines(random, config.trajectories, x, WAVES, MAX_WAVE_NUMBER)
    least, size = waves.min(axis=1, keepdims=True), np.ptp(waves, axis=1)[:, None]
    low, high = np.sort(random.uniform(0, LARGEST_START, (2, config.trajectories, 1)), axis=0)
    starts = low + (high - low) * (waves - least) / size
    times = frame_times(config.frames, config.end_time)
    return solved(starts, config.frames, lambda start: (u[..., None] for u in solve(start, times)))


def solve(
    start: Tensor, times: np.ndarray, largest_step: float = LARGEST_STEP, sorbed: float = SORBED
) -> Iterator[Tensor]:
    """Yield u (n, x) at each time, from its start at cell centres."""
    from trainer.data.numerics.stepping import frames_at

    line = Line.of(start)

    def step(u: Tensor, seconds: float) -> Tensor:
        held = held_by(u, sorbed)
        first = _implicit(line, u, held, GAMMA * seconds, sorbed)
        moved = held + (1 - GAMMA) * seconds * line.change(first)
        return _implicit(line, first, moved, GAMMA * seconds, sorbed)

    return frames_at(times, start, step, lambda u: largest_step)


def held_by(u: Tensor, sorbed: float = SORBED) -> Tensor:
    """C(u): what a volume of pores and grains holds, per volume of pores."""
    return u + sorbed * u.clamp_min(LEAST) ** FREUNDLICH_N


@dataclass(frozen=True)
class Line:
    """D u_xx of cells, a tridiagonal matrix (points,) and what comes in on the left."""

    lower: Tensor
    diagonal: Tensor
    upper: Tensor
    inflow: Tensor

    @staticmethod
    def of(like: Tensor) -> Line:
        """The borders lie half a cell off the outermost centres.

        On the right -D u_x = u: with the other sign the border would feed its own growth.
        """
        import torch

        points = like.shape[-1]
        per_step = DIFFUSION * points**2
        lower = torch.full((points,), per_step, dtype=like.dtype, device=like.device)
        upper, diagonal, inflow = lower.clone(), -2 * lower, torch.zeros_like(lower)
        lower[0], upper[-1] = 0, 0
        diagonal[0], inflow[0] = -3 * per_step, 2 * per_step
        diagonal[-1] = -per_step - 2 * per_step / (1 + 2 * DIFFUSION * points)
        return Line(lower, diagonal, upper, inflow)

    def change(self, u: Tensor) -> Tensor:
        """Return C_t."""
        from torch.nn.functional import pad

        left, right = pad(u[..., :-1], (1, 0)), pad(u[..., 1:], (0, 1))
        return self.lower * left + self.diagonal * u + self.upper * right + self.inflow


def _implicit(line: Line, guess: Tensor, held: Tensor, seconds: float, sorbed: float) -> Tensor:
    """Return the u of C(u) - seconds * C_t(u) = held; RuntimeError if Newton's method does not converge."""
    from trainer.data.numerics.tridiagonal import solve_tridiagonal

    u = guess
    for _ in range(MAX_ITERATIONS):
        excess = held_by(u, sorbed) - seconds * line.change(u) - held
        retardation = 1 + sorbed * FREUNDLICH_N * u.clamp_min(LEAST) ** (FREUNDLICH_N - 1)
        diagonal = retardation - seconds * line.diagonal
        step = solve_tridiagonal(
            -seconds * line.lower + 0 * u, diagonal, -seconds * line.upper + 0 * u, excess
        )
        u = (u - step).clamp_min(LEAST)
        if float(step.abs().max()) < TOLERANCE:
            return u
    raise RuntimeError(
        f"diffusion_sorption1d: Newton's method did not converge in {MAX_ITERATIONS} iterations"
    )


def write(
    path: Path, config: DiffusionSorption1dConfig, case: int, values: np.ndarray, content_hash: str
) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    coordinates = {
        "x": cell_centres(config.grid_points),
        "t": frame_times(config.frames, config.end_time),
    }
    write_grouped(path, values, coordinates, {}, content_hash)


TASK = Task(
    name="diffusion_sorption1d",
    settings=DiffusionSorption1dConfig,
    layout="grouped",
    parameters=(),
    state=("u",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
    positive=True,
    wraps_around=False,
    scores=(positivity(0),),
)
