"""No wrapper: one rank, whose gradients are already everyone's."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn


class Plain:
    def __init__(self, objective: nn.Module) -> None:
        self.module = objective

    def micro_step(self, *, last: bool) -> AbstractContextManager[None]:
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def reduce(self, *, last: bool) -> None:
        """Nothing to reduce."""

    def clear_gradients(self) -> None:
        self.module.zero_grad(set_to_none=True)

    def effective(self) -> dict[str, str | int]:
        return {"wrapper": "none", "gradient_reductions": 0}
