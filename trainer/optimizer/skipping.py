"""Steps that a number on the device skips, so that the host need not ask for it.

`skipped` is 1 or 0 in float32, as a gradient scaler finds it: torch's kernels compare it with 1. Where it is
1, tensors stay as they are to the last bit, whatever was to change them: behind an overflow that is infinite
or NaN, which no factor of 0 would take out. None is for steps that the host skips, or nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def lerp_unless(
    skipped: Tensor | None, tensors: Sequence[Tensor], ends: Sequence[Tensor], weight: float
) -> None:
    """tensors += weight * (ends - tensors)"""
    if skipped is None:
        torch._foreach_lerp_(tensors, ends, weight)
    else:
        _fused_sgd(skipped, tensors, ends, learning_rate=-weight, weight_decay=-1.0)


def add_unless(skipped: Tensor | None, tensors: Sequence[Tensor], changes: Sequence[Tensor]) -> None:
    """tensors += changes"""
    if skipped is None:
        torch._foreach_add_(tensors, changes)
    else:
        _fused_sgd(skipped, tensors, changes, learning_rate=-1.0, weight_decay=0.0)


def _fused_sgd(
    skipped: Tensor,
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor],
    *,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """tensors -= learning_rate * (gradients + weight_decay * tensors)

    The one operation of torch on plain lists of tensors that can be skipped.
    """
    torch._fused_sgd_(
        tensors,
        gradients,
        [],
        weight_decay=weight_decay,
        momentum=0.0,
        lr=learning_rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
        found_inf=skipped,
    )
