"""Steady Darcy flow, -div(a grad u) = beta on the unit square, u = 0 on the border: from a to u.

Five-point finite volumes with harmonic face coefficients; conjugate gradients, preconditioned by the exact
inverse for a = 1, whose condition number is at most the contrast of a.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from trainer.contracts.settings import AtLeast, FilePattern, NotEmpty, Positive
from trainer.contracts.task import Task
from trainer.data.layouts.darcy import write_darcy
from trainer.process.terminal import show_progress

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor

COEFFICIENTS = (0.1, 1.0)
SQUARED_LENGTH = 9.0  # of the random field: covariance (-laplace + 9)^-2 with Neumann borders
TOLERANCE = 1e-9  # of the residual, relative
MAX_ITERATIONS = 200
FIELDS_AT_ONCE = 64


@dataclass(frozen=True)
class Darcy2dConfig:
    """PDEBench's Darcy flow."""

    betas: Annotated[tuple[Positive, ...], NotEmpty()] = (0.01, 0.1, 1.0, 10.0, 100.0)
    trajectories: Annotated[int, AtLeast(2)] = 1000  # pairs per beta
    grid_points: Annotated[int, AtLeast(4)] = 128  # per axis
    files: FilePattern = None  # in data.root

    @property
    def cases(self) -> tuple[tuple[float], ...]:
        return tuple((beta,) for beta in self.betas)

    @property
    def frames(self) -> int:
        return 2  # a and u

    @property
    def grid(self) -> tuple[int, int]:
        return (self.grid_points, self.grid_points)

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


def generate(config: Darcy2dConfig, seed: int, case: int) -> np.ndarray:
    """Return a and u of one file, (2, trajectories, X, Y) float32; solved on a GPU where there is one."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    random = np.random.default_rng([seed, case, 2])
    values = np.empty((2, config.trajectories, *config.grid), dtype=np.float32)
    for first in range(0, config.trajectories, FIELDS_AT_ONCE):
        part = slice(first, min(first + FIELDS_AT_ONCE, config.trajectories))
        noise = random.standard_normal((part.stop - first, *config.grid))
        coefficient = threshold(torch.from_numpy(noise).to(device))
        values[0, part] = coefficient.cpu().numpy()
        values[1, part] = solve(coefficient, config.betas[case]).cpu().numpy()
        show_progress("trajectory", part.stop, config.trajectories)
    return values


def threshold(noise: Tensor) -> Tensor:
    """Return a in {0.1, 1} (n, X, Y) from white noise: the sign of a smooth random field."""
    import torch

    points = noise.shape[-1]
    number = torch.arange(points, dtype=noise.dtype, device=noise.device)
    cosines = torch.cos(math.pi * number[:, None] * (number + 0.5) / points)  # (wave number, point)
    squared = (math.pi * number) ** 2
    amplitude = 1 / (squared[:, None] + squared + SQUARED_LENGTH)
    amplitude[0, 0] = 0  # no mean: both values cover half of the square on average
    smooth = cosines.T @ (noise * amplitude) @ cosines
    low, high = COEFFICIENTS
    return torch.where(smooth >= 0, noise.new_tensor(high), noise.new_tensor(low))


def solve(coefficient: Tensor, beta: float) -> Tensor:
    """Return u (n, X, Y) for a (n, X, Y) at cell centres, float64; RuntimeError if it does not converge."""
    import torch

    faces = _Faces.of(coefficient)
    invert = _unit_inverse(coefficient)
    u = torch.zeros_like(coefficient)
    residual = torch.full_like(coefficient, beta)
    goal = TOLERANCE * _dot(residual, residual).sqrt()
    preconditioned = invert(residual)
    direction, energy = preconditioned, _dot(residual, preconditioned)
    for _ in range(MAX_ITERATIONS):
        product = faces.apply(direction)
        length = _ratio(energy, _dot(direction, product))
        u = u + length * direction
        residual = residual - length * product
        if bool((_dot(residual, residual).sqrt() <= goal).all()):
            return u
        preconditioned = invert(residual)
        previous, energy = energy, _dot(residual, preconditioned)
        direction = preconditioned + _ratio(energy, previous) * direction
    raise RuntimeError(f"darcy2d: the solver did not converge in {MAX_ITERATIONS} iterations")


@dataclass(frozen=True)
class _Faces:
    """Coefficients over h^2 of the faces across each axis, (n, X + 1, Y) and (n, X, Y + 1)."""

    across_x: Tensor
    across_y: Tensor

    @staticmethod
    def of(coefficient: Tensor) -> _Faces:
        cells_per_length = coefficient.shape[-1]
        faces = [_harmonic(coefficient), _harmonic(coefficient.transpose(1, 2)).transpose(1, 2)]
        return _Faces(*(face * cells_per_length**2 for face in faces))

    def apply(self, u: Tensor) -> Tensor:
        """Return -div(a grad u)."""
        import torch

        flow_x = self.across_x * torch.nn.functional.pad(u, (0, 0, 1, 1)).diff(dim=1)
        flow_y = self.across_y * torch.nn.functional.pad(u, (1, 1)).diff(dim=2)
        return -flow_x.diff(dim=1) - flow_y.diff(dim=2)


def _harmonic(coefficient: Tensor) -> Tensor:
    """Face coefficients across axis 1; the border lies half a cell away, so its faces count twice."""
    import torch

    left, right = coefficient[:, :-1], coefficient[:, 1:]
    inner = 2 * left * right / (left + right)
    return torch.cat([2 * coefficient[:, :1], inner, 2 * coefficient[:, -1:]], dim=1)


def _unit_inverse(like: Tensor):
    """Return the function that solves -laplace u = f on the same grid, in its sine basis."""
    import torch

    points = like.shape[-1]
    number = torch.arange(1, points + 1, dtype=like.dtype, device=like.device)
    place = (torch.arange(points, dtype=like.dtype, device=like.device) + 0.5) / points
    sines = torch.sin(math.pi * number[:, None] * place)
    sines = sines / sines.norm(dim=1, keepdim=True)
    eigenvalue = (2 * points * torch.sin(math.pi * number / (2 * points))) ** 2
    scale = 1 / (eigenvalue[:, None] + eigenvalue)
    return lambda f: sines.T @ (scale * (sines @ f @ sines.T)) @ sines


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=(1, 2), keepdim=True)


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """a / b, and 0 where b is 0: a field that is solved exactly waits for the others."""
    return (a / b).where(b > 0, 0)


def write(path: Path, config: Darcy2dConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    centres = (np.arange(config.grid_points) + 0.5) / config.grid_points
    write_darcy(path, values[0], values[1], centres, {"beta": config.betas[case]}, content_hash)


TASK = Task(
    name="darcy2d",
    settings=Darcy2dConfig,
    layout="darcy",
    parameters=("beta",),
    state=("a",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
    positive=True,
    zero_border=True,
)
