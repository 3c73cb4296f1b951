"""The compressible solver against exact solutions, in one and two dimensions, and what it conserves."""

import itertools
import math

import numpy as np
import pytest
import torch

from trainer.data.numerics.compressible import GAMMA, Gas, held_by
from trainer.data.numerics.stepping import rkl2
from trainer.data.tasks.cfd1d import Cfd1dConfig, generate

DOUBLE = torch.float64


def centres(points: int) -> torch.Tensor:
    return (torch.arange(points, dtype=DOUBLE) + 0.5) / points


def last(start: torch.Tensor, end: float, eta: float = 1e-10, zeta: float = 1e-10, border: str = "periodic"):
    gas = Gas(eta, zeta, border, 1 / start.shape[1])
    *_, found = gas.frames(start[None], np.array([0.0, end]))
    return found[0]


def riemann(x: torch.Tensor, left: tuple, right: tuple) -> torch.Tensor:
    """Density, pressure and speed at x = place / time of a jump at 0 (Toro 2009, chapter 4)."""

    def beside(pressure: float, state: tuple) -> float:
        density, own, _ = state
        sound = math.sqrt(GAMMA * own / density)
        if pressure > own:
            a, b = 2 / ((GAMMA + 1) * density), (GAMMA - 1) / (GAMMA + 1) * own
            return (pressure - own) * math.sqrt(a / (pressure + b))
        return 2 * sound / (GAMMA - 1) * ((pressure / own) ** ((GAMMA - 1) / (2 * GAMMA)) - 1)

    least, most = 1e-8, 100.0
    for _ in range(200):
        middle = (least + most) / 2
        is_low = beside(middle, left) + beside(middle, right) + right[2] - left[2] < 0
        least, most = (middle, most) if is_low else (least, middle)
    contact = (left[2] + right[2] + beside(middle, right) - beside(middle, left)) / 2
    found = torch.empty(3, len(x), dtype=DOUBLE)
    for index, speed in enumerate(x.tolist()):
        found[:, index] = torch.tensor(_on_side(speed, contact, middle, left, right), dtype=DOUBLE)
    return found


def _on_side(speed: float, contact: float, pressure: float, left: tuple, right: tuple) -> tuple:
    sign = -1 if speed < contact else 1
    density, own, moving = left if speed < contact else right
    sound, ratio, g = math.sqrt(GAMMA * own / density), pressure / own, (GAMMA - 1) / (GAMMA + 1)
    out, moving_out, contact_out = (
        sign * speed,
        sign * moving,
        sign * contact,
    )  # mirrored, so that it goes right
    if pressure > own:
        shock = moving_out + sound * math.sqrt((GAMMA + 1) / (2 * GAMMA) * ratio + (GAMMA - 1) / (2 * GAMMA))
        if out > shock:
            return density, own, moving
        return density * (ratio + g) / (g * ratio + 1), pressure, contact
    head, tail = moving_out + sound, contact_out + sound * ratio ** ((GAMMA - 1) / (2 * GAMMA))
    if out > head:
        return density, own, moving
    if out < tail:
        return density * ratio ** (1 / GAMMA), pressure, contact
    local = 2 / (GAMMA + 1) * sound + (out - moving_out) * g
    velocity = sign * (out - local)
    factor = local / sound
    return density * factor ** (2 / (GAMMA - 1)), own * factor ** (2 * GAMMA / (GAMMA - 1)), velocity


SOD = ((1.0, 1.0, 0.0), (0.125, 0.1, 0.0))
MOVING = ((1.0, 0.4, -0.5), (1.0, 0.4, 0.5))  # two fans that leave each other
MEETING = ((1.0, 0.5, 0.8), (0.6, 0.9, -0.4))


@pytest.mark.parametrize("states", [SOD, MOVING, MEETING], ids=["sod", "two fans", "two shocks"])
def test_a_jump_breaks_as_the_exact_solution(states):
    left, right = (torch.tensor(state, dtype=DOUBLE)[:, None] for state in states)
    errors = []
    for points in (32, 64, 128):
        x = centres(points) - 0.5
        found = last(torch.where(x < 0, left, right), 0.15, border="open")
        errors.append((found - riemann(x / 0.15, *states)).abs().mean().item())
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert errors[-1] < 0.012
    assert min(orders) > 0.55  # of a solution with jumps at most 1


@pytest.mark.parametrize("dimensions", [1, 2])
def test_a_density_wave_is_carried_in_second_order(dimensions):
    """Pressure and velocity are constant, so the density moves with the velocity."""
    errors, end = [], 0.25
    for points in (16, 32, 64):
        x = centres(points)
        place = x if dimensions == 1 else x[:, None] + x
        wave = 2 + 0.5 * torch.sin(2 * math.pi * place)
        velocity = [torch.full_like(wave, 0.5) for _ in range(dimensions)]
        found = last(torch.stack([wave, torch.ones_like(wave), *velocity]), end)
        exact = 2 + 0.5 * torch.sin(2 * math.pi * (place - 0.5 * dimensions * end))
        errors.append((found[0] - exact).abs().mean().item())
        torch.testing.assert_close(found[1], torch.ones_like(wave), atol=1e-9, rtol=0)
    orders = [math.log2(coarse / fine) for coarse, fine in itertools.pairwise(errors)]
    assert min(orders) > 1.6


@pytest.mark.parametrize(("eta", "zeta"), [(0.05, 0.05), (0.02, 0.1), (0.1, 0.02)])
def test_sound_is_damped_by_both_viscosities(eta, zeta):
    """Of a small wave on gas at rest, sound 1: at rate (4/3 eta + zeta) k^2 / 2, after a whole period."""
    k, size = 2 * math.pi, 1e-4
    wave, damping = size * torch.sin(k * centres(64)), (4 / 3 * eta + zeta) * k**2 / 2
    start = torch.stack([1 + wave, 1 / GAMMA + wave, wave])
    period = 2 * math.pi / math.sqrt(k**2 - damping**2)
    found = last(start, period, eta, zeta)
    fitted = 2 * (found[0] * torch.sin(k * centres(64))).mean().item() / size
    assert fitted == pytest.approx(math.exp(-damping * period), rel=0.03)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_shear_flow_decays_by_the_first_viscosity_alone(axis):
    points, eta, k = 32, 0.1, 2 * math.pi
    wave = 1e-3 * torch.sin(k * centres(points))
    along = wave[:, None].expand(points, points) if axis == 0 else wave.expand(points, points)
    still = torch.zeros(points, points, dtype=DOUBLE)
    velocity = [still, along] if axis == 0 else [along, still]
    found = last(torch.stack([1 + still, 1 + still, *velocity]), 0.3, eta, 0.5)
    exact = math.exp(-eta * k**2 * 0.3) * along
    torch.testing.assert_close(found[3 - axis], exact, atol=4e-6, rtol=0)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_mass_momentum_and_energy_stay_on_a_torus(dimensions):
    random = torch.Generator().manual_seed(0)
    start = 1 + 0.5 * torch.rand(2 + dimensions, *(16,) * dimensions, dtype=DOUBLE, generator=random)
    found = last(start, 0.3, 0.02, 0.05)
    before, after = (held_by(fields[None]).flatten(2).mean(dim=2) for fields in (start, found))
    torch.testing.assert_close(after, before, atol=1e-12, rtol=0)
    assert (found - start).abs().max() > 0.1


def test_both_axes_are_treated_alike():
    random = torch.Generator().manual_seed(1)
    start = 1 + 0.5 * torch.rand(4, 12, 12, dtype=DOUBLE, generator=random)
    turned = start.transpose(1, 2)[[0, 1, 3, 2]]
    found = last(turned, 0.1, 0.03, 0.01).transpose(1, 2)[[0, 1, 3, 2]]
    torch.testing.assert_close(found, last(start, 0.1, 0.03, 0.01))


@pytest.mark.parametrize("border", ["periodic", "open"])
def test_a_uniform_wind_stays(border):
    start = torch.tensor([1.2, 0.7, 0.3, -0.2], dtype=DOUBLE)[:, None, None].expand(4, 8, 8)
    torch.testing.assert_close(last(start, 0.5, 0.1, 0.1, border), start, atol=1e-12, rtol=0)


@pytest.mark.parametrize("ratio", [0.5, 10.0, 300.0])
def test_stages_are_stable_in_long_steps_and_of_second_order(ratio):
    rates = -torch.linspace(0, 2, 50, dtype=DOUBLE)  # forward Euler's largest step is 1
    end = rkl2(lambda y: rates * y, torch.ones(50, dtype=DOUBLE), ratio, 1.0)
    assert end.abs().max() <= 1
    errors = [
        abs(float(rkl2(lambda y: -y, torch.ones(1, dtype=DOUBLE), step, 10.0)) - math.exp(-step))
        for step in (0.1, 0.05)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(3, abs=0.2)  # of one step


def test_some_trajectories_are_shock_tubes():
    sizes = {"trajectories": 6, "grid_points": 32, "frames": 3, "end_time": 0.1}
    values = generate(Cfd1dConfig(etas=(0.01,), shock_tube_every=3, **sizes), 0, 0)
    assert values.shape == (3, 6, 3, 32)
    jumps = [len(np.unique(start)) for start in values[0, :, 0]]
    assert [count == 2 for count in jumps] == [False, False, True, False, False, True]
    assert values[:2].min() > 0
    none = generate(Cfd1dConfig(etas=(0.01,), shock_tube_every=0, **sizes), 0, 0)
    assert all(len(np.unique(start)) > 2 for start in none[0, :, 0])
