"""The shallow-water solver against the exact dam break, water at rest, and what it conserves."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.tasks.shallow_water2d import LENGTH, ShallowWater2dConfig, dam, generate, solve

DOUBLE = torch.float64


def last(start: torch.Tensor, end: float, spacing: float) -> torch.Tensor:
    *_, found = solve(start[None], np.array([0.0, end]), spacing)
    return found[0]


def stoker(x: torch.Tensor, time: float, high: float = 2.0, low: float = 1.0) -> torch.Tensor:
    """The dam break of infinite width at x = 0 with gravity 1 (Stoker 1957): a fan, a plateau, a shock."""
    least, most = low, high
    for _ in range(80):  # of the height where the speeds behind fan and shock agree
        middle = (least + most) / 2
        behind_fan = 2 * (math.sqrt(high) - math.sqrt(middle))
        behind_shock = (middle - low) * math.sqrt((middle + low) / (2 * middle * low))
        least, most = (middle, most) if behind_fan > behind_shock else (least, middle)
    shock = middle * behind_fan / (middle - low)
    speed = x / time
    fan = (2 * math.sqrt(high) - speed) ** 2 / 9
    found = torch.where(speed < shock, middle, low).to(DOUBLE)
    found = torch.where(speed < behind_fan - math.sqrt(middle), fan, found)
    return torch.where(speed < -math.sqrt(high), high, found)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_straight_dam_breaks_as_stokers_solution(axis):
    errors = []
    for points in (32, 64, 128):
        x = (torch.arange(points, dtype=DOUBLE) + 0.5) * 4 / points - 2
        start = torch.where(x < 0, 2.0, 1.0).to(DOUBLE)[:, None].expand(points, 4)
        found = last(start if axis == 0 else start.T, 1.0, 4 / points)
        found = found if axis == 0 else found.T
        torch.testing.assert_close(found[:, 0], found[:, 3])
        errors.append((found[:, 0] - stoker(x, 1.0)).abs().mean().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert errors[-1] < 6e-3
    assert min(orders) > 0.75  # of a solution with a jump at most 1


def test_water_at_rest_stays():
    start = torch.full((16, 16), 1.3, dtype=DOUBLE)
    torch.testing.assert_close(last(start, 1.0, 0.3), start, atol=1e-13, rtol=0)


def test_a_round_dam_stays_round_and_keeps_its_water():
    start = torch.from_numpy(dam(0.5, 64))
    found = last(start, 1.0, LENGTH / 64)
    for turned in (found.T, found.flip(0), found.flip(1)):
        torch.testing.assert_close(turned, found, atol=1e-12, rtol=0)
    assert found.mean().item() == pytest.approx(start.mean().item(), abs=1e-9)
    assert 0.3 < found.min() < found[0].max() < 1 + 1e-6


def test_a_dam_holds_the_water_of_its_circle():
    volume = (dam(0.5, 64) - 1).sum() * (LENGTH / 64) ** 2
    assert volume == pytest.approx(math.pi * 0.5**2, rel=2e-3)


def test_waves_leave_through_open_borders():
    found = last(torch.from_numpy(dam(0.7, 32)), 8.0, LENGTH / 32)
    torch.testing.assert_close(found, torch.ones_like(found), atol=0.05, rtol=0)


def test_radii_differ_within_their_range():
    values = generate(ShallowWater2dConfig(trajectories=4, grid_points=32, frames=2, end_time=0.1), 0, 0)
    assert values.shape == (4, 2, 32, 32, 1)
    radii = np.sqrt((values[:, 0, ..., 0] - 1).sum(axis=(1, 2)) * (LENGTH / 32) ** 2 / math.pi)
    assert 0.29 < radii.min() < radii.max() < 0.71
