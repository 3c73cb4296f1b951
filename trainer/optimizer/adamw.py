"""AdamW with warm-up and cosine; weight decay on matrices only."""

from __future__ import annotations

import math

import torch
from torch import nn

from trainer.config.schema import OptimizerConfig


def make_adamw(
    model: nn.Module, config: OptimizerConfig, *, fused: bool, device: torch.device
) -> torch.optim.AdamW:
    """Return AdamW; unfused it is foreach on a GPU and a for-loop on a CPU, as torch chooses itself."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
            {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        fused=fused,
        foreach=None if fused else device.type == "cuda",
    )


def implementation(optimizer: torch.optim.Optimizer) -> str:
    """Which form the optimizer's groups are set to run."""
    forms = {
        "fused" if group["fused"] else "foreach" if group["foreach"] else "for-loop"
        for group in optimizer.param_groups
    }
    return f"{type(optimizer).__name__} {' and '.join(sorted(forms))}"


def learning_rate(config: OptimizerConfig, step: int, updates: int) -> float:
    """Learning rate of an update; steps count from 1, the first warm-up update is not 0."""
    if step <= config.warmup_updates:
        return config.learning_rate * step / config.warmup_updates
    progress = (step - config.warmup_updates) / (updates - config.warmup_updates)
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return config.learning_rate * (config.final_fraction + (1 - config.final_fraction) * cosine)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
