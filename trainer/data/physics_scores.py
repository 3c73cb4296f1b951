"""Scores of physics laws: what a task declares of its fields, measured on rollouts in physical units.

Made of functions of this module, so that a task can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from trainer.contracts.task import Score

if TYPE_CHECKING:  # tasks are declared without torch
    from torch import Tensor

LEAST = 1e-12  # that anything is divided by
GAMMA = 5 / 3  # of the gas, PDEBench's

Density = Callable[["Tensor"], "Tensor"]  # of fields (n, fields, *grid), (n, *grid)


def one_field(number: int) -> Density:
    return partial(_field, number)


def squared_field(number: int) -> Density:
    return partial(_square, number)


def conserved_mean(name: str, density: Density) -> Score:
    """How much the mean of a density has changed, relative to its mean size."""
    return Score(name, partial(_mean_change, density))


def never_growing(name: str, density: Density) -> Score:
    """How much the mean of a density has grown, relative to its mean size; to fall is right."""
    return Score(name, partial(_mean_growth, density))


def positivity(*fields: int) -> Score:
    """The mean size of what lies below 0, relative to the mean size of the field; the worst of the fields."""
    return Score("positivity", partial(_below_zero, fields))


def divergence(x: int, y: int) -> Score:
    """The divergence of a velocity by central differences inside the grid, relative to its gradient there."""
    return Score("divergence", partial(_divergence, x, y))


def _field(number: int, fields: Tensor) -> Tensor:
    return fields[:, number]


def _square(number: int, fields: Tensor) -> Tensor:
    return fields[:, number].square()


def _mean_change(density: Density, start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
    before, after = (density(fields).flatten(1) for fields in (start, later))
    return (after.mean(dim=1) - before.mean(dim=1)).abs() / before.abs().mean(dim=1).clamp_min(LEAST)


def _mean_growth(density: Density, start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
    before, after = (density(fields).flatten(1).mean(dim=1) for fields in (start, later))
    return (after - before).relu() / before.abs().clamp_min(LEAST)


def _below_zero(numbers: tuple[int, ...], start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
    chosen = later[:, list(numbers)].flatten(2)
    below = (-chosen).relu().mean(dim=2) / chosen.abs().mean(dim=2).clamp_min(LEAST)
    return below.amax(dim=1)


def _divergence(x: int, y: int, start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
    along_x = (later[:, x, 2:, 1:-1] - later[:, x, :-2, 1:-1]) / (2 * spacing[0])
    along_y = (later[:, y, 1:-1, 2:] - later[:, y, 1:-1, :-2]) / (2 * spacing[1])
    size = (along_x.square() + along_y.square()).flatten(1).mean(dim=1).sqrt()
    return (along_x + along_y).square().flatten(1).mean(dim=1).sqrt() / size.clamp_min(LEAST)


def _energy_of_gas(fields: Tensor) -> Tensor:
    """Of density, pressure and velocities."""
    return fields[:, 1] / (GAMMA - 1) + fields[:, 0] * fields[:, 2:].square().sum(dim=1) / 2


# Of density, pressure and velocities on a circle or torus; through open borders mass and energy may leave.
GAS_SCORES = (
    conserved_mean("mass", one_field(0)),
    conserved_mean("energy", _energy_of_gas),
    positivity(0, 1),
)
