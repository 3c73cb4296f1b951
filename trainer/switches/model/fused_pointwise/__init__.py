"""Norms, biases and GELU between products in one pass each way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainer.contracts.switch import Key, ModelSwitch
from trainer.errors import Problem

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed, ModelConfig
    from trainer.losses.objective import Objective


def put_on(objective: Objective, speed: AnySpeed) -> None:
    if not speed.fused_pointwise:
        return
    from trainer.switches.model.fused_pointwise.layers import fuse_pointwise

    fuse_pointwise(objective.model)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, int]:
    from trainer.switches.model.fused_pointwise.layers import observed_fused_layers

    return {"fused_layers": observed_fused_layers(objective.model)}


def broken_rules(speed: AnySpeed, model: ModelConfig) -> Iterator[Problem]:
    """Its kernels join the end of a block or layer with the start of the next, so no block can run alone."""
    if not speed.fused_pointwise:
        return
    if speed.compile == "blocks":
        yield Problem(
            "speed.compile",
            'got "blocks", expected model or off: speed.fused_pointwise works across blocks',
        )
    if speed.activation_checkpointing != "off":
        yield Problem(
            "speed.activation_checkpointing",
            f'got "{speed.activation_checkpointing}", expected off: speed.fused_pointwise works across '
            "blocks",
        )
    if speed.checkpoint_encoder_decoder:
        yield Problem(
            "speed.checkpoint_encoder_decoder",
            "got true, expected false: speed.fused_pointwise works across the decoder's layers",
        )
    if speed.wrapper == "fsdp2":
        yield Problem(
            "speed.wrapper",
            'got "fsdp2", expected ddp or flat: fsdp2 gathers weights block by block, but '
            "speed.fused_pointwise works across blocks",
        )


def without_gpu(speed: AnySpeed) -> str | None:
    return "Set it to false" if speed.fused_pointwise else None


SWITCH = ModelSwitch(
    keys={"fused_pointwise": Key(bool, off=False)},
    order=40,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    without_gpu=without_gpu,
    runs_kernels=lambda speed: speed.fused_pointwise,
    may_fail=True,
)
