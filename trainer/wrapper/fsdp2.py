"""FSDP2: every rank keeps a part of each parameter, its gradient, its average and AdamW's state."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

from trainer.losses.objective import Objective
from trainer.process.world import World


class Fsdp2:
    """Each block of the operator is gathered by itself, once in an update, the rest with the root.

    What is gathered stays whole until the last micro-step's backward pass: each further gather costs the host
    time, and the weights are small beside the activations. Muon's momentum is whole, as its products need it.
    The decoder stays with the root: a step decodes several times, and each would reduce its gradients again.
    """

    def __init__(self, objective: Objective, world: World, reduced: int) -> None:
        from torch.distributed.fsdp import fully_shard  # takes seconds, which other wrappers are spared

        self.reduced = reduced
        mesh = init_device_mesh(world.device.type, (world.size,))
        for block in objective.model.operator.blocks:
            fully_shard(block, mesh=mesh, reshard_after_forward=False)
        self.module = fully_shard(objective, mesh=mesh, reshard_after_forward=False)

    def micro_step(self, *, last: bool) -> AbstractContextManager[None]:
        self.module.set_requires_gradient_sync(last or self.reduced > 1)
        self.module.set_reshard_after_backward(last)
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def reduce(self, *, last: bool) -> None:
        """Done by the backward pass."""

    def clear_gradients(self) -> None:
        self.module.zero_grad(set_to_none=True)

    def effective(self) -> dict[str, str | int]:
        from torch.distributed.fsdp import FSDPModule

        sharded = [part for part in self.module.modules() if isinstance(part, FSDPModule)]
        return {
            "wrapper": "FSDP2" if sharded else "none",
            "gradient_reductions": len(sharded) * self.reduced,
        }
