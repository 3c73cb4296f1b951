"""Held-out fields, predicted by a checkpoint and true, for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from trainer.build import build_model
from trainer.config.load import config_from
from trainer.data.files.normalisation import physical
from trainer.data.splits import open_data
from trainer.model.latent_operator import LatentPdeOperator

EXAMPLES = 3  # per task


@dataclass(frozen=True)
class Example:
    """One held-out pair in physical units, (*grid)."""

    task: str
    given: np.ndarray
    true: np.ndarray
    predicted: np.ndarray


@torch.no_grad()
def example_fields(checkpoint: Path) -> list[Example]:
    """Predict some held-out pairs of each task, on the CPU."""
    state = torch.load(checkpoint, map_location="cpu", weights_only=True)
    config = config_from(state["config"], str(checkpoint))
    model = build_model(config).eval()
    model.load_state_dict(state["model"])
    return [example for pairs in open_data(config).held_out.tasks for example in _of_task(model, pairs)]


def _of_task(model: LatentPdeOperator, pairs) -> list[Example]:
    chosen = np.linspace(0, len(pairs.table) - 1, EXAMPLES + 2).astype(int)[1:-1]
    batch, units = pairs.read(chosen), pairs.target_units(chosen)
    predicted = model(pairs.task.name, batch.field, batch.condition)
    given = batch.field if pairs.task.steady else physical(batch.field[:, : len(pairs.task.target)], *units)
    fields = (given, physical(batch.next_field, *units), physical(predicted, *units))
    return [Example(pairs.task.name, *(part[n, 0].numpy() for part in fields)) for n in range(len(chosen))]
