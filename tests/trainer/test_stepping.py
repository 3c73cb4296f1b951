"""Time stepping that the solvers share: frames at their times, and a bound of their number of steps."""

import math

import numpy as np
import pytest
import torch

from trainer.data.numerics import generation, stepping
from trainer.data.numerics.stepping import frames_at, rk4, ssp_rk3, strang

ONE = torch.ones(1, dtype=torch.float64)


def decay(state: torch.Tensor) -> torch.Tensor:
    return -state


def at_end(advance, step: float) -> float:
    *_, last = frames_at(np.array([0.0, 1.0]), ONE, advance, lambda state: step)
    return float(last)


@pytest.mark.parametrize(("scheme", "order"), [(ssp_rk3, 3), (rk4, 4)])
def test_a_scheme_has_its_order(scheme, order):
    errors = [
        abs(at_end(lambda state, seconds: scheme(decay, state, seconds), step) - math.exp(-1))
        for step in (0.1, 0.05)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_splitting_is_of_second_order():
    """Of u' = -u and u' = u^2, each exact: together 1 / (1 + e^t / 2) from 2/3."""
    first, second = (lambda u, t: u * math.exp(-t)), (lambda u, t: u / (1 - t * u))
    errors = []
    for step in (0.1, 0.05):
        *_, last = frames_at(np.array([0.0, 1.0]), ONE * 2 / 3, strang(first, second), lambda u, s=step: s)
        errors.append(abs(float(last) - 1 / (1 + math.e / 2)))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


def test_frames_are_at_their_times_in_equal_steps_that_are_small_enough():
    taken: list[float] = []

    def advance(state: torch.Tensor, seconds: float) -> torch.Tensor:
        taken.append(seconds)
        return state + seconds

    times = np.array([0.0, 0.25, 1.0])
    frames = [float(frame) for frame in frames_at(times, 0 * ONE, advance, lambda state: 0.1)]
    assert frames == pytest.approx(times)
    assert taken == pytest.approx([0.25 / 3] * 3 + [0.75 / 8] * 8)


def test_a_step_that_must_become_smaller_does(monkeypatch):
    taken: list[float] = []

    def advance(state: torch.Tensor, seconds: float) -> torch.Tensor:
        taken.append(seconds)
        return state * 2

    list(frames_at(np.array([0.0, 1.0]), ONE, advance, lambda state: 0.4 / min(4.0, float(state))))
    assert sum(taken) == pytest.approx(1)
    assert taken[0] > 0.3
    assert max(taken[2:]) <= 0.1 + 1e-12


def test_more_steps_than_a_trajectory_may_take_are_refused(monkeypatch):
    monkeypatch.setattr(stepping, "MOST_STEPS", 100)
    with pytest.raises(RuntimeError, match=r"expected at most 100\. Lower the grid points"):
        list(frames_at(np.array([0.0, 1.0]), ONE, lambda state, _: state, lambda state: 1 / 150))


def test_trajectories_are_solved_in_batches_and_keep_their_order(monkeypatch):
    monkeypatch.setattr(generation, "VALUES_AT_ONCE", {"cpu": 6, "cuda": 6})
    sizes = []

    def solve(start: torch.Tensor):
        sizes.append(len(start))
        return iter([start, 2 * start])

    starts = np.arange(15.0).reshape(5, 3)
    values = generation.solved(starts, 2, solve)
    assert sizes == [2, 2, 1]
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, np.stack([starts, 2 * starts], axis=1))
