"""A CUDA graph's update where there is no GPU: what would be captured is called anew in each replay."""

from collections.abc import Callable
from dataclasses import dataclass

from trainer.contracts.term import Phase
from trainer.run import training
from trainer.run.step import cuda_graph
from trainer.run.step.static_update import StaticUpdate


@dataclass
class Calls:
    static: StaticUpdate
    phase: Phase

    def replay(self) -> None:
        self.static.run(self.phase)


def replay_by_calls(put: Callable[[object, str, object], None] = setattr) -> None:
    """Let `speed.cuda_graph` train on a CPU, in this process."""
    put(cuda_graph, "_captured", _captured)
    put(training, "require_device_fits", lambda *_: None)


def _captured(static: StaticUpdate, phases: list[Phase]) -> dict[Phase, Calls]:
    cuda_graph.warm_up(static, phases)
    return {phase: Calls(static, phase) for phase in phases}
