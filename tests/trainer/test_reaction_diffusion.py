"""The 1-D reaction-diffusion solver against logistic growth, the heat flow, and its own order."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.tasks.reaction_diffusion1d import ReactionDiffusion1dConfig, generate, solve

DOUBLE = torch.float64


def centres(points: int) -> torch.Tensor:
    return (torch.arange(points, dtype=DOUBLE) + 0.5) / points


def last(start: torch.Tensor, nu: float, rho: float, end: float, step: float = 0.002) -> torch.Tensor:
    *_, found = solve(start[None], nu, rho, np.array([0.0, end]), step)
    return found[0]


def test_a_constant_grows_as_the_logistic_curve():
    found = last(torch.full((16,), 0.2, dtype=DOUBLE), 1.0, 3.0, 0.5)
    expected = 0.2 / (0.2 + 0.8 * math.exp(-1.5))
    torch.testing.assert_close(found, torch.full((16,), expected, dtype=DOUBLE), atol=1e-12, rtol=0)


def test_without_growth_it_is_the_heat_flow_in_second_order():
    errors = []
    for points in (32, 64, 128):
        wave = torch.sin(4 * math.pi * centres(points))
        found = last(0.5 + 0.3 * wave, 0.5, 1e-12, 0.01)
        exact = 0.5 + 0.3 * math.exp(-0.5 * 0.01 * (4 * math.pi) ** 2) * wave
        errors.append((found - exact).abs().max().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.1)


def test_halving_the_step_quarters_the_error():
    start = 0.5 + 0.4 * torch.sin(2 * math.pi * centres(32))
    finest = last(start, 0.5, 10.0, 0.08, 0.00025)
    errors = [
        (last(start, 0.5, 10.0, 0.08, step) - finest).abs().max().item() for step in (0.016, 0.008, 0.004)
    ]
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.15)


def test_fields_stay_between_0_and_1():
    config = ReactionDiffusion1dConfig(nus=(0.5,), rhos=(10.0,), trajectories=4, grid_points=64, frames=11)
    values = generate(config, 0, 0)
    assert values.min() >= 0
    assert values.max() <= 1 + 1e-6
