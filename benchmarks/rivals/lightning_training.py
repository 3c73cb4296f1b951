"""The training as a LightningModule, apart from the command line, which is read before Lightning."""

from __future__ import annotations

import lightning
import torch

from benchmarks.rivals.adamw import make_optimizer
from benchmarks.rivals.record import Stopwatch
from benchmarks.rivals.workload import Workload
from trainer.config import Config


class Training(lightning.LightningModule):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.stopwatch = config, Stopwatch(config.train.updates)

    def configure_model(self) -> None:
        if not hasattr(self, "workload"):
            self.workload = Workload(self.config, self.global_rank, self.trainer.world_size, self.device)
            self.workload.objective.compile(fullgraph=True, dynamic=False)

    def configure_optimizers(self) -> dict[str, object]:
        optimizer, schedule = make_optimizer(self.workload.model.parameters(), self.config)
        # A step is an update here, else the schedule would step once an epoch.
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def training_step(self, place: tuple[int, int], _index: int) -> torch.Tensor:
        return self.workload(*place)

    def configure_gradient_clipping(
        self, _optimizer: torch.optim.Optimizer, gradient_clip_val: float | None = None, **_: object
    ) -> None:
        """As Lightning would, which refuses it with a fused optimizer even in bf16 (its issue 21435)."""
        if gradient_clip_val is not None:
            torch.nn.utils.clip_grad_norm_(self.workload.model.parameters(), gradient_clip_val)

    def on_train_batch_end(self, _outputs: object, place: tuple[int, int], _index: int) -> None:
        update, micro_step = place
        if micro_step + 1 == self.config.speed.accumulation_steps:
            self.stopwatch.after(update)

    def on_train_end(self) -> None:
        self.losses = self.workload.losses()  # while the processes are still joined
