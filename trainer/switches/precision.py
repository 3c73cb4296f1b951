"""Number format of the matrix products; norms, softmax and losses stay in float32."""

from __future__ import annotations

from typing import Literal

import torch

Precision = Literal["fp32", "bf16"]


def product_format(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the context in which the loss is computed."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def observed_format(context: torch.autocast, device: torch.device) -> str:
    """What a matrix product in that context really returns."""
    one = torch.ones(1, 1, device=device)
    with context:
        return str((one @ one).dtype).removeprefix("torch.")
