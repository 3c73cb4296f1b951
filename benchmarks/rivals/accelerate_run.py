"""The same training by Hugging Face Accelerate: bf16, compiled, fused AdamW, DDP that reduces once an update.

torchrun --nproc-per-node 4 -m benchmarks.rivals.accelerate_run --config C --json OUT
"""

from __future__ import annotations

from benchmarks.harness.in_words import refused_in_words, require_package
from benchmarks.rivals.adamw import make_optimizer
from benchmarks.rivals.record import Stopwatch, write_result
from benchmarks.rivals.workload import DDP_OPTIONS, Workload, options


def main() -> None:
    config, out, commit = options(__doc__)
    require_package("accelerate")
    from accelerate import Accelerator, DistributedDataParallelKwargs  # here, so that --help needs none

    accelerator = Accelerator(
        mixed_precision="bf16",
        gradient_accumulation_steps=config.speed.accumulation_steps,
        kwargs_handlers=[DistributedDataParallelKwargs(**DDP_OPTIONS)],
    )
    workload = Workload(config, accelerator.process_index, accelerator.num_processes, accelerator.device)
    workload.objective.compile(fullgraph=True, dynamic=False)
    # Prepared, a schedule would step as often as there are processes.
    optimizer, schedule = make_optimizer(workload.model.parameters(), config)
    model, optimizer = accelerator.prepare(workload, optimizer)
    clip_norm = config.optimizer.clip_norm
    stopwatch = Stopwatch(config.train.updates)
    for update in range(1, config.train.updates + 1):
        for micro_step in range(config.speed.accumulation_steps):
            with accelerator.accumulate(model):
                loss = model(update, micro_step)
                accelerator.backward(loss)
                if accelerator.sync_gradients and clip_norm is not None:
                    accelerator.clip_grad_norm_(model.parameters(), clip_norm)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        schedule.step()
        stopwatch.after(update)
    losses = workload.losses()
    if accelerator.is_main_process:
        write_result(out, "accelerate", commit, config, stopwatch, accelerator.num_processes, losses)
    accelerator.end_training()


if __name__ == "__main__":
    with refused_in_words():
        main()
