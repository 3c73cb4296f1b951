"""Trainings like those of several_runs.py, in whose ranks switches work, but not on rank 1."""

import sys

import several_runs

from trainer.process.ranks import rank_from_environment
from trainer.run import training
from trainer.run.step import fallback, learner

attention_back_end = learner.attention_back_end


def without_math(attention: str):
    if attention == "math" and rank_from_environment()[0] == 1:
        raise ImportError("no math on this rank")
    return attention_back_end(attention)


class Captured:
    """A CPU has no graph to capture: what is made is never run."""

    def __init__(self, *_arguments: object) -> None:
        if rank_from_environment()[0] == 1:
            raise RuntimeError("no capture on this rank")


if __name__ == "__main__":
    learner.attention_back_end = without_math
    fallback.GraphedUpdate = Captured
    training.require_device_fits = lambda *_: None
    several_runs.main(*sys.argv[1:])
