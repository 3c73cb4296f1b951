"""What all rivals train: the model, losses, pairs and random choices of a config, on resident data.

Nothing of the trainer's own loop is in it: how gradients are reduced, how weights are stepped and when the
host waits is the rival's.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.harness import machine
from trainer.build import build_choices, build_model, build_objective
from trainer.config import Config, load_config
from trainer.contracts.term import EVERYTHING
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.switches.model import hoist_fixed_grid

SEED = 0
DDP_OPTIONS = {"broadcast_buffers": False, "gradient_as_bucket_view": True}  # as ours


class Workload(nn.Module):
    """The loss of a micro-batch, named by its update and its place in it."""

    def __init__(self, config: Config, rank: int, world_size: int, device: torch.device) -> None:
        super().__init__()
        torch.manual_seed(SEED)
        self.model = build_model(config).to(device)
        self.objective = build_objective(self.model, config).to(device)
        hoist_fixed_grid.put_on(self.objective, config.speed)
        self.choices = build_choices(config, SEED)
        data = open_data(config).train
        share = Share(
            data.schedule(config.train.pairs_per_update, SEED),
            rank,
            world_size,
            config.speed.accumulation_steps,
        )
        self.feed = open_feed(data, share, config.train.updates, config.speed, device)
        self.world_size = world_size
        self.kept: dict[int, list[Tensor]] = {1: [], config.train.updates: []}  # losses, on the device

    def forward(self, update: int, micro_step: int) -> Tensor:
        batch = self.feed.micro_batch(update, micro_step)
        loss = self.objective(batch, self.choices.inputs(update, batch.pair), EVERYTHING)
        if update in self.kept:
            self.kept[update].append(loss.detach())
        return loss

    def losses(self) -> tuple[float, float]:
        """Of all pairs of the first and of the last update; every rank must call it, when none is timed."""
        losses = torch.stack([torch.stack(parts).float().mean() for parts in self.kept.values()])
        if self.world_size > 1:
            torch.distributed.all_reduce(losses)
        first, last = (losses / self.world_size).tolist()
        return first, last


class Options(NamedTuple):
    config: Config
    out: Path
    commit: str  # at the start: files may be changed meanwhile


def options(description: str | None) -> Options:
    """Return what the command line asks for; choose how torch compiles."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--config", type=Path, required=True, help="a config of the trainer with speed.data_path resident"
    )
    parser.add_argument("--json", type=Path, required=True, help="file for the result")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for the trainer")
    parser.add_argument(
        "--graph",
        choices=("one", "split"),
        default="one",
        help="compile the loss as one graph, or split it at the ends of DDP's buckets, as torch does on "
        "several GPUs. Split, communication overlaps with computing (default one)",
    )
    chosen = parser.parse_args()
    torch._dynamo.config.optimize_ddp = chosen.graph == "split"
    config = load_config(chosen.config, chosen.set)
    if config.train.updates < 2:
        raise ConfigError("train.updates: got 1, expected at least 2: the first half is a warm-up")
    return Options(config, chosen.json, machine.commit())
