"""The incompressible solver against exact flows in a box, and what it keeps."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.numerics.box_flow import BoxFlow, velocity_of
from trainer.data.tasks.navier_stokes2d import VISCOSITY, NavierStokes2dConfig, generate, random_modes, solve

DOUBLE = torch.float64


def stream(points: int, wave) -> np.ndarray:
    """A stream function wave(x) wave(y) at corners, (1, X + 1, Y + 1)."""
    along = wave(np.linspace(0, 1, points + 1))
    return (along[:, None] * along)[None]


def started(points: int, wave, particles: float = 1.0) -> torch.Tensor:
    velocity = velocity_of(stream(points, wave))
    return torch.from_numpy(np.concatenate([np.full_like(velocity[:, :1], particles), velocity], axis=1))


def no_force(points: int) -> torch.Tensor:
    return torch.zeros(1, 2, points, points, dtype=DOUBLE)


def last(start: torch.Tensor, force: torch.Tensor, end: float, slips: bool = False) -> torch.Tensor:
    *_, found = solve(start, force, np.array([0.0, end]), slips)
    return found[0]


def orders(errors: list[float]) -> list[float]:
    return [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]


def test_taylor_and_greens_vortex_decays_where_the_fluid_slips():
    """u = sin(pi x) cos(pi y), v = -cos(pi x) sin(pi y) keeps its form: the pressure balances the rest."""
    errors, end = [], 0.5
    for points in (8, 16, 32):
        centres = (torch.arange(points, dtype=DOUBLE) + 0.5) / points
        found = last(
            started(points, lambda x: np.sin(np.pi * x) / np.sqrt(np.pi)), no_force(points), end, True
        )
        decay = math.exp(-2 * math.pi**2 * VISCOSITY * end)
        exact = decay * torch.sin(math.pi * centres)[:, None] * torch.cos(math.pi * centres)
        errors.append((found[..., 1] - exact).abs().max().item())
        torch.testing.assert_close(found[..., 2], -found[..., 1].T, atol=1e-10, rtol=0)
    assert errors[-1] < 3e-3
    assert min(orders(errors)) > 1.7


def test_a_flow_that_its_force_holds_up_stays_where_the_fluid_sticks():
    """Stream function (sin^2 pi x sin^2 pi y) / pi; the force is what it takes to keep it, found by hand."""
    errors = []
    for points in (8, 16, 32):
        x = (np.arange(points) + 0.5) / points
        s, ds, dds, ddds = (
            np.sin(np.pi * x) ** 2,
            np.pi * np.sin(2 * np.pi * x),
            2 * np.pi**2 * np.cos(2 * np.pi * x),
            -4 * np.pi**3 * np.sin(2 * np.pi * x),
        )
        outer = lambda a, b: a[:, None] * b / np.pi  # noqa: E731
        u, v = outer(s, ds), -outer(ds, s)
        force = np.stack(
            [
                u * outer(ds, ds) + v * outer(s, dds) - VISCOSITY * (outer(dds, ds) + outer(s, ddds)),
                -u * outer(dds, s) - v * outer(ds, ds) + VISCOSITY * (outer(ddds, s) + outer(ds, dds)),
            ]
        )
        start = started(points, lambda y: np.sin(np.pi * y) ** 2 / np.sqrt(np.pi))
        found = last(start, torch.from_numpy(force)[None], 0.3)
        errors.append((found[..., 1] - torch.from_numpy(u)).abs().max().item())
    assert errors[-1] < 0.02
    assert min(orders(errors)) > 1.7


def test_faces_hold_no_divergence_and_walls_let_nothing_through():
    points, random = 16, np.random.default_rng(0)
    flow = random_modes(random, 2, np.linspace(0, 1, points + 1), -4.0, np.sin)
    velocity = torch.from_numpy(velocity_of(flow))
    start = torch.cat([torch.ones(2, 1, points, points, dtype=DOUBLE), velocity], dim=1)
    force = torch.from_numpy(random.standard_normal((2, 2, points, points)))
    *_, state = BoxFlow(VISCOSITY, force, slips=False).frames(start, np.array([0.0, 0.5]))
    u, v = (torch.nn.functional.pad(f, (0, 1, 0, 1)) for f in (state[:, 1], state[:, 2]))
    divergence = (u.diff(dim=1)[..., :-1] + v.diff(dim=2)[:, :-1]) * points
    assert divergence.abs().max() < 1e-11
    assert state[:, 1, 0].abs().max() == state[:, 2, :, 0].abs().max() == 0
    *_, free = BoxFlow(VISCOSITY, 0 * force, slips=False).frames(start, np.array([0.0, 0.5]))
    assert (state - free).abs().max() > 0.05  # it was driven


def test_particles_are_neither_lost_nor_made_and_even_ones_stay_even():
    points = 16
    start = started(points, lambda x: np.sin(np.pi * x) ** 2)
    torch.testing.assert_close(
        last(start, no_force(points), 0.3)[..., 0], torch.ones(points, points, dtype=DOUBLE)
    )
    start[:, 0] = torch.rand(points, points, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    found = last(start, no_force(points), 0.4)[..., 0]
    assert found.mean().item() == pytest.approx(start[:, 0].mean().item(), abs=1e-12)
    assert found.min() > 0
    assert (found - start[0, 0]).abs().max() > 0.1


@pytest.mark.parametrize("slips", [False, True])
def test_without_a_force_energy_falls_and_faster_where_the_fluid_sticks(slips):
    points = 8
    start = started(points, lambda x: np.sin(np.pi * x))
    frames = [
        f[0, ..., 1:].square().mean() for f in solve(start, no_force(points), np.linspace(0, 1, 3), slips)
    ]
    assert all(later < earlier for earlier, later in itertools.pairwise(frames))
    kept = (frames[-1] / frames[0]).item()
    assert (kept > 0.65) == slips


def test_a_file_holds_a_force_of_its_own_for_each_trajectory():
    config = NavierStokes2dConfig(trajectories=3, grid_points=16, frames=3, end_time=0.2)
    force = generate(config, 0, 0)[-3 * 16 * 16 * 2 :].reshape(3, 16, 16, 2)
    np.testing.assert_allclose(np.sqrt(np.square(force).sum(axis=3).mean(axis=(1, 2))), 0.4, rtol=1e-5)
    assert len(np.unique(force.reshape(3, -1), axis=0)) == 3
