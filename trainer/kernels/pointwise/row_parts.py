"""Sums over many rows in two steps: every program of a kernel writes its part, and the parts are added up."""

import torch
from torch import Tensor

MOST_PROGRAMS = 2112  # 16 for each of an H100's 132 multiprocessors: each goes through many rows
GROUPS = 44  # that MOST_PROGRAMS are cut into, about its square root


def row_parts(rows: int, width: int, device: torch.device) -> Tensor:
    """Return room for the parts of several sums side by side, (programs, width) float32."""
    return torch.empty(min(MOST_PROGRAMS, rows), width, dtype=torch.float32, device=device)


def added_up(parts: Tensor) -> Tensor:
    """Return the sums (width) of parts (programs, width).

    All of them at once torch would share out among blocks that count each other, for which it clears memory
    first: another 6 us in front of each sum (benchmarks/records/step-breakdown/h100-2gpu-recipe.txt).
    """
    if len(parts) == MOST_PROGRAMS:
        parts = parts.unflatten(0, (GROUPS, -1)).sum(dim=1)
    return parts.sum(dim=0)
