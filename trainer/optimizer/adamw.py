"""AdamW; weight decay on matrices only."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

from trainer.config.schema import OptimizerConfig
from trainer.sharding import share_of, whole


def make_adamw(
    model: nn.Module,
    config: OptimizerConfig,
    *,
    fused: bool,
    device: torch.device,
    capturable: bool = False,
    without: Collection[nn.Parameter] = (),
) -> torch.optim.AdamW:
    """Return AdamW; unfused it is foreach on a GPU and a for-loop on a CPU, as torch chooses itself."""
    excluded = set(without)
    trained = [p for p in model.parameters() if p.requires_grad and p not in excluded]
    return torch.optim.AdamW(
        [
            {"params": [p for p in trained if p.ndim >= 2], "weight_decay": config.weight_decay},
            {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=config.learning_rate,
        betas=(config.beta1, config.beta2),
        fused=fused,
        foreach=None if fused else device.type == "cuda",
        capturable=capturable,
    )


def implementation(optimizer: torch.optim.Optimizer) -> str:
    """Which form the optimizer's groups are set to run."""
    forms = {
        "fused" if group["fused"] else "foreach" if group["foreach"] else "for-loop"
        for group in optimizer.param_groups
    }
    return f"{type(optimizer).__name__} {' and '.join(sorted(forms))}"


class AdamWPart:
    """AdamW as one part of an optimizer, its state by parameter name."""

    def __init__(self, optimizer: torch.optim.Optimizer, model: nn.Module) -> None:
        self.optimizer = optimizer
        own = {p for group in optimizer.param_groups for p in group["params"]}
        self.parameters = {name: p for name, p in model.named_parameters() if p in own}

    @property
    def implementation(self) -> str:
        return implementation(self.optimizer)

    def set_learning_rate(self, rate: float | Tensor) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        """Of the matrices, which are the first group."""
        self.optimizer.param_groups[0]["weight_decay"] = weight_decay

    def step(self) -> None:
        self.optimizer.step()

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Step and both averages, whole; nothing before the first step."""
        return {
            name: {key: whole(value) for key, value in self.optimizer.state[parameter].items()}
            for name, parameter in self.parameters.items()
        }

    def load_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        on_device = any(group["fused"] or group["capturable"] for group in self.optimizer.param_groups)
        for name, parameter in self.parameters.items():
            loaded = {}
            for key, value in state[name].items():
                if key == "step":
                    loaded[key] = value.to(parameter.device if on_device else "cpu", copy=True)
                else:
                    loaded[key] = share_of(value.to(parameter.device, copy=True), parameter)
            self.optimizer.state[parameter] = loaded
