"""1-D reaction and diffusion, u_t = nu u_xx + rho u (1 - u) on [0, 1] periodic.

Both parts are exact, the logistic growth and the diffusion by Fourier modes; they are split symmetrically.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.scalar_1d import write_scalar_1d
from trainer.data.physics_scores import positivity

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

WAVES, MAX_WAVE_NUMBER = 2, 8
LARGEST_STEP = 0.002  # seconds; with nu 5 and rho 10 the splitting errs by 1e-5


@dataclass(frozen=True)
class ReactionDiffusion1dConfig:
    """PDEBench's 1-D diffusion-reaction equation; one file for each nu and rho."""

    nus: Annotated[tuple[Positive, ...], NotEmpty()] = (0.5, 1.0, 2.0, 5.0)
    rhos: Annotated[tuple[Positive, ...], NotEmpty()] = (1.0, 2.0, 5.0, 10.0)
    trajectories: Annotated[int, AtLeast(2)] = 1000  # per file
    grid_points: Annotated[int, AtLeast(8)] = 1024
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 1.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (20,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float, float], ...]:
        return tuple(product(self.nus, self.rhos))

    @property
    def grid(self) -> tuple[int]:
        return (self.grid_points,)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: ReactionDiffusion1dConfig, seed: int, case: int) -> np.ndarray:
    """Return the field of one file, (trajectories, frames, points) float32.

    It starts between 0 and 1, as the sizes of sums of sines.
    """
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import cell_centres, frame_times, random_sines

    random = np.random.default_rng([seed, case, 4])
    x = cell_centres(config.grid_points)
    sizes = np.abs(random_sines(random, config.trajectories, x, WAVES, MAX_WAVE_NUMBER))
    starts = sizes / sizes.max(axis=1, keepdims=True)
    times = frame_times(config.frames, config.end_time)
    return solved(starts, config.frames, lambda start: solve(start, *config.cases[case], times))


def solve(
    start: Tensor, nu: float, rho: float, times: np.ndarray, largest_step: float = LARGEST_STEP
) -> Iterator[Tensor]:
    """Yield u (n, x) at each time, from its start at cell centres."""
    from trainer.data.numerics.spectral import diffused_on_circle
    from trainer.data.numerics.stepping import frames_at, strang

    def grown(u: Tensor, seconds: float) -> Tensor:
        return u / (u + (1 - u) * math.exp(-rho * seconds))

    step = strang(lambda u, seconds: diffused_on_circle(u, nu, seconds, 1 / start.shape[-1]), grown)
    return frames_at(times, start, step, lambda u: largest_step)


def write(
    path: Path, config: ReactionDiffusion1dConfig, case: int, values: np.ndarray, content_hash: str
) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    x, t = cell_centres(config.grid_points), frame_times(config.frames, config.end_time)
    nu, rho = config.cases[case]
    write_scalar_1d(path, values, x, t, {"Nu": nu, "rho": rho}, content_hash)


TASK = Task(
    name="reaction_diffusion1d",
    settings=ReactionDiffusion1dConfig,
    layout="scalar-1d",
    parameters=("Nu", "rho"),
    state=("u",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
    positive=True,
    scores=(positivity(0),),
)
