"""Products of the operator's blocks in FP8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainer.contracts.switch import Key, ModelSwitch
from trainer.errors import Problem

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed, ModelConfig
    from trainer.losses.objective import Objective

MULTIPLE = 16  # what torch._scaled_mm asks of the widths of its factors


def put_on(objective: Objective, speed: AnySpeed) -> None:
    if not speed.fp8_products:
        return
    from trainer.switches.model.fp8_products.linear import use_fp8_products

    use_fp8_products(objective.model)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, int]:
    from trainer.switches.model.fp8_products.linear import observed_fp8_layers

    return {"fp8_layers": observed_fp8_layers(objective.model)}


def broken_rules(speed: AnySpeed, model: ModelConfig) -> Iterator[Problem]:
    width = model.hidden_dim
    if not speed.fp8_products:
        return
    if speed.precision != "bf16":
        yield Problem(
            "speed.precision",
            f'got "{speed.precision}", expected bf16: speed.fp8_products returns bf16',
        )
    if speed.fused_pointwise:
        yield Problem(
            "speed.fp8_products",
            "got true, expected false: speed.fused_pointwise multiplies in its own kernels",
        )
    if width % MULTIPLE:
        yield Problem(
            "model.hidden_dim", f"got {width}, expected a multiple of {MULTIPLE} with speed.fp8_products"
        )


SWITCH = ModelSwitch(
    keys={"fp8_products": Key(bool, off=False)},  # with precision bf16
    order=10,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    may_fail=True,
)
