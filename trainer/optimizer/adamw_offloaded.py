"""AdamW whose state lies in the host's memory, where it also steps: less memory on the GPU, more traffic."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from trainer.contracts.sections import OptimizerConfig
from trainer.optimizer.adamw import AdamW


class OffloadedAdamW(AdamW):
    """AdamW of the host's copies of the weights, which are pinned where there is a GPU."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], config: OptimizerConfig) -> None:
        copies = {name: _on_host(parameter) for name, parameter in parameters.items()}
        host = torch.device("cpu")
        super().__init__(copies, config, fused=True, device=host)  # the quickest of the three on a CPU
        self.originals = parameters

    @property
    def implementation(self) -> str:
        return f"AdamW offloaded, {self.offloaded_bytes} bytes"

    @property
    def offloaded_bytes(self) -> int:
        """Two averages per weight."""
        copies = self.parameters.values()
        return sum(2 * copy.numel() * copy.element_size() for copy in copies if copy.is_cpu)

    @torch.no_grad()
    def step(self) -> None:
        """Bring the gradients, step, and send the weights; waits for the device once."""
        for name, copy in self.parameters.items():
            if copy.grad is None:
                copy.grad = torch.empty_like(copy, pin_memory=self.originals[name].is_cuda)
            copy.grad.copy_(self.originals[name].grad, non_blocking=True)
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()
        super().step()
        for name, copy in self.parameters.items():
            self.originals[name].copy_(copy, non_blocking=True)

    @torch.no_grad()
    def load_state(self, state: Mapping[str, dict[str, Tensor]]) -> None:
        for name, copy in self.parameters.items():
            copy.copy_(self.originals[name])  # the weights were loaded before
        super().load_state(state)


def _on_host(parameter: nn.Parameter) -> Tensor:
    copy = torch.empty_like(parameter, device="cpu", pin_memory=parameter.is_cuda)
    return copy.copy_(parameter.detach()).requires_grad_()
