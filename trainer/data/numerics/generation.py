"""Goes through the trajectories of a file in batches, on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from trainer.process.terminal import show_progress

# Of the state of a batch: 128 MB in float64 on a GPU and 8 MB elsewhere, of which a solver holds some tens.
VALUES_AT_ONCE = {"cuda": 2**24, "cpu": 2**20}


def solved(starts: np.ndarray, frames: int, solve: Callable[[Tensor], Iterator[Tensor]]) -> np.ndarray:
    """Return all frames (trajectories, frames, *shape) float32 of the float64 starts (trajectories, ...).

    `solve` is given the starts of a batch and yields its frames, (batch, *shape).
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    at_once = max(1, VALUES_AT_ONCE[device] // starts[0].size)
    values = None
    for first in range(0, len(starts), at_once):
        part = slice(first, min(first + at_once, len(starts)))
        for number, frame in enumerate(solve(torch.from_numpy(starts[part]).to(device))):
            if values is None:
                values = np.empty((len(starts), frames, *frame.shape[1:]), dtype=np.float32)
            values[part, number] = frame.to(torch.float32).cpu().numpy()
        show_progress("trajectory", part.stop, len(starts))
    return values
