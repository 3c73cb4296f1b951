"""Compilation: regional, so that equal blocks share one graph, or of encoder to losses in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from trainer.contracts.switch import Key, ModelSwitch
from trainer.errors import Problem

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed, ModelConfig
    from trainer.losses.objective import Objective


def put_on(objective: Objective, speed: AnySpeed) -> None:
    from trainer.switches.model.compilation.regions import compile_blocks, compile_whole

    if speed.compile == "blocks":
        compile_blocks(objective.model, speed.compile_mode)
    if speed.compile == "model":
        compile_whole(objective, speed.compile_mode)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, str | int]:
    from trainer.switches.model.compilation.regions import compiled_blocks, observed_compile

    return {"compile": observed_compile(objective), "compiled_blocks": compiled_blocks(objective.model)}


def broken_rules(speed: AnySpeed, model: ModelConfig) -> Iterator[Problem]:
    if speed.compile_mode != "default" and speed.compile == "off":
        yield Problem(
            "speed.compile_mode", f'got "{speed.compile_mode}", expected default: speed.compile is off'
        )
    if speed.compile_mode == "reduce-overhead" and speed.accumulation_steps > 1:
        yield Problem(
            "speed.compile_mode",
            f'got "reduce-overhead", expected default with speed.accumulation_steps '
            f"{speed.accumulation_steps}: its graphs overwrite gradients that are still being summed "
            "(pytorch issue 169545)",
        )
    if speed.compile == "model" and speed.wrapper == "fsdp2":
        yield Problem("speed.compile", 'got "model", expected blocks: fsdp2 gathers weights between blocks')


SWITCH = ModelSwitch(
    keys={
        "compile": Key(Literal["off", "blocks", "model"], off="off"),
        "compile_mode": Key(
            Literal["default", "reduce-overhead", "max-autotune-no-cudagraphs"], off="default"
        ),
    },
    order=70,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    may_fail=True,
)
