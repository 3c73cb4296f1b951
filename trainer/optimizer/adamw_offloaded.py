"""AdamW whose state lies in the host's memory, where it also steps: less memory on the GPU, more traffic."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class OffloadedAdamW:
    """One part of an optimizer; works on the host's copies of the weights, pinned where there is a GPU."""

    def __init__(self, adamw: torch.optim.AdamW, model: nn.Module) -> None:
        own = {p for group in adamw.param_groups for p in group["params"]}
        self.parameters = {name: p for name, p in model.named_parameters() if p in own}
        self.copies = {parameter: _on_host(parameter) for parameter in own}
        for group in adamw.param_groups:
            group["params"] = [self.copies[parameter] for parameter in group["params"]]
            group["fused"], group["foreach"] = True, False  # the quickest of the three on a CPU
        self.optimizer = adamw

    @property
    def implementation(self) -> str:
        return f"{type(self.optimizer).__name__} offloaded, {self.offloaded_bytes} bytes"

    @property
    def offloaded_bytes(self) -> int:
        """Two averages per weight."""
        return sum(2 * copy.numel() * copy.element_size() for copy in self.copies.values() if copy.is_cpu)

    def set_learning_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        """Of the matrices, which are the first group."""
        self.optimizer.param_groups[0]["weight_decay"] = weight_decay

    @torch.no_grad()
    def step(self) -> None:
        """Bring the gradients, step, and send the weights; waits for the device once."""
        for parameter, copy in self.copies.items():
            if copy.grad is None:
                copy.grad = torch.empty_like(copy, pin_memory=parameter.is_cuda)
            copy.grad.copy_(parameter.grad, non_blocking=True)
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()
        self.optimizer.step()
        for parameter, copy in self.copies.items():
            parameter.copy_(copy, non_blocking=True)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Step and both averages by parameter name, as AdamW on the GPU has them."""
        return {name: dict(self.optimizer.state[self.copies[p]]) for name, p in self.parameters.items()}

    def load_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        for name, parameter in self.parameters.items():
            copy = self.copies[parameter]
            copy.data.copy_(parameter.data)  # the weights were loaded before
            self.optimizer.state[copy] = {
                key: value.to("cpu", copy=True) for key, value in state[name].items()
            }


def _on_host(parameter: nn.Parameter) -> Tensor:
    copy = torch.empty_like(parameter, device="cpu", pin_memory=parameter.is_cuda)
    return copy.copy_(parameter.detach()).requires_grad_()
