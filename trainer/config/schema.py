"""The whole config of a training: contracts/sections.py, with what tasks, loss terms and switches bring."""

import math
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Literal

from trainer.contracts.sections import (
    AnyLoss,
    AnySpeed,
    EvaluationConfig,
    ModelConfig,
    OptimizerConfig,
    RecipeConfig,
    TrainConfig,
)
from trainer.contracts.settings import (
    Between,
    Count,
    CountOrZero,
    NotEmpty,
    Positive,
    Weight,
)
from trainer.data.batches.update_cut import UpdateCut
from trainer.data.tasks import TASKS
from trainer.losses.terms import TERMS
from trainer.switches.model import MODEL_SWITCHES


@dataclass(frozen=True)
class _AnyData:
    root: str = (
        "data"  # a folder of PDEBench files is used as it is; otherwise generated data are cached here
    )
    tasks: Annotated[tuple[Literal[tuple(TASKS)], ...], NotEmpty()] = ("advection1d",)
    seed: CountOrZero = 0
    # Of the trajectories, the same of each file; at least one, also at 0, and never all.
    held_out_fraction: Annotated[float, Between(0, 1)] = 0.1
    # Pairs of a held-out trajectory that start at every n-th frame, from the first on. Where n and a wave's
    # period in frames have much in common they meet few of its phases (benchmarks/learning).
    held_out_every_nth_frame: Count = 1
    # GiB of the fields of chunked files that a process may hold; null = all that it trains on.
    held_gigabytes: Positive | None = None
    reduced_resolution: Count = 4  # every n-th grid point of a 1-D grid
    reduced_resolution_2d: Count = 1  # the same along each axis of a 2-D grid
    # dt of a pair, in frames, of tasks that have no frame_strides of their own.
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (1,)

    def strides_of(self, task: str) -> tuple[int, ...]:
        """dt of a task's pairs, in frames."""
        own = getattr(getattr(self, task), "frame_strides", None)
        return (1,) if TASKS[task].steady else own or self.frame_strides


# And the settings of each task under its name, so that a new task needs no line here.
DataConfig = make_dataclass(
    "DataConfig",
    [(task.name, task.settings, field(default_factory=task.settings)) for task in TASKS.values()],
    bases=(_AnyData,),
    namespace={"__module__": __name__},
    frozen=True,
)


# And the weight of each term under its name, so that a new term needs no line here.
LossConfig = make_dataclass(
    "LossConfig",
    [(name, Weight, 0.0) for name in TERMS],
    bases=(AnyLoss,),
    namespace={"__module__": __name__, "__doc__": AnyLoss.__doc__},
    frozen=True,
)


# And the keys of each switch that changes how the model computes, so that a new one needs no line here.
SpeedConfig = make_dataclass(
    "SpeedConfig",
    [(name, key.kind, key.off) for switch in MODEL_SWITCHES for name, key in switch.keys.items()],
    bases=(AnySpeed,),
    namespace={"__module__": __name__, "__doc__": AnySpeed.__doc__},
    frozen=True,
)


@dataclass(frozen=True)
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    speed: SpeedConfig = field(default_factory=SpeedConfig)
    recipe: RecipeConfig = field(default_factory=RecipeConfig)

    @property
    def grids(self) -> dict[str, tuple[int, ...]]:
        """The grid of each task as the model sees it."""
        return {task: _reduced(self.data, getattr(self.data, task).grid) for task in self.data.tasks}

    @property
    def task_shares(self) -> tuple[int, ...]:
        return self.recipe.shares(len(self.data.tasks))

    @property
    def warmup_updates(self) -> int:
        own = self.recipe.warmup_updates
        return self.optimizer.warmup_updates if own is None else own

    @property
    def schedule_updates(self) -> int:
        return self.recipe.schedule_updates or self.train.updates

    @property
    def average_decay(self) -> float:
        """What an update leaves of the average."""
        updates = self.recipe.average_updates
        return self.optimizer.ema_decay if updates is None else math.exp(-1 / updates)

    @property
    def judged_weights(self) -> Literal["raw", "ema"]:
        """Those whose held-out errors are the training's."""
        return "raw" if self.recipe.average_updates is None else "ema"

    @property
    def cut(self) -> UpdateCut:
        return UpdateCut(self.train.updates, self.recipe.batch_cut_into)

    @property
    def step_pairs(self) -> int:
        """How many pairs a step trains, over all ranks and micro-steps."""
        return self.train.pairs_per_update // self.recipe.batch_cut_into

    @property
    def period_updates(self) -> int:
        """The work of an update repeats with this period."""
        return math.lcm(self.recipe.inverse_every, self.recipe.priors_every)


def _reduced(data: DataConfig, grid: tuple[int, ...]) -> tuple[int, ...]:
    every = data.reduced_resolution if len(grid) == 1 else data.reduced_resolution_2d
    return tuple(points // every for points in grid)
