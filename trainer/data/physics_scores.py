"""Scores of physics laws: what a task declares of its fields, measured on rollouts in physical units."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainer.contracts.task import Score

if TYPE_CHECKING:  # tasks are declared without torch
    from torch import Tensor

LEAST = 1e-12  # that anything is divided by
GAMMA = 5 / 3  # of the gas, PDEBench's


def conserved_mean(name: str, density: Callable[[Tensor], Tensor]) -> Score:
    """How much the mean of a density (n, *grid) of the fields has changed, relative to its mean size."""

    def of(start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
        before, after = (density(fields).flatten(1) for fields in (start, later))
        return (after.mean(dim=1) - before.mean(dim=1)).abs() / before.abs().mean(dim=1).clamp_min(LEAST)

    return Score(name, of)


def never_growing(name: str, density: Callable[[Tensor], Tensor]) -> Score:
    """How much the mean of a density has grown, relative to its mean size; to fall is right."""

    def of(start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
        before, after = (density(fields).flatten(1).mean(dim=1) for fields in (start, later))
        return (after - before).relu() / before.abs().clamp_min(LEAST)

    return Score(name, of)


def positivity(*fields: int) -> Score:
    """The mean size of what lies below 0, relative to the mean size of the field; the worst of the fields."""

    def of(start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
        chosen = later[:, list(fields)].flatten(2)
        below = (-chosen).relu().mean(dim=2) / chosen.abs().mean(dim=2).clamp_min(LEAST)
        return below.amax(dim=1)

    return Score("positivity", of)


def divergence(x: int, y: int) -> Score:
    """The divergence of a velocity by central differences inside the grid, relative to its gradient there."""

    def of(start: Tensor, later: Tensor, spacing: tuple[float, ...]) -> Tensor:
        along_x = (later[:, x, 2:, 1:-1] - later[:, x, :-2, 1:-1]) / (2 * spacing[0])
        along_y = (later[:, y, 1:-1, 2:] - later[:, y, 1:-1, :-2]) / (2 * spacing[1])
        size = (along_x.square() + along_y.square()).flatten(1).mean(dim=1).sqrt()
        return (along_x + along_y).square().flatten(1).mean(dim=1).sqrt() / size.clamp_min(LEAST)

    return Score("divergence", of)


def one_field(number: int) -> Callable[[Tensor], Tensor]:
    return lambda fields: fields[:, number]


def _energy_of_gas(fields: Tensor) -> Tensor:
    """Of density, pressure and velocities."""
    return fields[:, 1] / (GAMMA - 1) + fields[:, 0] * fields[:, 2:].square().sum(dim=1) / 2


# Of density, pressure and velocities on a circle or torus; through open borders mass and energy may leave.
GAS_SCORES = (
    conserved_mean("mass", one_field(0)),
    conserved_mean("energy", _energy_of_gas),
    positivity(0, 1),
)
