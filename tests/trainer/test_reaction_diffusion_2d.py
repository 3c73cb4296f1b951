"""The FitzHugh-Nagumo solver against its ordinary equation, linear theory, and its own order."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.numerics.spectral import Cosines
from trainer.data.tasks.reaction_diffusion2d import (
    DIFFUSION_U,
    DIFFUSION_V,
    K,
    ReactionDiffusion2dConfig,
    generate,
    solve,
)

DOUBLE = torch.float64


def last(start: torch.Tensor, end: float, step: float = 0.01) -> torch.Tensor:
    *_, found = solve(start[None], np.array([0.0, end]), step)
    return found[0]


def mode(points: int, x: int, y: int) -> torch.Tensor:
    """A cosine between walls."""
    centres = (torch.arange(points, dtype=DOUBLE) + 0.5) / points
    return torch.cos(math.pi * x * centres)[:, None] * torch.cos(math.pi * y * centres)


def test_a_field_without_structure_follows_the_ordinary_equation():
    u, v, step = 0.7, -0.4, 1e-4
    for _ in range(10_000):  # the midpoint method
        half_u = u + step / 2 * (u - u**3 - K - v)
        half_v = v + step / 2 * (u - v)
        u, v = u + step * (half_u - half_u**3 - K - half_v), v + step * (half_u - half_v)
    found = last(torch.tensor([0.7, -0.4], dtype=DOUBLE)[:, None, None].expand(2, 8, 8), 1.0)
    torch.testing.assert_close(found[:, 3, 5], torch.tensor([u, v], dtype=DOUBLE), atol=1e-6, rtol=0)


def test_small_waves_follow_linear_theory_in_second_order():
    """Around u = v with u^3 = -k; a wave of 2 and 1 half periods on a square of side 2."""
    rest, size, end = -(K ** (1 / 3)), 1e-5, 1.0
    squared = (math.pi**2) * (2**2 + 1**2) / 4
    matrix = torch.tensor(
        [[1 - 3 * rest**2 - DIFFUSION_U * squared, -1.0], [1.0, -1.0 - DIFFUSION_V * squared]], dtype=DOUBLE
    )
    exact = torch.linalg.matrix_exp(matrix * end) @ torch.tensor([1.0, 0.5], dtype=DOUBLE)
    errors = []
    for points in (8, 16, 32):
        wave = mode(points, 2, 1)
        start = rest + size * torch.stack([wave, 0.5 * wave])
        found = (last(start, end, 0.0025) - rest) / size
        errors.append((found - exact[:, None, None] * wave).abs().max().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert errors[-1] < 1e-3
    assert orders == pytest.approx([2, 2], abs=0.3)


def test_halving_the_step_quarters_the_error():
    start = torch.randn(2, 16, 16, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    finest = last(start, 1.0, 1 / 512)
    errors = [(last(start, 1.0, step) - finest).abs().max().item() for step in (1 / 16, 1 / 32, 1 / 64)]
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.4)


def test_between_walls_diffusion_keeps_the_mean_and_makes_no_new_extremes():
    field = torch.rand(16, 16, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    found = Cosines(16, 0.1, field).diffused(field, 0.3, 0.05)
    torch.testing.assert_close(found.mean(), field.mean())
    assert field.min() < found.min() < found.max() < field.max()


def test_poissons_equation_between_walls_is_solved():
    cosines, wave = Cosines(16, 0.1, mode(16, 3, 2)), mode(16, 3, 2)
    laplacian = cosines.applied(wave, cosines.eigenvalue[:, None] + cosines.eigenvalue)
    inside = wave[2:, 1:-1] + wave[:-2, 1:-1] + wave[1:-1, 2:] + wave[1:-1, :-2] - 4 * wave[1:-1, 1:-1]
    torch.testing.assert_close(laplacian[1:-1, 1:-1], inside / 0.1**2)
    torch.testing.assert_close(cosines.poisson(laplacian), wave)


def test_noise_becomes_smooth():
    config = ReactionDiffusion2dConfig(trajectories=2, grid_points=32, frames=3, end_time=4.0)
    values = generate(config, 0, 0)
    assert values.shape == (2, 3, 32, 32, 2)
    rough = np.abs(np.diff(values, axis=2)).mean(axis=(0, 2, 3, 4)) / values.std(axis=(0, 2, 3, 4))
    assert rough[-1] < 0.6 * rough[0]
