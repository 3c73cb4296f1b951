"""What config, model and start know about a switch that changes how the model computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.errors import Problem

if TYPE_CHECKING:  # the config is validated without torch
    import torch

    from trainer.config.schema import Config, SpeedConfig
    from trainer.losses.objective import Objective


@dataclass(frozen=True)
class Key:
    kind: object  # its type and range, as in trainer/config/schema.py
    off: object  # where the config names none: changes nothing


@dataclass(frozen=True)
class ModelSwitch:
    """The keys under `speed` that belong together, the first of which names it.

    A file of a switch imports torch in its functions: what it says is read where there may be none.
    """

    keys: Mapping[str, Key]
    order: int  # of putting them on, inner ones first
    # In place, if the config asks for it; the keys of the state dict stay.
    put_on: Callable[[Objective, SpeedConfig], None]
    # What is on, asked of the modules; the format is that of the products.
    read_back: Callable[[Objective, SpeedConfig, torch.dtype], dict[str, str | int]]
    broken_rules: Callable[[Config], Iterator[Problem]] = lambda config: iter(())  # whatever the device
    without_gpu: Callable[[SpeedConfig], str | None] = lambda speed: None  # what to do if there has to be one
    runs_kernels: Callable[[SpeedConfig], bool] = lambda speed: False  # those of trainer/kernels
    may_fail: bool = False  # for reasons that no config shows: a compiler, a package, a driver

    @property
    def name(self) -> str:
        return next(iter(self.keys))

    @property
    def plain_path(self) -> dict[str, object]:
        return {name: key.off for name, key in self.keys.items()}
