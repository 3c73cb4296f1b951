"""Muon as torch has it: momentum orthogonalised, one matrix after another."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from trainer.contracts.sections import OptimizerConfig
from trainer.optimizer.matrices import Matrix
from trainer.optimizer.newton_schulz import STEPS

MOMENTUM = 0.95


class LoopMuon:
    """torch.optim.Muon on views of the matrices, one after another."""

    def __init__(self, matrices: list[Matrix], config: OptimizerConfig) -> None:
        self.matrices = matrices
        self.views = [nn.Parameter(matrix.of(matrix.parameter.detach())) for matrix in matrices]
        self.optimizer = torch.optim.Muon(
            self.views,
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            momentum=MOMENTUM,
            nesterov=True,
            ns_steps=STEPS,
            adjust_lr_fn="match_rms_adamw",
        )

    @property
    def implementation(self) -> str:
        return f"{type(self.optimizer).__name__} loop"

    def set_learning_rate(self, rate: float | Tensor) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        for group in self.optimizer.param_groups:
            group["weight_decay"] = weight_decay

    def step(self) -> None:
        for view, matrix in zip(self.views, self.matrices, strict=True):
            view.grad = matrix.of(matrix.parameter.grad)
        self.optimizer.step()
        for view in self.views:
            view.grad = None

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Momentum by the name of its matrix; zero before the first step."""
        buffers = [
            self.optimizer.state[view].get("momentum_buffer", torch.zeros_like(view)) for view in self.views
        ]
        return {m.name: {"momentum": b} for m, b in zip(self.matrices, buffers, strict=True)}

    def held(self) -> Iterator[Tensor]:
        """Yield the momentum; nothing before the first step."""
        for state in self.optimizer.state.values():
            yield state["momentum_buffer"]

    def load_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        for view, matrix in zip(self.views, self.matrices, strict=True):
            momentum = state[matrix.name]["momentum"]
            self.optimizer.state[view]["momentum_buffer"] = momentum.to(view.device, copy=True)
