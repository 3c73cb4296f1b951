"""The condition vector of a pair: dt, a place for each parameter of each task, and which task it is."""

from __future__ import annotations

import numpy as np

from trainer.data.tasks import TASKS


def condition_size(tasks: tuple[str, ...]) -> int:
    return 1 + sum(len(TASKS[name].parameters) for name in tasks) + len(tasks)


def condition_vectors(
    tasks: tuple[str, ...], task: str, dt: np.ndarray, parameters: list[np.ndarray], trajectories: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return one vector per frame pair and one per trajectory, whose sum is a pair's, float32.

    dt (frame pairs,) and each parameter (trajectories,) are normalised logarithms.
    """
    size, place = condition_size(tasks), tasks.index(task)
    per_frame_pair = np.zeros((len(dt), size), dtype=np.float32)
    per_frame_pair[:, 0] = dt
    per_trajectory = np.zeros((trajectories, size), dtype=np.float32)
    first = 1 + sum(len(TASKS[name].parameters) for name in tasks[:place])
    for offset, values in enumerate(parameters):
        per_trajectory[:, first + offset] = values
    per_trajectory[:, size - len(tasks) + place] = 1
    return per_frame_pair, per_trajectory
