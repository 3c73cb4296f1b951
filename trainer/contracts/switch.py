"""A switch that changes how the model computes, as config, model and start know it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.errors import Problem

if TYPE_CHECKING:  # the config is validated without torch
    import torch
    from torch import nn

    from trainer.contracts.sections import AnySpeed, ModelConfig


@dataclass(frozen=True)
class Key:
    kind: object  # its type and range, as in trainer/contracts/sections.py
    off: object  # where the config names none: changes nothing


@dataclass(frozen=True)
class ModelSwitch:
    """The keys under `speed` that belong together, the first of which names it.

    A file of a switch imports torch in its functions: what it says is read where there may be none.
    """

    keys: Mapping[str, Key]
    order: int  # of putting them on, inner ones first
    # Of the objective, in place, if the config asks for it; the keys of the state dict stay.
    put_on: Callable[[nn.Module, AnySpeed], None]
    # What is on, asked of the modules; the format is that of the products.
    read_back: Callable[[nn.Module, AnySpeed, torch.dtype], dict[str, str | int]]
    # Whatever the device.
    broken_rules: Callable[[AnySpeed, ModelConfig], Iterator[Problem]] = lambda speed, model: iter(())
    without_gpu: Callable[[AnySpeed], str | None] = lambda speed: None  # what to do if there has to be one
    runs_kernels: Callable[[AnySpeed], bool] = lambda speed: False  # those of trainer/kernels
    may_fail: bool = False  # for reasons that no config shows: a compiler, a package, a driver

    @property
    def name(self) -> str:
        return next(iter(self.keys))

    @property
    def plain_path(self) -> dict[str, object]:
        return {name: key.off for name, key in self.keys.items()}
