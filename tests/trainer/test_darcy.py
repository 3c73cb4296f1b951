"""The Darcy solver against exact solutions, and its convergence."""

import itertools
import math

import numpy as np
import pytest
import torch
from tiny import tiny_config

from trainer.data.tasks.darcy2d import generate, solve, threshold

DOUBLE = torch.float64


def centres(points: int) -> torch.Tensor:
    return (torch.arange(points, dtype=DOUBLE) + 0.5) / points


def poisson_series(points: int) -> torch.Tensor:
    """-laplace u = 1 on the unit square, u = 0 on its border, as its double sine series."""
    number = torch.arange(1, 400, 2, dtype=DOUBLE)
    sines = torch.sin(math.pi * number[:, None] * centres(points))
    m, n = number[:, None], number
    return sines.T @ (16 / (math.pi**4 * m * n * (m**2 + n**2))) @ sines


def test_a_constant_coefficient_gives_the_poisson_series():
    u = solve(torch.full((1, 64, 64), 0.5, dtype=DOUBLE), beta=2.0)[0]
    torch.testing.assert_close(u, 4 * poisson_series(64), atol=2e-4, rtol=0)


def test_halving_the_cells_quarters_the_error():
    errors = []
    for points in (16, 32, 64):
        u = solve(torch.ones(1, points, points, dtype=DOUBLE), beta=1.0)[0]
        errors.append((u - poisson_series(points)).square().mean().sqrt().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert orders == pytest.approx([2, 2], abs=0.15)


def test_layers_conduct_like_resistors_in_series():
    """What leaves one half equals what arises in it and what comes through the jump, at the harmonic mean."""
    points = 32
    coefficient = torch.ones(1, points, points, dtype=DOUBLE)
    coefficient[:, points // 2 :] = 0.1
    u = solve(coefficient, beta=1.0)[0]
    left, right = u[points // 2 - 1], u[points // 2]  # of the jump
    harmonic = 2 * 0.1 / 1.1
    outer = 2 * u[0, :] * points  # flux out of the border, a = 1
    inner = harmonic * (right - left) * points
    column = points // 2
    sources = points // 2 / points + _lateral(u, coefficient)[: points // 2, column].sum() / points
    assert (outer - inner)[column].item() == pytest.approx(sources.item(), rel=1e-6)


def _lateral(u: torch.Tensor, coefficient: torch.Tensor) -> torch.Tensor:
    """Inflow per volume across y where a does not change along y."""
    padded = torch.nn.functional.pad(u, (1, 1))
    padded[:, 0], padded[:, -1] = -u[:, 0], -u[:, -1]
    return coefficient[0] * padded.diff(n=2, dim=1) * u.shape[0] ** 2


def test_the_solution_is_positive_and_proportional_to_beta():
    coefficient = threshold(torch.randn(4, 32, 32, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)))
    one, ten = solve(coefficient, 1.0), solve(coefficient, 10.0)
    assert one.min() > 0
    torch.testing.assert_close(ten, 10 * one, rtol=1e-6, atol=0)


@pytest.mark.parametrize("other_half", [0.9, 1.0])
def test_a_solution_is_as_exact_whatever_its_size_and_company(other_half):
    """Where a hardly varies, or not, few iterations are enough; the other field of the batch needs many."""
    easy = torch.ones(1, 32, 32, dtype=DOUBLE)
    easy[:, :16] = other_half
    hard = threshold(torch.randn(1, 32, 32, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)))
    both = torch.cat([easy, hard])
    alone = torch.cat([solve(one, 1.0) for one in both.split(1)])
    torch.testing.assert_close(solve(both, 1e4), 1e4 * alone, rtol=1e-6, atol=0)


def test_coefficients_are_two_values_in_connected_patches():
    coefficient = threshold(torch.randn(16, 64, 64, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)))
    assert coefficient.unique().tolist() == [0.1, 1.0]
    assert 0.3 < coefficient.eq(1.0).double().mean() < 0.7
    assert coefficient.diff(dim=1).ne(0).double().mean() < 0.1


def test_a_file_is_a_function_of_seed_and_case(tmp_path):
    task = tiny_config(tmp_path).data.darcy2d
    first = generate(task, 0, 0)
    assert first.shape == (2, 8, 8, 8)
    np.testing.assert_array_equal(first, generate(task, 0, 0))
    assert not np.array_equal(first[0], generate(task, 1, 0)[0])
    assert not np.array_equal(first[0], generate(task, 0, 1)[0])
