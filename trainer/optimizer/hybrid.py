"""AdamW and Muon as one optimizer: one list of parameters, one learning rate, one state."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from trainer.contracts.sections import AnySpeed, OptimizerConfig
from trainer.optimizer.adamw import AdamW
from trainer.optimizer.adamw_offloaded import OffloadedAdamW
from trainer.optimizer.matrices import Matrix, hidden_matrices
from trainer.optimizer.muon_batched import BatchedMuon
from trainer.optimizer.muon_loop import LoopMuon
from trainer.process.world import World

# Each has a learning rate, a step, whole tensors by name as its state, and what a rank holds of them.
Part = AdamW | LoopMuon | BatchedMuon


class Hybrid:
    """Shows a gradient scaler one `param_groups`, so that an overflow anywhere skips every part.

    With `skips_on_device` the scaler does not ask the device whether to skip: it always steps, and sets
    `found_inf` during the step, as it does with torch's own fused optimizers.
    """

    found_inf: Tensor | None = None

    def __init__(self, parts: list[Part], model: nn.Module, *, skips_on_device: bool = False) -> None:
        self.parts = parts
        self._step_supports_amp_scaling = skips_on_device  # by this name torch's GradScaler knows it
        self.param_groups = [{"params": [p for p in model.parameters() if p.requires_grad]}]

    @property
    def implementation(self) -> str:
        return " + ".join(part.implementation for part in self.parts)

    def set_learning_rate(self, rate: float | Tensor) -> None:
        """Set it for all parts; a tensor is read where it lies, so that a captured step sees it change."""
        for part in self.parts:
            part.set_learning_rate(rate)

    def set_weight_decay(self, weight_decay: float) -> None:
        for part in self.parts:
            part.set_weight_decay(weight_decay)

    @property
    def skips_on_device(self) -> bool:
        return self._step_supports_amp_scaling

    def step(self) -> bool | Tensor:
        """Update all parameters; return whether they were skipped: False, or what a scaler found, 1 or 0."""
        if self.found_inf is None:
            for part in self.parts:
                part.step()
            return False
        for part in self.parts:
            part.step(self.found_inf)
        return self.found_inf

    def state_dict(self) -> dict[str, dict[str, Tensor]]:
        """The state by name and whole: the same for any wrapper, world size and implementation."""
        return {name: state for part in self.parts for name, state in part.state().items()}

    def held(self) -> Iterator[Tensor]:
        """Yield the state as it lies on this rank, of which a sharded tensor is a part."""
        for part in self.parts:
            yield from part.held()

    def load_state_dict(self, state: dict[str, dict[str, Tensor]]) -> None:
        for part in self.parts:
            part.load_state(state)


def state_names(model: nn.Module, config: OptimizerConfig) -> set[str]:
    """What the optimizer's state is kept by: Muon's matrices, and the parameters that are left to AdamW."""
    matrices = _of_muon(model, config)
    return {*_of_adamw(model, matrices), *(matrix.name for matrix in matrices)}


def make_optimizer(model: nn.Module, config: OptimizerConfig, speed: AnySpeed, world: World) -> Hybrid:
    """Return the optimizer of a model that is already wrapped: FSDP2 replaces its parameters."""
    matrices = _of_muon(model, config)
    left = _of_adamw(model, matrices)
    parts: list[Part]
    if speed.offload_adamw:
        parts = [OffloadedAdamW(left, config)]
    else:
        fused = speed.fused_adamw
        parts = [AdamW(left, config, fused=fused, device=world.device, capturable=speed.cuda_graph)]
    if matrices and speed.muon == "loop":
        parts.append(LoopMuon(matrices, config))
    elif matrices:
        sharded = speed.muon == "sharded"
        ranks = {"rank": world.rank, "ranks": world.size} if sharded else {}
        parts.append(BatchedMuon(matrices, config, **ranks))
    # Of these parts a graph has AdamW and Muon in batches; to skip on the device, AdamW has to be fused.
    return Hybrid(parts, model, skips_on_device=speed.cuda_graph and speed.precision == "fp16")


def _of_muon(model: nn.Module, config: OptimizerConfig) -> list[Matrix]:
    return hidden_matrices(model) if config.matrices == "muon" else []


def _of_adamw(model: nn.Module, matrices: list[Matrix]) -> dict[str, nn.Parameter]:
    """The trained parameters that are left to it."""
    taken = {matrix.parameter for matrix in matrices}
    return {name: p for name, p in model.named_parameters() if p.requires_grad and p not in taken}
