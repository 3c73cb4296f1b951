"""What all rivals train: the model, losses, pairs and random choices of a config, on resident data.

Nothing of the trainer's own loop is in it: how gradients are reduced, how weights are stepped and when the
host waits is the rival's.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor, nn

from trainer.config import Config, load_config
from trainer.data.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.losses.choices import EVERYTHING, StepChoices
from trainer.losses.objective import Objective
from trainer.model.latent_operator import LatentPdeOperator
from trainer.switches.on_model import hoist_fixed_grid
from trainer.terminal import answer

SEED = 0
DDP_OPTIONS = {"broadcast_buffers": False, "gradient_as_bucket_view": True}  # as ours
WARM_UPS = 0.5  # of the updates


class Workload(nn.Module):
    """The loss of a micro-batch, named by its update and its place in it."""

    def __init__(self, config: Config, rank: int, world_size: int, device: torch.device) -> None:
        super().__init__()
        torch.manual_seed(SEED)
        self.model = LatentPdeOperator(config).to(device)
        self.objective = Objective(self.model, config).to(device)
        hoist_fixed_grid.put_on(self.objective, config.speed)
        self.choices = StepChoices.of(config, SEED)
        data = open_data(config).train
        share = Share(
            data.schedule(config.train.pairs_per_update, SEED),
            rank,
            world_size,
            config.speed.accumulation_steps,
        )
        self.feed = open_feed(data, share, config.train.updates, config.speed, device)

    def forward(self, update: int, micro_step: int) -> Tensor:
        batch = self.feed.micro_batch(update, micro_step)
        return self.objective(batch, self.choices.inputs(update, batch.pair), EVERYTHING)


class Stopwatch:
    """Seconds per update between two waits for the device: the end of the warm-up and the end."""

    def __init__(self, updates: int) -> None:
        self.first, self.last = int(updates * WARM_UPS), updates
        self.started = self.seconds = 0.0

    def after(self, update: int) -> None:
        if update in (self.first, self.last):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            now = time.perf_counter()
            self.started, self.seconds = now, (now - self.started) / (self.last - self.first)


def options(description: str | None) -> tuple[Config, Path]:
    """Return the config of the command line and the file for the result; choose how torch compiles."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, required=True, help="a resident config of the trainer")
    parser.add_argument("--json", type=Path, required=True, help="file for the result")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for trainer")
    parser.add_argument(
        "--graph",
        choices=("one", "split"),
        default="one",
        help="compile the loss as one, or cut it where DDP's buckets end, so that they are reduced "
        "while others are computed, as torch would on several GPUs (one)",
    )
    chosen = parser.parse_args()
    torch._dynamo.config.optimize_ddp = chosen.graph == "split"
    return load_config(chosen.config, chosen.set), chosen.json


def write_result(out: Path, rival: str, config: Config, seconds: float, world_size: int, loss: float) -> None:
    """Print and write what was measured; `rival` is the name of its package."""
    reserved = torch.cuda.max_memory_reserved() if torch.cuda.is_available() else None
    result = {
        "rival": rival,
        "rival_version": version(rival),
        "world_size": world_size,
        "pairs_per_update": config.train.pairs_per_update,
        "micro_steps": config.speed.accumulation_steps,
        "graph": "split" if torch._dynamo.config.optimize_ddp else "one",
        "seconds_per_update": seconds,
        "pairs_per_second": config.train.pairs_per_update / seconds,
        "peak_memory_reserved_bytes": reserved,
        "last_loss": loss,
        "torch": torch.__version__,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=2) + "\n")
    answer(json.dumps(result))
