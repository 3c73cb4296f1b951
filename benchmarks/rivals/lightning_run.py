"""The same training by PyTorch Lightning: bf16, compiled, fused AdamW, DDP that reduces once an update.

torchrun --nproc-per-node 4 -m benchmarks.rivals.lightning_run --config C --json OUT
"""

from __future__ import annotations

import os

from torch.utils.data import DataLoader

from benchmarks.harness.in_words import refused_in_words, require_package
from benchmarks.rivals.record import write_result
from benchmarks.rivals.workload import DDP_OPTIONS, options


def main() -> None:
    config, out, commit = options(__doc__)
    require_package("lightning")
    import lightning  # here, so that --help and the line above need no package
    from lightning.pytorch.strategies import DDPStrategy

    from benchmarks.rivals.lightning_training import Training

    micro_steps, updates = config.speed.accumulation_steps, config.train.updates
    places = [(update, micro) for update in range(1, updates + 1) for micro in range(micro_steps)]
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    trainer = lightning.Trainer(
        devices=processes,
        strategy=DDPStrategy(**DDP_OPTIONS) if processes > 1 else "auto",
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
        stopwatch, losses = training.stopwatch, training.losses
        write_result(out, "lightning", commit, config, stopwatch, trainer.world_size, losses)


if __name__ == "__main__":
    with refused_in_words():
        main()
