"""Tridiagonal systems, many at once."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad


def solve_tridiagonal(lower: Tensor, diagonal: Tensor, upper: Tensor, right: Tensor) -> Tensor:
    """Return x (..., n) of lower[i] x[i-1] + diagonal[i] x[i] + upper[i] x[i+1] = right[i].

    Parallel cyclic reduction (Hockney 1965): log2 n passes over whole arrays. Stable where the diagonal
    dominates. `lower[..., 0]` and `upper[..., -1]` must be 0.
    """
    distance, points = 1, diagonal.shape[-1]
    while distance < points:
        of_left = -lower / _left(diagonal, distance, 1.0)
        of_right = -upper / _right(diagonal, distance, 1.0)
        diagonal, right, lower, upper = (
            diagonal + of_left * _left(upper, distance) + of_right * _right(lower, distance),
            right + of_left * _left(right, distance) + of_right * _right(right, distance),
            of_left * _left(lower, distance),
            of_right * _right(upper, distance),
        )
        distance *= 2
    return right / diagonal


def _left(values: Tensor, distance: int, outside: float = 0.0) -> Tensor:
    return pad(values[..., :-distance], (distance, 0), value=outside)


def _right(values: Tensor, distance: int, outside: float = 0.0) -> Tensor:
    return pad(values[..., distance:], (0, distance), value=outside)
