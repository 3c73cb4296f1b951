"""Exponential moving average of the weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trainer.optimizer.skipping import lerp_unless
from trainer.sharding import local, put_whole, whole

MISSING = "missing_share"  # beside the names of the averages


class LoopEma:
    """One small operation per parameter.

    Sums start at 0 and are divided by the share of all weights they hold, 1 - decay^updates. So the weights
    that a training starts from have no part in the average: to forget them would take several times
    1 / (1 - decay) updates.
    """

    implementation = "for-loop"

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.parameters = list(model.parameters())
        self.averages = [torch.zeros_like(parameter) for parameter in self.parameters]
        # decay^updates; on the device, since a CUDA graph must advance it, and in double precision, since the
        # sums are divided by what it leaves of 1.
        self.missing = torch.ones((), dtype=torch.float64, device=self.parameters[0].device)

    @torch.no_grad()
    def update(self, skipped: Tensor | None = None) -> None:
        """Take the weights in; not where `skipped`, of a step that only the device knows, is 1."""
        if skipped is None:
            self.missing.mul_(self.decay)
        else:
            self.missing.copy_(torch.where(skipped > 0, self.missing, self.missing * self.decay))
        self._advance(skipped)

    def _advance(self, skipped: Tensor | None) -> None:
        for average, parameter in zip(self.averages, self.parameters, strict=True):
            if skipped is None:
                local(average).lerp_(local(parameter), 1 - self.decay)
            else:
                lerp_unless(skipped, [local(average)], [local(parameter)], 1 - self.decay)

    def weights(self) -> dict[str, Tensor]:
        """The averages by name, whole; before the first update there are none, and they are 0."""
        return averaged_weights(self.state_dict())

    def state_dict(self) -> dict[str, Tensor]:
        """The sums by name, whole, and what they lack."""
        sums = {name: whole(average) for name, average in zip(self.names, self.averages, strict=True)}
        return {**sums, MISSING: self.missing}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, tensor in zip([*self.names, MISSING], [*self.averages, self.missing], strict=True):
            put_whole(tensor, state[name])


class ForeachEma(LoopEma):
    """One operation over all parameters."""

    implementation = "foreach"

    def _advance(self, skipped: Tensor | None) -> None:
        averages = [local(average) for average in self.averages]
        lerp_unless(skipped, averages, [local(parameter) for parameter in self.parameters], 1 - self.decay)


def averaged_weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The averages by name that a state of the moving average holds."""
    present = (1 - state[MISSING]).clamp(min=torch.finfo(torch.float32).tiny)
    return {name: tensor / present.to(tensor) for name, tensor in state.items() if name != MISSING}


def make_ema(model: nn.Module, decay: float, *, foreach: bool) -> LoopEma:
    return ForeachEma(model, decay) if foreach else LoopEma(model, decay)
