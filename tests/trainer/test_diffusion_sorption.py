"""The diffusion-sorption solver against diffusion alone, its balance of mass, and its orders."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.numerics.tridiagonal import solve_tridiagonal
from trainer.data.tasks.diffusion_sorption1d import (
    DIFFUSION,
    DiffusionSorption1dConfig,
    Line,
    generate,
    held_by,
    solve,
)

DOUBLE = torch.float64


def centres(points: int) -> torch.Tensor:
    return (torch.arange(points, dtype=DOUBLE) + 0.5) / points


def frames(start: torch.Tensor, times: list[float], step: float = 1.25, **more: float) -> torch.Tensor:
    return torch.stack([u[0] for u in solve(start[None], np.array(times), step, **more)])


@pytest.mark.parametrize("points", [1, 2, 7, 32])
def test_tridiagonal_systems_are_solved(points):
    random = torch.Generator().manual_seed(0)
    lower, upper, right = torch.randn(3, 5, points, dtype=DOUBLE, generator=random)
    lower[:, 0] = upper[:, -1] = 0
    diagonal = 4 + torch.rand(5, points, dtype=DOUBLE, generator=random)
    matrix = torch.diag_embed(diagonal)
    matrix += torch.diag_embed(lower[:, 1:], offset=-1) + torch.diag_embed(upper[:, :-1], offset=1)
    found = solve_tridiagonal(lower, diagonal, upper, right)
    torch.testing.assert_close(found, torch.linalg.solve(matrix, right))


def test_without_sorption_what_comes_in_spreads_as_an_error_function():
    errors = []
    for points in (32, 64, 128):
        found = frames(torch.zeros(points, dtype=DOUBLE), [0.0, 40.0], 0.5, sorbed=0.0)[-1]
        exact = torch.erfc(centres(points) / math.sqrt(4 * DIFFUSION * 40))
        errors.append((found - exact).square().mean().sqrt().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert errors[-1] < 1e-4
    assert orders == pytest.approx([2, 2], abs=0.2)


def test_halving_the_step_quarters_the_error():
    start = 0.1 + 0.05 * torch.cos(2 * math.pi * centres(32))
    begun = frames(start, [0.0, 50.0], 0.5)[-1]  # behind the jump on the left border
    finest = frames(begun, [0.0, 80.0], 0.5)[-1]
    errors = [(frames(begun, [0.0, 80.0], step)[-1] - finest).abs().max().item() for step in (16.0, 8.0, 4.0)]
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert min(orders) > 1.7


def test_what_is_held_changes_by_what_crosses_the_borders():
    points = 32
    found = frames(0.1 + 0.05 * centres(points), [20.0 + 0.5 * n for n in range(41)], 0.125)
    held = held_by(found).mean(dim=1)
    crossing = Line.of(found).change(found).mean(dim=1)
    gained = torch.trapezoid(crossing, dx=0.5)
    assert (held[-1] - held[0]).item() == pytest.approx(gained.item(), rel=2e-3)
    left = 2 * DIFFUSION * points * (1 - found[:, 0])
    right = 2 * DIFFUSION * points / (1 + 2 * DIFFUSION * points) * found[:, -1]
    torch.testing.assert_close(crossing, left - right)


def test_sorption_holds_the_front_back():
    nothing = torch.zeros(64, dtype=DOUBLE)
    free, held_back = (frames(nothing, [0.0, 100.0], sorbed=sorbed)[-1] for sorbed in (0.0, 2.468))
    assert held_back.sum() < 0.6 * free.sum()
    assert held_back.min() >= 0
    assert held_back.max() <= 1


def test_fields_start_between_0_and_a_fifth_and_stay_within_0_and_1():
    config = DiffusionSorption1dConfig(trajectories=4, grid_points=32, frames=6, end_time=100.0)
    values = generate(config, 0, 0)
    assert values.shape == (4, 6, 32, 1)
    assert values[:, 0].max() <= 0.2
    assert values.min() >= 0
    assert values.max() <= 1
