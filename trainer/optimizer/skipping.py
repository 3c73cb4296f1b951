"""Changes that a number on the device calls off, so that the host need not ask for it.

`skipped` is 1 or 0, as a gradient scaler finds it. Where it is 1, tensors stay as they are to the last bit,
whatever was to change them: behind an overflow that is infinite or NaN, which no factor of 0 would take out.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def lerp_unless(skipped: Tensor, tensors: Sequence[Tensor], ends: Sequence[Tensor], weight: float) -> None:
    """Move tensors towards their ends, as torch._foreach_lerp_."""
    _descend(skipped, tensors, ends, rate=-weight, decay=-1.0)


def add_unless(skipped: Tensor, tensors: Sequence[Tensor], changes: Sequence[Tensor]) -> None:
    """Add, as torch._foreach_add_."""
    _descend(skipped, tensors, changes, rate=-1.0, decay=0.0)


def _descend(
    skipped: Tensor, tensors: Sequence[Tensor], others: Sequence[Tensor], *, rate: float, decay: float
) -> None:
    """tensors -= rate * (others + decay * tensors), in one pass.

    Fused SGD is the one operation of torch on plain lists of tensors that can be called off.
    """
    torch._fused_sgd_(
        tensors,
        others,
        [],
        weight_decay=decay,
        momentum=0.0,
        lr=rate,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
        found_inf=skipped,
    )
