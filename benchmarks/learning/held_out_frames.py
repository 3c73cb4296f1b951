"""How well the held-out loss on every n-th frame predicts the loss on all frames.

    python -m benchmarks.learning.held_out_frames out/run/checkpoint.pt...

Prints a line per checkpoint and n: the relative error of loss and NRMSE, first for frames from the first one
on, as data.held_out_every_nth_frame takes them, then the largest over all n first frames. Frames sample the
phases of a wave evenly only if n and its period in frames have no large common divisor.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from torch import nn

from benchmarks.harness.ending import end_by_exception
from benchmarks.harness.in_words import refused_in_words
from trainer.build import build_model
from trainer.config.schema import Config
from trainer.data.batches.mixture import TaskSet
from trainer.data.batches.pair_readers import MappedPairs
from trainer.errors import ConfigError
from trainer.process.terminal import answer
from trainer.process.world import World
from trainer.run.evaluation.command import opened_checkpoint
from trainer.run.evaluation.one_step import Evaluator

EVERY = (2, 3, 4, 5, 8, 9, 10, 11, 16, 25)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoints", nargs="+", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--data-root", help="folder of the data, if the data have moved")
    options = parser.parse_args()
    end_by_exception()
    with refused_in_words():
        for checkpoint in options.checkpoints:
            for task, losses, nrmse in of_checkpoint(checkpoint, options.data_root):
                for every in (every for every in EVERY if every <= len(losses)):
                    found = f"loss {_text(off(losses, every))}; NRMSE {_text(off(nrmse, every))}"
                    answer(f"{checkpoint} {task}, every {every}: {found}")


def of_checkpoint(path: Path, root: str | None = None) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each task that is not steady, its loss by frame and its NRMSE by frame, means over trajectories."""
    with opened_checkpoint(path, root) as (config, data, world, weights):
        if config.data.held_out_every_nth_frame > 1 or len(config.data.frame_strides) > 1:
            raise ConfigError(
                f"{path}: was not evaluated on the pairs of every frame at a single stride, as expected. "
                "Train with data.held_out_every_nth_frame 1 and one of data.frame_strides"
            )
        model = build_model(config).to(world.device).eval()
        model.load_state_dict(weights[config.judged_weights])
        alone = replace(config, evaluation=replace(config.evaluation, rollout_trajectories=0))
        return [
            (pairs.task.name, *_by_frame(model, pairs, alone, world))
            for pairs in data.held_out.tasks
            if not pairs.task.steady
        ]


def off(by_frame: np.ndarray, every: int) -> tuple[float, float]:
    """How far the mean of every n-th frame is off that of all, relative: from the first on, and at most."""
    found = np.array([by_frame[start::every].mean() for start in range(every)]) / by_frame.mean() - 1
    return found[0], np.abs(found).max()


def _text(off_at_first_and_at_most: tuple[float, float]) -> str:
    at_first, at_most = off_at_first_and_at_most
    return f"{at_first:+.2%}, at most {at_most:.2%}"


def _by_frame(
    model: nn.Module, pairs: MappedPairs, config: Config, world: World
) -> tuple[np.ndarray, np.ndarray]:
    found = []
    for frame in range(pairs.table.pairs_per_trajectory):
        part = slice(frame, frame + 1)
        table = replace(
            pairs.table, first_frame=pairs.table.first_frame[part], stride=pairs.table.stride[part]
        )
        of_frame = TaskSet((replace(pairs, table=table),), (1,))
        errors = Evaluator(config, of_frame, world).errors_of(model, pairs.task.name)
        found.append((errors.val_loss, errors.nrmse))
    losses, nrmse = np.array(found).T
    return losses, nrmse


if __name__ == "__main__":
    main()
