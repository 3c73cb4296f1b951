"""Compilation: regional, so that equal blocks share one graph, or of encoder to losses in one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import torch
from torch import nn

from trainer.losses.objective import Objective
from trainer.model.latent_operator import LatentPdeOperator

MOST_GRAPHS = 128  # of one layer; torch gives up after 8, with an error where the graph has to be whole


def compile_blocks(model: LatentPdeOperator, mode: str = "default") -> None:
    """Compile each block and decoder layer in place; the keys of the state dict stay."""
    for block in _regions(model):
        _compile(block, mode)


def compile_whole(objective: Objective, mode: str = "default") -> None:
    """Compile model and losses together."""
    _compile(objective, mode)


def compiled_blocks(model: LatentPdeOperator) -> int:
    """How many regions would run compiled code of their own."""
    return sum(_is_compiled(block) for block in _regions(model))


def observed_compile(objective: Objective) -> str:
    """What would run compiled, and in which mode."""
    region = next(_regions(objective.model))
    for name, module in (("model", objective), ("blocks", region)):
        if _is_compiled(module):
            return name if module.compile_mode == "default" else f"{name}, {module.compile_mode}"
    return "off"


def graphs_compiled() -> int:
    """How many graphs this process has compiled so far; it grows in the very step that compiles."""
    dynamo = sys.modules.get("torch._dynamo.utils")  # importing it takes seconds, and eager runs do without
    return dynamo.counters["stats"]["unique_graphs"] if dynamo else 0


def _compile(module: nn.Module, mode: str) -> None:
    for variable in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"):  # with which torch compiles nothing
        if os.environ.get(variable) == "1":
            raise RuntimeError(
                f"{variable} is 1, so torch does not compile. Unset it, or set speed.compile to off"
            )
    # All graphs are wanted ones: a decoder layer has one for each task, kind of decode and size of batch.
    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MOST_GRAPHS)
    module.compile(fullgraph=True, dynamic=False, mode=mode)
    module.compile_mode = mode


def _is_compiled(module: nn.Module) -> bool:
    return module._compiled_call_impl is not None


def _regions(model: LatentPdeOperator) -> Iterator[nn.Module]:
    yield from model.operator.blocks
    yield from model.decoder.layers
