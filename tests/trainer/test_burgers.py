"""The Burgers solver against the Cole-Hopf solution, an exact shock, and what the equation conserves."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.tasks.burgers1d import Burgers1dConfig, generate, solve

DOUBLE = torch.float64


def centres(points: int) -> torch.Tensor:
    return (torch.arange(points, dtype=DOUBLE) + 0.5) / points


def last(start: torch.Tensor, nu: float, end: float) -> torch.Tensor:
    *_, found = solve(start[None], nu, np.array([0.0, end]))
    return found[0]


def cole_hopf(points: int, nu: float, time: float) -> torch.Tensor:
    """u = -2 k (log phi)_x of the heat flow of phi, from u = sin(2 pi x), by a fine Fourier series."""
    k, fine = nu / math.pi, 4096
    x = torch.arange(fine, dtype=DOUBLE) / fine
    phi = torch.exp((torch.cos(2 * math.pi * x) - 1) / (4 * math.pi * k))
    number = torch.arange(fine // 2 + 1, dtype=DOUBLE)
    modes = torch.fft.rfft(phi) * torch.exp(-k * time * (2 * math.pi * number) ** 2)
    phase = torch.exp(1j * math.pi * number / points)  # to cell centres
    slope = torch.fft.irfft(modes * 2j * math.pi * number * phase, n=fine)
    level = torch.fft.irfft(modes * phase, n=fine)
    return (-2 * k * slope / level)[:: fine // points]


@pytest.mark.parametrize("nu", [0.04, 0.4])
def test_a_sine_follows_the_cole_hopf_solution_in_second_order(nu):
    errors = []
    for points in (32, 64, 128):
        found = last(torch.sin(2 * math.pi * centres(points)), nu, 0.25)
        errors.append((found - cole_hopf(points, nu, 0.25)).abs().mean().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert errors[-1] < 2e-3
    assert min(orders) > 1.6


def test_a_shock_moves_at_the_mean_of_both_sides():
    """From 1 to 0 at speed 1/2; on the circle a fan opens behind it, which does not reach it."""
    x = centres(128)
    start = torch.where((x > 0.25) & (x < 0.5), 1.0, 0.0).to(DOUBLE)
    found = last(start, 1e-6, 0.25)
    assert found[(x > 0.52) & (x < 0.6)].min() > 0.98
    assert found[x > 0.65].abs().max() < 1e-6
    assert found.mean().item() == pytest.approx(start.mean().item(), abs=1e-12)
    assert found.max() <= 1 + 1e-9


def test_the_mean_stays_and_the_energy_falls():
    config = Burgers1dConfig(nus=(0.001, 4.0), trajectories=3, grid_points=32, frames=5, end_time=0.4)
    for case in (0, 1):
        values = generate(config, 0, case).astype(np.float64)
        means, energy = values.mean(axis=2), np.square(values).mean(axis=2)
        np.testing.assert_allclose(means, np.repeat(means[:, :1], 5, axis=1), atol=1e-6)
        assert (np.diff(energy, axis=1) <= 1e-7).all()


def test_a_constant_stays():
    torch.testing.assert_close(last(torch.full((16,), -0.3, dtype=DOUBLE), 0.1, 1.0).mean().item(), -0.3)
