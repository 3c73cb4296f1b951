"""What both rivals step by: fused AdamW of all weights, at a rate of its own, by the config's schedule."""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from trainer.build import build_rates
from trainer.config import Config
from trainer.optimizer.adamw import BETA1, BETA2

# Of 1e-4, 2e-4, 5e-4 and 1e-3 the one that ends lowest in loss, on a CPU at full width (README.md).
LEARNING_RATE = 5e-4


def largest_rate(config: Config) -> float:
    """The config's own, if that is AdamW's and not Muon's."""
    chosen = config.optimizer
    return chosen.learning_rate if chosen.matrices == "adamw" else LEARNING_RATE


def make_optimizer(parameters: Iterable[nn.Parameter], config: Config) -> tuple[AdamW, LambdaLR]:
    """Return it with the schedule, which is to step after each update."""
    chosen = config.optimizer
    optimizer = AdamW(
        parameters,
        lr=largest_rate(config),
        betas=(BETA1, BETA2),
        weight_decay=chosen.weight_decay,
        fused=True,
    )
    # By update from 1, and one more, since the schedule steps after the last as well. The rates stay numbers
    # of the host: no update waits for one.
    rates = build_rates(config)
    shares = [rates.rate(update) / chosen.learning_rate for update in range(1, config.train.updates + 2)]
    return optimizer, LambdaLR(optimizer, lambda done: shares[done])
