"""Sums over many rows in two steps: every program of a kernel writes its part, one sum adds them up."""

import torch
from torch import Tensor

MOST_PROGRAMS = 2112  # 16 for each of an H100's 132 multiprocessors: each goes through many rows


def row_parts(rows: int, width: int, device: torch.device) -> Tensor:
    """Return room for the parts of several sums side by side, (programs, width) float32."""
    return torch.empty(min(MOST_PROGRAMS, rows), width, dtype=torch.float32, device=device)
