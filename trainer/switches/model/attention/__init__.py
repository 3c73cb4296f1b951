"""What computes the operator's attention: a back end of torch's own, FlexAttention, or our kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from trainer.contracts.switch import Key, ModelSwitch
from trainer.errors import Problem

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed, ModelConfig
    from trainer.losses.objective import Objective

Attention = Literal["auto", "math", "efficient", "flash", "flash3", "cudnn", "flex", "one-tile"]

ONE_TILE_TOKENS = 128  # scores of more do not fit the registers of one program
OF_A_GPU = ("efficient", "flash3", "cudnn", "flex", "one-tile")


def put_on(objective: Objective, speed: AnySpeed) -> None:
    from trainer.switches.model.attention.back_ends import replace_self_attention

    replace_self_attention(objective.model, speed.attention)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, str]:
    from trainer.switches.model.attention.back_ends import observed_attention

    return {"attention": observed_attention(objective.model, speed.attention, dtype)}


def broken_rules(speed: AnySpeed, model: ModelConfig) -> Iterator[Problem]:
    if speed.attention == "flex" and speed.compile == "off":
        yield Problem(
            "speed.attention",
            'got "flex", expected speed.compile blocks with it: flex is slow unless compiled',
        )
    if speed.attention in ("flash", "flash3", "cudnn") and speed.precision == "fp32":
        yield Problem(
            "speed.attention",
            f'got "{speed.attention}", expected speed.precision bf16 or fp16 with it: '
            "it takes 16-bit numbers only",
        )
    if speed.attention == "one-tile" and model.tokens > ONE_TILE_TOKENS:
        yield Problem(
            "speed.attention",
            f'got "one-tile", expected auto: model.tokens {model.tokens} exceeds its tile of '
            f"{ONE_TILE_TOKENS}",
        )


def without_gpu(speed: AnySpeed) -> str | None:
    return "Set it to auto, math or flash" if speed.attention in OF_A_GPU else None


SWITCH = ModelSwitch(
    keys={"attention": Key(Attention, off="auto")},
    order=20,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    without_gpu=without_gpu,
    runs_kernels=lambda speed: speed.attention == "one-tile",
    may_fail=True,
)
