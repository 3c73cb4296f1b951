"""The optimizer's step behind a gradient scaler, which skips it whole when a gradient overflowed."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.optimizer.hybrid import Hybrid


class ScaledStep:
    """Counts what it skips. For other formats than fp16 it neither scales nor skips.

    With an optimizer that skips on the device, the host asks for nothing: a CUDA graph can hold the step and
    the change of the scale. Scale, growth and count are saved alike in both forms.
    """

    def __init__(self, optimizer: Hybrid, precision: str, device: torch.device) -> None:
        self.optimizer = optimizer
        self.scaler = loss_scaler(precision, device)
        self.skipped: bool | Tensor = False  # the last update; as a tensor 1 or 0
        zero = torch.zeros((), dtype=torch.int64, device=device)
        self._skipped_updates: int | Tensor = zero if self.skips_on_device else 0

    @property
    def skips_on_device(self) -> bool:
        return self.optimizer.skips_on_device

    @property
    def skipped_updates(self) -> int:
        """All so far; where it skips on the device, the host waits for it."""
        return int(self._skipped_updates)

    def scaled(self, loss: Tensor) -> Tensor:
        return self.scaler.scale(loss)

    def unscale_gradients(self) -> None:
        """Once per update, when all gradients are in; looks for overflow on the way."""
        self.scaler.unscale_(self.optimizer)

    def step(self) -> None:
        """Update, or skip; `skipped` then says which."""
        skipped = self.scaler.step(self.optimizer)
        self.skipped = (
            True if skipped is None else skipped
        )  # None where the scaler did not call the optimizer
        self.scaler.update()
        self._skipped_updates += self.skipped > 0

    def start_at(self, scale: float) -> None:
        """Take this scale first; without fp16 there is none."""
        if self.scaler.is_enabled():
            self.scaler.load_state_dict({**self.scaler.state_dict(), "scale": scale})

    def state_dict(self) -> dict[str, object]:
        return {"scaler": self.scaler.state_dict(), "skipped_updates": self.skipped_updates}

    def load_state_dict(self, state: dict) -> None:
        """In place: a graph holds the addresses of what lies on the device."""
        if self.scaler.is_enabled() and state["scaler"]:  # empty where it was saved without one
            self.scaler.load_state_dict(state["scaler"])
        if self.skips_on_device:
            self._skipped_updates.fill_(state["skipped_updates"])
        else:
            self._skipped_updates = state["skipped_updates"]


def loss_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Return what keeps small fp16 gradients from vanishing; for the other formats it does nothing.

    Its one read per step of whether a gradient overflowed makes the host wait: the price of fp16, except
    where the optimizer skips on the device.
    """
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
