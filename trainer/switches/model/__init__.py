"""Switches that change how the model computes, one folder each. A new folder is a new switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.contracts.discovery import discovered
from trainer.contracts.switch import ModelSwitch

if TYPE_CHECKING:  # the config is validated without torch
    import torch

    from trainer.contracts.sections import AnySpeed
    from trainer.losses.objective import Objective


FOUND: list[ModelSwitch] = list(discovered(__name__, __path__, "SWITCH", lambda switch: switch.keys))
MODEL_SWITCHES: list[ModelSwitch] = sorted(FOUND, key=lambda switch: (switch.order, switch.name))


def put_on_model(objective: Objective, speed: AnySpeed) -> None:
    """Put on what the config asks for, in place; the keys of the state dict stay."""
    for switch in MODEL_SWITCHES:
        switch.put_on(objective, speed)


def runs_kernels(speed: AnySpeed) -> bool:
    """Whether a training runs kernels of our own."""
    return any(switch.runs_kernels(speed) for switch in MODEL_SWITCHES)


def read_back_model(
    objective: Objective, speed: AnySpeed, product_dtype: torch.dtype
) -> dict[str, str | int]:
    """What is on, asked of the modules."""
    found: dict[str, str | int] = {}
    for switch in MODEL_SWITCHES:
        found |= switch.read_back(objective, speed, product_dtype)
    return found
