"""Number format of the matrix products; norms, softmax and losses stay in float32."""

from __future__ import annotations

from typing import Literal

import torch

Precision = Literal["fp32", "fp16", "bf16"]

_PRODUCTS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def product_format(precision: Precision, device: torch.device) -> torch.autocast:
    """Return the context in which the loss is computed."""
    enabled = precision != "fp32"
    return torch.autocast(device.type, dtype=_PRODUCTS[precision] if enabled else None, enabled=enabled)


def observed_format(context: torch.autocast, device: torch.device) -> torch.dtype:
    """What a matrix product in that context really returns."""
    one = torch.ones(1, 1, device=device)
    with context:
        return (one @ one).dtype
