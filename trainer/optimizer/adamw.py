"""AdamW; weight decay on matrices only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.autograd.profiler import record_function
from torch.optim.adamw import adamw

from trainer.contracts.sections import OptimizerConfig
from trainer.sharding import local, put_whole, whole

BETA1, BETA2 = 0.9, 0.95  # decay of the averages of gradients and of their squares
EPSILON = 1e-8  # torch's own default


class AdamW:
    """One part of an optimizer, its state by parameter name.

    It calls torch's functional form: torch.optim.AdamW imports torch._dynamo, which takes seconds.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        config: OptimizerConfig,
        *,
        fused: bool,
        device: torch.device,
        capturable: bool = False,
    ) -> None:
        """Unfused it is foreach on a GPU and a for-loop on a CPU, as torch chooses itself."""
        self.parameters = parameters
        self.matrices = [name for name, p in parameters.items() if p.ndim >= 2]
        self.others = [name for name, p in parameters.items() if p.ndim < 2]
        self.betas = {"beta1": BETA1, "beta2": BETA2}
        self.learning_rate: float | Tensor = config.learning_rate
        self.weight_decay = config.weight_decay
        foreach = not fused and device.type == "cuda"
        self.form = {"fused": fused, "foreach": foreach, "capturable": capturable}
        self.states: dict[str, dict[str, Tensor]] = {name: {} for name in parameters}

    @property
    def implementation(self) -> str:
        form = "fused" if self.form["fused"] else "foreach" if self.form["foreach"] else "for-loop"
        return f"AdamW {form}"

    def set_learning_rate(self, rate: float | Tensor) -> None:
        self.learning_rate = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        """Of the matrices."""
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self, skipped: Tensor | None = None) -> None:
        """Update; not where `skipped`, which lies on the device, is 1, which the fused form alone can do."""
        self._step(self.matrices, self.weight_decay, skipped)
        self._step(self.others, 0.0, skipped)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Step and both averages, whole; nothing before the first step."""
        return {
            name: {key: whole(value) for key, value in state.items()} for name, state in self.states.items()
        }

    def held(self) -> Iterator[Tensor]:
        """Yield the state's tensors, sharded as the parameters are."""
        for state in self.states.values():
            yield from state.values()

    def load_state(self, state: Mapping[str, dict[str, Tensor]]) -> None:
        for name in self.parameters:
            self.states[name] = {}
            for key, value in state[name].items():
                put_whole(self._state(name)[key], value)

    def _step(self, names: list[str], weight_decay: float, skipped: Tensor | None) -> None:
        """Parameters without a gradient stay as they are."""
        parameters = {name: self.parameters[name] for name in names if self.parameters[name].grad is not None}
        states = [self._state(name) for name in parameters]
        with record_function("AdamW.step"):  # in traces, as torch's class has it
            self._call(list(parameters.values()), states, weight_decay, skipped)

    def _call(
        self,
        parameters: list[Tensor],
        states: list[dict[str, Tensor]],
        weight_decay: float,
        skipped: Tensor | None,
    ) -> None:
        # Of sharded ones the parts: every number of theirs is stepped by itself.
        adamw(
            [local(parameter) for parameter in parameters],
            [local(parameter.grad) for parameter in parameters],
            [local(state["exp_avg"]) for state in states],
            [local(state["exp_avg_sq"]) for state in states],
            [],  # the largest averages, which amsgrad keeps
            [state["step"] for state in states],
            lr=self.learning_rate,
            weight_decay=weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
            found_inf=skipped,
            **self.betas,
            **self.form,
        )

    def _state(self, name: str) -> dict[str, Tensor]:
        """The state of a parameter, made where there is none."""
        if not self.states[name]:
            parameter = self.parameters[name]
            on_device = self.form["fused"] or self.form["capturable"]
            self.states[name] = {
                "step": torch.zeros((), device=parameter.device if on_device else "cpu"),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.states[name]
