"""A CUDA graph's update where there is no GPU: what would be captured is called anew in each replay."""

from collections.abc import Callable
from dataclasses import dataclass

from trainer.losses.choices import Phase
from trainer.run import cuda_graph, training
from trainer.run.faults import Fault
from trainer.run.static_update import StaticUpdate


@dataclass
class Calls:
    static: StaticUpdate
    phase: Phase
    nan: Fault | None  # which a number of a step strikes, and a graph's is none on the host

    def replay(self) -> None:
        self.static.run(self.phase)
        if self.nan and (self.static.learner.world.rank, self.static._step) == (self.nan.rank, self.nan.step):
            self.static.losses.fill_(float("nan"))


def replay_by_calls(put: Callable[[object, str, object], None] = setattr) -> None:
    """Let `speed.cuda_graph` train on a CPU, in this process."""
    put(cuda_graph, "_captured", _captured)
    put(training, "require_device_fits", lambda *_: None)


def _captured(static: StaticUpdate, phases: list[Phase]) -> dict[Phase, Calls]:
    static.learner.fault, nan = None, static.learner.fault
    cuda_graph.warm_up(static, phases)
    return {phase: Calls(static, phase, nan) for phase in phases}
