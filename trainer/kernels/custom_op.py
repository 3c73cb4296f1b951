"""Operators of our own, which a compiler takes as they are."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload


def custom_op(function: Callable) -> OpOverload:
    """torch.library.custom_op of a function that changes no input and returns none.

    One that torch's makes imports torch._dynamo when it is first called, which takes seconds.
    """
    name = f"speedproof::{function.__name__}"
    schema = torch.library.infer_schema(function, mutates_args=())
    torch.library.define(name, schema, tags=torch.Tag.pt2_compliant_tag)
    torch.library.impl(name, "default", function)
    return getattr(torch.ops.speedproof, function.__name__).default


def gradient_op(function: Callable) -> OpOverload:
    """One that is part of another's gradient and has none itself: to ask for it is an error."""
    operator = custom_op(function)
    torch.library.register_autograd(operator, None)
    return operator
