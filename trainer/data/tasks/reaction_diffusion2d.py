"""2-D reaction and diffusion by FitzHugh and Nagumo, on [-1, 1]^2 between walls that nothing passes:

u_t = Du (u_xx + u_yy) + u - u^3 - k - v and v_t = Dv (v_xx + v_yy) + u - v. The diffusion is exact in
cosines, the reaction by Runge-Kutta; they are split symmetrically.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, Count, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.grouped import write_grouped

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

DIFFUSION_U, DIFFUSION_V, K = 1e-3, 5e-3, 5e-3
LENGTH = 2.0  # of a side
LARGEST_STEP = 0.01  # seconds


@dataclass(frozen=True)
class ReactionDiffusion2dConfig:
    """PDEBench's 2-D diffusion-reaction equation; it has no parameter that varies."""

    trajectories: Annotated[int, AtLeast(2)] = 1000
    grid_points: Annotated[int, AtLeast(8)] = 128  # per axis
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 5.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (5,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[()]]:
        return ((),)

    @property
    def grid(self) -> tuple[int, int]:
        return (self.grid_points, self.grid_points)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: ReactionDiffusion2dConfig, seed: int, case: int) -> np.ndarray:
    """Return u and v, (trajectories, frames, X, Y, 2) float32; they start as white noise."""
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import frame_times

    random = np.random.default_rng([seed, case, 6])
    starts = random.standard_normal((config.trajectories, 2, *config.grid))
    times = frame_times(config.frames, config.end_time)
    return solved(
        starts, config.frames, lambda start: (state.movedim(1, -1) for state in solve(start, times))
    )


def solve(start: Tensor, times: np.ndarray, largest_step: float = LARGEST_STEP) -> Iterator[Tensor]:
    """Yield u and v (n, 2, X, Y) at each time, from their start at cell centres."""
    import torch

    from trainer.data.numerics.spectral import Cosines
    from trainer.data.numerics.stepping import frames_at, rk4, strang

    cosines = Cosines(start.shape[-1], LENGTH / start.shape[-1], start)
    coefficient = start.new_tensor([DIFFUSION_U, DIFFUSION_V])[:, None, None]

    def reaction(state: Tensor) -> Tensor:
        u, v = state.unbind(dim=1)
        return torch.stack([u - u**3 - K - v, u - v], dim=1)

    step = strang(
        lambda state, seconds: cosines.diffused(state, coefficient, seconds),
        lambda state, seconds: rk4(reaction, state, seconds),
    )
    return frames_at(times, start, step, lambda state: largest_step)


def write(
    path: Path, config: ReactionDiffusion2dConfig, case: int, values: np.ndarray, content_hash: str
) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    centres = cell_centres(config.grid_points, -LENGTH / 2, LENGTH)
    coordinates = {"x": centres, "y": centres, "t": frame_times(config.frames, config.end_time)}
    write_grouped(path, values, coordinates, {}, content_hash)


TASK = Task(
    name="reaction_diffusion2d",
    settings=ReactionDiffusion2dConfig,
    layout="grouped",
    parameters=(),
    state=("u", "v"),
    target=("u", "v"),
    solver_version=1,
    generate=generate,
    write=write,
    wraps_around=False,
)
