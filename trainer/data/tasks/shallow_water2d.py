"""2-D shallow water, a round dam that breaks: h_t + div (h v) = 0, (h v)_t + div (h v v + g h^2 / 2) = 0.

On [-2.5, 2.5]^2 with open borders, by the flux of Harten, Lax and van Leer on limited slopes.
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
from trainer.data.physics_scores import conserved_mean, one_field, positivity

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

GRAVITY = 1.0
INSIDE, OUTSIDE = 2.0, 1.0  # heights
RADII = (0.3, 0.7)
LENGTH = 5.0  # of a side
PARTS = 8  # of a cell along each axis, to measure how much of it lies inside the dam


@dataclass(frozen=True)
class ShallowWater2dConfig:
    """PDEBench's radial dam break; its files hold the height alone, and no parameter varies."""

    trajectories: Annotated[int, AtLeast(2)] = 1000
    grid_points: Annotated[int, AtLeast(8)] = 128  # per axis
    frames: Annotated[int, AtLeast(2)] = 101
    end_time: Positive = 1.0
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (20,)
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[()]]:
        return ((),)

    @property
    def grid(self) -> tuple[int, int]:
        return (self.grid_points, self.grid_points)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: ShallowWater2dConfig, seed: int, case: int) -> np.ndarray:
    """Return the height, (trajectories, frames, X, Y, 1) float32."""
    from trainer.data.numerics.generation import solved
    from trainer.data.numerics.random_fields import frame_times

    radii = np.random.default_rng([seed, case, 7]).uniform(*RADII, config.trajectories)
    starts = np.stack([dam(radius, config.grid_points) for radius in radii])
    times, spacing = frame_times(config.frames, config.end_time), LENGTH / config.grid_points
    return solved(starts, config.frames, lambda start: (h[..., None] for h in solve(start, times, spacing)))


def dam(radius: float, points: int) -> np.ndarray:
    """Return the mean height in each cell, (X, Y)."""
    from trainer.data.numerics.random_fields import cell_centres

    squared = cell_centres(points * PARTS, -LENGTH / 2, LENGTH) ** 2
    inside = squared[:, None] + squared < radius**2
    share = inside.reshape(points, PARTS, points, PARTS).mean(axis=(1, 3))
    return OUTSIDE + (INSIDE - OUTSIDE) * share


def solve(start: Tensor, times: np.ndarray, spacing: float) -> Iterator[Tensor]:
    """Yield the height (n, X, Y) at each time, from water at rest of this height."""
    import torch

    from trainer.data.numerics import finite_volume
    from trainer.data.numerics.stepping import frames_at, ssp_rk3

    def rate(state: Tensor) -> Tensor:
        return finite_volume.change_of_system(_cells(state), _flux, spacing, "open")

    def largest_step(state: Tensor) -> float:
        height, *velocity = _cells(state).unbind(dim=1)
        speed = torch.stack(velocity).abs().amax(dim=0) + (GRAVITY * height).sqrt()
        return finite_volume.largest_step(speed.max(), spacing)

    at_rest = torch.stack([start, torch.zeros_like(start), torch.zeros_like(start)], dim=1)
    frames = frames_at(times, at_rest, lambda state, seconds: ssp_rk3(rate, state, seconds), largest_step)
    return (state[:, 0] for state in frames)


def _cells(state: Tensor) -> Tensor:
    """Height and velocities of height and discharges, (n, 3, X, Y)."""
    import torch

    return torch.cat([state[:, :1], state[:, 1:] / state[:, :1]], dim=1)


def _flux(left: Tensor, right: Tensor, axis: int) -> Tensor:
    """The flux of Harten, Lax and van Leer between heights and velocities, (n, 3, ..., faces)."""
    import torch

    waves = [(GRAVITY * side[:, 0]).sqrt() for side in (left, right)]
    along = [side[:, 1 + axis] for side in (left, right)]
    slowest = torch.minimum(along[0] - waves[0], along[1] - waves[1]).clamp_max(0)[:, None]
    fastest = torch.maximum(along[0] + waves[0], along[1] + waves[1]).clamp_min(0)[:, None]
    held, carried = zip(*(_held_and_carried(side, axis) for side in (left, right)), strict=True)
    exchanged = slowest * fastest * (held[1] - held[0])
    return (fastest * carried[0] - slowest * carried[1] + exchanged) / (fastest - slowest)


def _held_and_carried(side: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Height and discharges, and their exact flux."""
    import torch

    height = side[:, :1]
    held = torch.cat([height, height * side[:, 1:]], dim=1)
    carried = held * side[:, 1 + axis : 2 + axis]
    carried[:, 1 + axis] += GRAVITY * side[:, 0] ** 2 / 2
    return held, carried


def write(path: Path, config: ShallowWater2dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    from trainer.data.numerics.random_fields import cell_centres, frame_times

    centres = cell_centres(config.grid_points, -LENGTH / 2, LENGTH)
    coordinates = {"x": centres, "y": centres, "t": frame_times(config.frames, config.end_time)}
    write_grouped(path, values, coordinates, {}, content_hash)


TASK = Task(
    name="shallow_water2d",
    settings=ShallowWater2dConfig,
    layout="grouped",
    parameters=(),
    state=("h",),
    target=("h",),
    solver_version=1,
    generate=generate,
    write=write,
    conserved=True,  # until waves reach the border, which they do not within 1 s
    wraps_around=False,
    scores=(conserved_mean("mass", one_field(0)), positivity(0)),
)
