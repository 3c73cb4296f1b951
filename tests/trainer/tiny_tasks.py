"""Tiny settings of the tasks that came after the first two, and trainings of one of them."""

from pathlib import Path

from tiny import tiny_config

from trainer.config import Config

# In the order in which they are listed in docs.
SETTINGS = {
    "burgers1d": {"nus": [0.01, 1.0], "grid_points": 32, "frames": 5, "end_time": 0.2, "frame_strides": [2]},
    "cfd1d": {
        "etas": [0.01, 0.1],
        "shock_tube_every": 0,
        "grid_points": 32,
        "frames": 5,
        "end_time": 0.2,
        "frame_strides": [2],
    },
    "cfd2d_rand": {"machs": [0.5], "etas": [0.01], "grid_points": 16, "frames": 3, "end_time": 0.1},
    "cfd2d_turb": {"machs": [0.5], "etas": [0.01], "grid_points": 16, "frames": 3, "end_time": 0.1},
    "diffusion_sorption1d": {"grid_points": 32, "frames": 5, "end_time": 100.0, "frame_strides": [2]},
    "reaction_diffusion2d": {"grid_points": 16, "frames": 5, "end_time": 1.0, "frame_strides": [2]},
    "navier_stokes2d": {"grid_points": 16, "frames": 5, "end_time": 0.4, "frame_strides": [2]},
    "reaction_diffusion1d": {
        "nus": [0.5],
        "rhos": [1.0, 5.0],
        "grid_points": 32,
        "frames": 5,
        "end_time": 0.2,
        "frame_strides": [2],
    },
    "shallow_water2d": {"grid_points": 16, "frames": 5, "end_time": 1.0, "frame_strides": [2]},
}
TRAJECTORIES = 4


def task_config(folder: Path, task: str, *overrides: str) -> Config:
    """The tiny config with data of one task."""
    settings = {"trajectories": TRAJECTORIES, **SETTINGS[task]}
    sets = [f"data.{task}.{key}={value}" for key, value in settings.items()]
    return tiny_config(folder, f"data.tasks=[{task}]", *sets, *overrides)
