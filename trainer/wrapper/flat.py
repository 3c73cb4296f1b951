"""One buffer holds every gradient, and one all-reduce averages it after the last micro-step, or each."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainer.process.world import World

ALIGNED_NUMBERS = 32  # 128 bytes, so that each gradient starts where vector loads want it


class Flat:
    """Gradients keep their addresses from step to step, which a captured graph needs."""

    def __init__(self, objective: nn.Module, world: World, reduced: int) -> None:
        self.module, self.world, self.reduced = objective, world, reduced
        self.parameters = [p for p in objective.parameters() if p.requires_grad]
        spaces = [-(-p.numel() // ALIGNED_NUMBERS) * ALIGNED_NUMBERS for p in self.parameters]
        self.buffer = torch.zeros(sum(spaces), device=world.device)
        for parameter, space in zip(self.parameters, self.buffer.split(spaces), strict=True):
            parameter.grad = space[: parameter.numel()].view_as(parameter)
        self.cleared = True

    def micro_step(self, *, last: bool) -> AbstractContextManager[None]:
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        """Add all gradients in a few launches; the autograd engine would add them one by one.

        The first ones of an update are put in place: to fill the buffer with zeros first is a pass over it.
        """
        gradients = torch.autograd.grad(loss, self.parameters)
        put = torch._foreach_copy_ if self.cleared else torch._foreach_add_
        put([parameter.grad for parameter in self.parameters], gradients)
        self.cleared = False

    def reduce(self, *, last: bool) -> None:
        """What was averaged before is equal on all ranks, so that averaging it once more leaves it."""
        if self.world.size == 1 or not (last or self.reduced > 1):
            return
        if self.world.device.type == "cuda":
            dist.all_reduce(self.buffer, op=dist.ReduceOp.AVG)
        else:  # gloo has no mean
            dist.all_reduce(self.buffer.div_(self.world.size))

    def clear_gradients(self) -> None:
        self.cleared = True

    def effective(self) -> dict[str, str | int]:
        place = self.buffer.untyped_storage().data_ptr()
        inside = all(p.grad.untyped_storage().data_ptr() == place for p in self.parameters)
        reductions = self.reduced if self.world.size > 1 else 0
        return {"wrapper": "flat" if inside else "none", "gradient_reductions": reductions}
