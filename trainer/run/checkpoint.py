"""The state of a run on disk, whole or absent."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from trainer.config import Config, to_plain
from trainer.optimizer.ema import LoopEma
from trainer.optimizer.hybrid import Hybrid


def save_checkpoint(
    path: Path,
    *,
    model: nn.Module,
    ema: LoopEma,
    optimizer: Hybrid,
    normalisation: dict[str, dict[str, list]],
    step: int,
    config: Config,
) -> None:
    """Write beside the path and rename, so that a reader never sees half a file."""
    partial = path.with_suffix(".partial")
    state = {
        "model": model.state_dict(),
        "ema": ema.state_dict(),
        "optimizer": optimizer.state_dict(),
        "normalisation": normalisation,
        "step": step,
        "config": to_plain(config),
    }
    torch.save(state, partial)
    partial.replace(path)
