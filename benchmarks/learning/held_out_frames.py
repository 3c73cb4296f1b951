"""What the held-out loss of every n-th frame's pairs says of that of all: from checkpoints evaluated on all.

    python -m benchmarks.learning.held_out_frames out/run/checkpoint.pt...

A line per checkpoint and n: how far loss and NRMSE are off, relative, from the first frame on, as
data.held_out_every_nth_frame takes them, and at most over all n first frames. Frames meet a wave's phases
evenly only where n and its period in frames have little in common.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.bad_input import refused_in_words
from benchmarks.ending import end_by_exception
from trainer.config.load import config_from
from trainer.data.normalisation import physical
from trainer.data.paths import MappedPairs
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.model.latent_operator import LatentPdeOperator
from trainer.run.checkpoint import read_checkpoint

EVERY = (2, 3, 4, 5, 8, 9, 10, 11, 16, 25)
AT_ONCE = 64


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoints", nargs="+", type=Path, metavar="CHECKPOINT")
    options = parser.parse_args()
    end_by_exception()
    with refused_in_words():
        for checkpoint in options.checkpoints:
            for task, losses, nrmse in of_checkpoint(checkpoint):
                for every in (every for every in EVERY if every <= len(losses)):
                    found = f"loss {_text(off(losses, every))}; NRMSE {_text(off(nrmse, every))}"
                    print(f"{checkpoint} {task}, every {every}: {found}", flush=True)


def of_checkpoint(path: Path) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Each task that is not steady, its loss by frame and its NRMSE by frame, means over trajectories."""
    state = read_checkpoint(path)
    config = config_from(state["config"], str(path))
    if config.data.held_out_every_nth_frame > 1 or len(config.data.frame_strides) > 1:
        raise ConfigError(
            f"{path}: was not evaluated on the pairs of every frame, at one stride; train one that is"
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = LatentPdeOperator(config).to(device).eval()
    model.load_state_dict(state["model"])
    held_out = open_data(config, generates=False).held_out.tasks
    return [
        (pairs.task.name, *_by_frame(model, pairs, device)) for pairs in held_out if not pairs.task.steady
    ]


def off(by_frame: np.ndarray, every: int) -> tuple[float, float]:
    """How far the mean of every n-th frame is off that of all, relative: from the first on, and at most."""
    found = np.array([by_frame[start::every].mean() for start in range(every)]) / by_frame.mean() - 1
    return found[0], np.abs(found).max()


def _text(off_at_first_and_at_most: tuple[float, float]) -> str:
    at_first, at_most = off_at_first_and_at_most
    return f"{at_first:+.2%}, at most {at_most:.2%}"


@torch.no_grad()
def _by_frame(model: nn.Module, pairs: MappedPairs, device: torch.device) -> tuple[np.ndarray, np.ndarray]:
    losses, nrmse = [], []
    for chosen in np.split(np.arange(len(pairs.table)), range(AT_ONCE, len(pairs.table), AT_ONCE)):
        batch = pairs.read(chosen)
        given = (part.to(device) for part in (batch.field, batch.condition))
        predicted, target = model(pairs.task.name, *given).cpu().double(), batch.next_field.double()
        units = [part.double() for part in pairs.target_units(chosen)]
        true = physical(target, *units)
        error = (physical(predicted, *units) - true).flatten(1).norm(dim=1)
        losses.append((predicted - target).square().flatten(1).mean(dim=1))
        nrmse.append(error / true.flatten(1).norm(dim=1).clamp_min(1e-12))
    shape = (pairs.table.trajectories, pairs.table.pairs_per_trajectory)
    losses, nrmse = (torch.cat(part).reshape(shape).mean(dim=0).numpy() for part in (losses, nrmse))
    return losses, nrmse


if __name__ == "__main__":
    main()
