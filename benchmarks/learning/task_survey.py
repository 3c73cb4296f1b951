"""What each task's generated data are: how long they take, how far a frame is from the next, and a picture.

    python -m benchmarks.learning.task_survey --out FOLDER [--tasks burgers1d ...] [--full]

Writes FOLDER/TASK.png and prints a line per task. Small grids and few trajectories, unless --full asks for
the grid of PDEBench. The NRMSE is that of persistence, of predicting no change over the task's frame stride;
a steady task is compared with its mean solution.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.harness.in_words import refused_in_words
from benchmarks.learning.pictures import draw_task
from trainer.config.schema import DataConfig
from trainer.data.files.sources import open_files
from trainer.data.layouts.field_file import FieldFile
from trainer.data.tasks import TASKS
from trainer.process.terminal import answer
from trainer.run.evaluation.one_step import relative_errors

POINTS = {1: 128, 2: 64}  # by dimension
STRIDES = (1, 2, 5, 10, 20)  # shown beside the task's own


@dataclasses.dataclass(frozen=True)
class Survey:
    """Of one task."""

    task: str
    files: list[FieldFile]
    seconds: float  # to generate all files
    cpu_seconds: float  # of that in this process, as other programs do not lengthen it
    stride: int  # of the task
    persistence: dict[int, float]  # NRMSE by stride

    def line(self) -> str:
        file = self.files[0]
        grid = " x ".join(map(str, file.grid))
        others = ", ".join(f"{stride}: {nrmse:.3f}" for stride, nrmse in self.persistence.items())
        made = f"{len(self.files)} files of {file.trajectories} trajectories, {file.frames} frames of {grid}"
        own = f"persistence NRMSE {self.persistence[self.stride]:.3f} at stride {self.stride}"
        took = f"{self.seconds:.1f} s, {self.cpu_seconds:.1f} s of the CPU"
        return f"{self.task}: {made} in {took}; {own} ({others})"


def main() -> None:
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    for task in options.tasks:
        with tempfile.TemporaryDirectory() as folder:
            survey = surveyed(task, Path(folder), options.trajectories, is_full=options.full)
            answer(survey.line())
            draw_task(survey.files, TASKS[task], options.out / f"{task}.png")


def surveyed(task: str, root: Path, trajectories: int, *, is_full: bool = False) -> Survey:
    """Generate data of a task with its default settings, but for their size."""
    settings = TASKS[task].settings()
    sizes = {} if is_full else {"grid_points": POINTS[len(settings.grid)]}
    settings = dataclasses.replace(settings, trajectories=trajectories, **sizes)
    config = DataConfig(root=str(root), tasks=(task,), **{task: settings})
    start, cpu_start = time.perf_counter(), time.process_time()
    files = open_files(config)[task]
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    (stride, *_) = config.strides_of(task)
    strides = [n for n in sorted({stride, *STRIDES}) if n < settings.frames]
    persistence = {1: of_mean(files)} if TASKS[task].steady else {n: of_no_change(files, n) for n in strides}
    return Survey(task, files, seconds, cpu_seconds, stride, persistence)


def of_no_change(files: list[FieldFile], stride: int) -> float:
    """The mean over all pairs of all files."""
    errors = []
    for file in files:
        states = file.states()
        frames = np.arange(file.frames)
        for row in range(file.trajectories):
            fields = torch.from_numpy(states.take(np.full(file.frames, row), frames, 1)).double()
            errors.append(relative_errors(fields[:-stride], fields[stride:]))
    return torch.cat(errors).mean().item()


def of_mean(files: list[FieldFile]) -> float:
    errors = []
    for file in files:
        rows = np.arange(file.trajectories)
        solutions = torch.from_numpy(file.states().take(rows, np.ones_like(rows), 1)).double()
        errors.append(relative_errors(solutions.mean(dim=0, keepdim=True).expand_as(solutions), solutions))
    return torch.cat(errors).mean().item()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS), metavar="TASK")
    parser.add_argument("--trajectories", type=int, default=3, help="of each file (default 3)")
    parser.add_argument("--full", action="store_true", help="take the grid points of PDEBench")
    return parser.parse_args()


if __name__ == "__main__":
    with refused_in_words():
        main()
