"""Regional compilation: each block and decoder layer by itself, so that equal ones share one graph."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from torch import nn

from trainer.model.latent_operator import LatentPdeOperator


def compile_blocks(model: LatentPdeOperator) -> None:
    """Compile in place; the keys of the state dict stay."""
    for block in _regions(model):
        block.compile(fullgraph=True, dynamic=False)


def compiled_blocks(model: LatentPdeOperator) -> int:
    """How many regions would run compiled code."""
    return sum(block._compiled_call_impl is not None for block in _regions(model))


def graphs_compiled() -> int:
    """How many graphs this process has compiled so far; it grows in the very step that compiles."""
    dynamo = sys.modules.get("torch._dynamo.utils")  # importing it takes seconds, and eager runs do without
    return dynamo.counters["stats"]["unique_graphs"] if dynamo else 0


def _regions(model: LatentPdeOperator) -> Iterator[nn.Module]:
    yield from model.operator.blocks
    yield from model.decoder.layers
