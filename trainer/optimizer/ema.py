"""Exponential moving average of the weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trainer.sharding import put_whole, whole


class LoopEma:
    """One small operation per parameter."""

    implementation = "for-loop"

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.parameters = list(model.parameters())
        self.averages = [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            average.lerp_(parameter, 1 - self.decay)

    def state_dict(self) -> dict[str, Tensor]:
        """The averages by name, whole."""
        return {name: whole(average) for name, average in zip(self.names, self.averages, strict=True)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, average in zip(self.names, self.averages, strict=True):
            put_whole(average, state[name])


class ForeachEma(LoopEma):
    """One operation over all parameters."""

    implementation = "foreach"

    @torch.no_grad()
    def update(self) -> None:
        torch._foreach_lerp_(self.averages, self.parameters, 1 - self.decay)


def make_ema(model: nn.Module, decay: float, *, foreach: bool) -> LoopEma:
    return ForeachEma(model, decay) if foreach else LoopEma(model, decay)
