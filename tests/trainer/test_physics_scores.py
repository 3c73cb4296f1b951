"""Scores of physics laws: 0 where a field keeps them, and by how much it does not."""

import math

import pytest
import torch

from trainer.data.physics_scores import (
    GAS_SCORES,
    conserved_mean,
    divergence,
    never_growing,
    one_field,
    positivity,
    squared_field,
)

SPACING = (1 / 32, 1 / 32)


def waves(*shape: int) -> torch.Tensor:
    return 1 + 0.5 * torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_a_mean_that_stays_scores_0_and_one_that_changes_by_a_tenth_a_tenth():
    start, score = waves(3, 2, 32), conserved_mean("mass", one_field(1))
    moved = start.roll(5, dims=2)
    torch.testing.assert_close(score.of(start, moved, SPACING), torch.zeros(3, dtype=torch.float64))
    changed = torch.stack([start[:, 0] * 7, start[:, 1] * 1.1], dim=1)
    torch.testing.assert_close(score.of(start, changed, SPACING), torch.full((3,), 0.1, dtype=torch.float64))


def test_energy_may_fall_but_not_grow():
    start, score = waves(2, 1, 32), never_growing("energy", squared_field(0))
    assert score.of(start, 0.5 * start, SPACING).tolist() == [0, 0]
    assert score.of(start, math.sqrt(1.5) * start, SPACING).tolist() == pytest.approx([0.5, 0.5])


def test_what_is_below_0_counts_by_its_size_and_the_worst_field_decides():
    later = torch.ones(2, 3, 4, dtype=torch.float64)
    later[1, 2, 0] = -3  # of sizes 3, 1, 1, 1
    later[0, 1] = -1  # a field that may be
    assert positivity(0, 2).of(later, later, SPACING).tolist() == pytest.approx([0, 0.5])


def test_a_curl_has_no_divergence_and_a_source_has():
    x = (torch.arange(32, dtype=torch.float64) + 0.5) / 32
    s, c = torch.sin(2 * math.pi * x), torch.cos(2 * math.pi * x)
    curl = torch.stack([torch.outer(s, c), -torch.outer(c, s)])
    source = torch.stack([torch.outer(s, c), torch.outer(c, s)])
    fields = torch.stack([curl, source])
    swirl, spring = divergence(0, 1).of(fields, fields, SPACING).tolist()
    assert swirl < 1e-12
    assert spring == pytest.approx(math.sqrt(2), rel=1e-6)


def test_the_energy_of_gas_is_of_heat_and_motion():
    at_rest = torch.ones(1, 4, 8, 8, dtype=torch.float64)
    at_rest[:, 2:] = 0
    moving = at_rest.clone()
    moving[:, 1], moving[:, 2] = 2 / 3, 1.0  # half of rho v^2 in place of a third of the heat, 3/2 p
    energy = {score.name: score for score in GAS_SCORES}["energy"]
    assert energy.of(at_rest, moving, SPACING).item() == pytest.approx(0, abs=1e-12)
    assert energy.of(at_rest, 2 * at_rest, SPACING).item() == pytest.approx(1)
