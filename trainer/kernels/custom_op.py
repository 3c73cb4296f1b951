"""Operators of our own, which a compiler takes as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import torch
from torch._ops import OpOverload


def version_of(folder: Path) -> str:
    """Name the state of the source files in a folder, as a part of an operator's name.

    A compiler's cache finds what it made of an operator and its gradient by that name, not by their code
    (pytorch issue 144344): kept from one version to the next, it would run an earlier version's gradient.
    """
    files = sorted(folder.rglob("[!.]*.py"))  # an editor's locks are hidden, and no files
    return "v" + hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


VERSION = version_of(Path(__file__).parent)


def custom_op(function: Callable) -> OpOverload:
    """torch.library.custom_op of a function that changes no input and returns none.

    One that torch's makes imports torch._dynamo when it is first called, which takes seconds.
    """
    name = f"speedproof::{function.__name__}.{VERSION}"
    schema = torch.library.infer_schema(function, mutates_args=())
    torch.library.define(name, schema, tags=torch.Tag.pt2_compliant_tag)
    torch.library.impl(name, "default", function)
    return getattr(getattr(torch.ops.speedproof, function.__name__), VERSION)


def gradient_op(function: Callable) -> OpOverload:
    """One that is part of another's gradient and has none itself: to ask for it is an error."""
    operator = custom_op(function)
    torch.library.register_autograd(operator, None)
    return operator
