"""The same training by Hugging Face Accelerate: bf16, compiled, fused AdamW, DDP that reduces once an update.

torchrun --nproc-per-node 4 -m benchmarks.rivals.accelerate_run --config C --json OUT
"""

from __future__ import annotations

import torch

from benchmarks.in_words import refused_in_words, require_package
from benchmarks.rivals.workload import DDP_OPTIONS, Stopwatch, Workload, options, write_result


def main() -> None:
    config, out = options(__doc__)
    require_package("accelerate")
    from accelerate import Accelerator, DistributedDataParallelKwargs  # here, so that --help needs none

    accelerator = Accelerator(
        mixed_precision="bf16",
        gradient_accumulation_steps=config.speed.accumulation_steps,
        kwargs_handlers=[DistributedDataParallelKwargs(**DDP_OPTIONS)],
    )
    workload = Workload(config, accelerator.process_index, accelerator.num_processes, accelerator.device)
    workload.objective.compile(fullgraph=True, dynamic=False)
    chosen = config.optimizer
    optimizer = torch.optim.AdamW(
        workload.model.parameters(),
        lr=chosen.learning_rate,
        betas=(chosen.beta1, chosen.beta2),
        weight_decay=chosen.weight_decay,
        fused=True,
    )
    model, optimizer = accelerator.prepare(workload, optimizer)
    stopwatch = Stopwatch(config.train.updates)
    for update in range(1, config.train.updates + 1):
        for micro_step in range(config.speed.accumulation_steps):
            with accelerator.accumulate(model):
                loss = model(update, micro_step)
                accelerator.backward(loss)
                if accelerator.sync_gradients and chosen.clip_norm is not None:
                    accelerator.clip_grad_norm_(model.parameters(), chosen.clip_norm)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        stopwatch.after(update)
    if accelerator.is_main_process:
        write_result(
            out, "accelerate", config, stopwatch.seconds, accelerator.num_processes, loss.detach().item()
        )
    accelerator.end_training()


if __name__ == "__main__":
    with refused_in_words():
        main()
