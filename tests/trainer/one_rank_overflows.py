"""Trainings like those of several_runs.py, in which the gradients of rank 1 alone are never finite."""

import sys

import several_runs

from trainer.optimizer.scaled_step import ScaledStep
from trainer.process.ranks import rank_from_environment

scaled = ScaledStep.scaled


def overflowing(step, loss):
    return scaled(step, loss) * (float("inf") if rank_from_environment()[0] == 1 else 1.0)


if __name__ == "__main__":
    ScaledStep.scaled = overflowing
    several_runs.main(*sys.argv[1:])
