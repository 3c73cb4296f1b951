"""The same training by PyTorch Lightning: bf16, compiled, fused AdamW, DDP that reduces once an update.

torchrun --nproc-per-node 4 -m benchmarks.rivals.lightning_run --config C --json OUT
"""

from __future__ import annotations

import os

import lightning
import torch
from torch.utils.data import DataLoader

from benchmarks.rivals.workload import Stopwatch, Workload, options, write_result
from trainer.config import Config


class Training(lightning.LightningModule):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.stopwatch = config, Stopwatch(config.train.updates)

    def configure_model(self) -> None:
        if not hasattr(self, "workload"):
            self.workload = Workload(self.config, self.global_rank, self.trainer.world_size, self.device)
            self.workload.objective.compile(fullgraph=True, dynamic=False)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        chosen = self.config.optimizer
        return torch.optim.AdamW(
            self.workload.model.parameters(),
            lr=chosen.learning_rate,
            betas=(chosen.beta1, chosen.beta2),
            weight_decay=chosen.weight_decay,
            fused=True,
        )

    def training_step(self, place: tuple[int, int], _index: int) -> torch.Tensor:
        loss = self.workload(*place)
        self.last = loss.detach()
        return loss

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


def main() -> None:
    config, out = options(__doc__)
    micro_steps, updates = config.speed.accumulation_steps, config.train.updates
    places = [(update, micro) for update in range(1, updates + 1) for micro in range(micro_steps)]
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    trainer = lightning.Trainer(
        devices=processes,
        strategy="ddp" if processes > 1 else "auto",
        precision="bf16-mixed",
        max_epochs=1,
        accumulate_grad_batches=micro_steps,
        gradient_clip_val=config.optimizer.clip_norm,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    training = Training(config)
    trainer.fit(training, DataLoader(places, batch_size=None, collate_fn=tuple))
    if trainer.is_global_zero:
        seconds = training.stopwatch.seconds
        write_result(out, "lightning", config, seconds, trainer.world_size, training.last.item())


if __name__ == "__main__":
    main()
