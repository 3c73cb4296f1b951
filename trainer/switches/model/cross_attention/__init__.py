"""What computes the decoder's attention: what `attention` says, or a kernel of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from trainer.contracts.switch import Key, ModelSwitch
from trainer.errors import Problem
from trainer.kernels.attention.head_parts import head_parts
from trainer.switches.model.attention import ONE_TILE_TOKENS

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed, ModelConfig
    from trainer.losses.objective import Objective


def put_on(objective: Objective, speed: AnySpeed) -> None:
    if speed.cross_attention == "auto":
        return
    from trainer.switches.model.cross_attention.one_tile import replace_cross_attention

    replace_cross_attention(objective.model)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, str]:
    from trainer.switches.model.cross_attention.one_tile import observed_cross_attention

    return {"cross_attention": observed_cross_attention(objective.model)}


def broken_rules(speed: AnySpeed, model: ModelConfig) -> Iterator[Problem]:
    if speed.cross_attention == "auto":
        return
    tokens = model.tokens
    width = model.decoder_hidden_dim // model.decoder_heads
    if tokens > ONE_TILE_TOKENS:
        yield Problem(
            "speed.cross_attention",
            f'got "one-tile", expected auto: model.tokens {tokens} exceeds its tile of {ONE_TILE_TOKENS}',
        )
    if speed.precision == "fp32":
        yield Problem(
            "speed.cross_attention",
            'got "one-tile", expected speed.precision bf16 or fp16 with it: it takes 16-bit numbers only',
        )
    if head_parts(width) is None:
        yield Problem(
            "speed.cross_attention",
            f'got "one-tile", expected auto: a head width of {width} is not a sum of two powers of two, '
            "each at least 16",
        )


def without_gpu(speed: AnySpeed) -> str | None:
    return "expected auto" if speed.cross_attention != "auto" else None


SWITCH = ModelSwitch(
    keys={"cross_attention": Key(Literal["auto", "one-tile"], off="auto")},
    order=30,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    without_gpu=without_gpu,
    runs_kernels=lambda speed: speed.cross_attention == "one-tile",
    may_fail=True,
)
