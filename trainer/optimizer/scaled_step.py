"""The optimizer's step behind a gradient scaler, which skips it whole when a gradient overflowed."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.optimizer.hybrid import Hybrid
from trainer.switches.precision import Precision, loss_scaler


class ScaledStep:
    """Counts what it skips. For other formats than fp16 it neither scales nor skips."""

    def __init__(self, optimizer: Hybrid, precision: Precision, device: torch.device) -> None:
        self.optimizer = optimizer
        self.scaler = loss_scaler(precision, device)
        self.skipped_updates = 0

    def scaled(self, loss: Tensor) -> Tensor:
        return self.scaler.scale(loss)

    def unscale_gradients(self) -> None:
        """Once per update, when all gradients are in; looks for overflow on the way."""
        self.scaler.unscale_(self.optimizer)

    def step(self) -> bool:
        """Update, or skip; return whether it updated."""
        updated = self.scaler.step(self.optimizer) is not None
        self.scaler.update()
        self.skipped_updates += not updated
        return updated

    def state_dict(self) -> dict[str, object]:
        return {"scaler": self.scaler.state_dict(), "skipped_updates": self.skipped_updates}

    def load_state_dict(self, state: dict) -> None:
        if self.scaler.is_enabled() and state["scaler"]:  # empty where it was saved without one
            self.scaler.load_state_dict(state["scaler"])
        self.skipped_updates = state["skipped_updates"]
