"""DistributedDataParallel: gradients are averaged bucket by bucket during the last backward pass, or each."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trainer.process.world import World


class Ddp:
    def __init__(self, objective: nn.Module, world: World, reduced: int) -> None:
        self.reduced = reduced
        self.module = DistributedDataParallel(
            objective,
            device_ids=[world.device.index] if world.device.type == "cuda" else None,
            gradient_as_bucket_view=True,
            static_graph=False,  # with no_sync it would not reduce
            **_without_buffer_broadcast(),
        )

    def micro_step(self, *, last: bool) -> AbstractContextManager[None]:
        return nullcontext() if last or self.reduced > 1 else self.module.no_sync()

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def reduce(self, *, last: bool) -> None:
        """Done by the backward pass."""

    def clear_gradients(self) -> None:
        self.module.zero_grad(set_to_none=True)

    def effective(self) -> dict[str, str | int]:
        """Reductions are of all gradients; DDP settles into how many buckets it cuts each after the first."""
        return {"wrapper": type(self.module).__name__, "gradient_reductions": self.reduced}


def _without_buffer_broadcast() -> dict[str, bool]:
    """Our buffers are constants; the option that says so has a new name since torch 2.13."""
    known = inspect.signature(DistributedDataParallel.__init__).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}
