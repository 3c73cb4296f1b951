"""Time stepping: frames at given times, and the schemes that reach them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from torch import Tensor

MOST_STEPS = 30_000  # of a trajectory

Rate = Callable[[Tensor], Tensor]  # of change


def frames_at(
    times: np.ndarray,
    state: Tensor,
    advance: Callable[[Tensor, float], Tensor],
    largest_step: Callable[[Tensor], float],
) -> Iterator[Tensor]:
    """Yield the state at each time, the first of which is where it starts.

    RuntimeError where it would take more than MOST_STEPS.
    """
    yield state
    steps = 0
    for start, end in pairwise(times):
        left = float(end - start)
        while left > 0:
            count = max(1, math.ceil(left / largest_step(state) * (1 - 1e-12)))
            steps += 1
            if steps + count > MOST_STEPS:
                raise RuntimeError(
                    f"a solver needs {steps + count} steps until {end:g}, expected at most {MOST_STEPS}. "
                    "Lower the grid points or the end time"
                )
            step = left / count
            state = advance(state, step)
            left = left - step if count > 1 else 0.0
        yield state


def ssp_rk3(rate: Rate, state: Tensor, step: float) -> Tensor:
    """Third-order strong-stability-preserving Runge-Kutta (Shu and Osher 1988)."""
    first = state + step * rate(state)
    second = (3 * state + first + step * rate(first)) / 4
    return (state + 2 * second + 2 * step * rate(second)) / 3


def rk4(rate: Rate, state: Tensor, step: float) -> Tensor:
    """The classical fourth-order Runge-Kutta."""
    first = rate(state)
    second = rate(state + step / 2 * first)
    third = rate(state + step / 2 * second)
    fourth = rate(state + step * third)
    return state + step / 6 * (first + 2 * second + 2 * third + fourth)


def strang(first: Callable[[Tensor, float], Tensor], second: Callable[[Tensor, float], Tensor]):
    """Return the symmetric splitting of two flows, of second order: half of the first at both ends."""
    return lambda state, step: first(second(first(state, step / 2), step), step / 2)


def rkl2(rate: Rate, state: Tensor, step: float, largest_explicit: float) -> Tensor:
    """Second-order Runge-Kutta-Legendre (Meyer, Balsara and Aslam 2014), for diffusion.

    It takes as many stages as a step needs that is larger than forward Euler's largest stable one.
    """
    stages = _stages(step / largest_explicit)
    weight = 4 / (stages**2 + stages - 2)
    b = [1 / 3, 1 / 3, *((j * j + j - 2) / (2 * j * (j + 1)) for j in range(2, stages + 1))]
    at_start = rate(state)
    before, last = state, state + step * b[1] * weight * at_start
    for j in range(2, stages + 1):
        mu, nu = (2 * j - 1) / j * b[j] / b[j - 1], -(j - 1) / j * b[j] / b[j - 2]
        of_last = mu * weight
        of_start = -(1 - b[j - 1]) * of_last
        following = (
            mu * last
            + nu * before
            + (1 - mu - nu) * state
            + step * (of_last * rate(last) + of_start * at_start)
        )
        before, last = last, following
    return last


def _stages(ratio: float) -> int:
    """The least odd number of stages s with ratio <= (s^2 + s - 2) / 4, at least 3."""
    stages = max(3, math.ceil((math.sqrt(9 + 16 * ratio) - 1) / 2))
    return stages + 1 - stages % 2
