"""How a kernel cuts the width of a head; the config asks as well, without torch."""

from __future__ import annotations


def head_parts(dim: int) -> tuple[int, int] | None:
    """Cut a head's width into two powers of two that a matrix product takes, the second 16 at least or 0."""
    first = 1 << (dim.bit_length() - 1)
    rest = dim - first
    fits = first >= 16 and (rest == 0 or (rest >= 16 and rest & (rest - 1) == 0))
    return (first, rest) if fits else None
