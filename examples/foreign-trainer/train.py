"""A complete trainer that shares no code with Speedproof: it keeps the contract of docs/metrics.md.

It fits a small network to a noisy wave on every process that torchrun starts. `speed.micro_batches` splits
each update; `speed.fused` picks the optimizer's kernel. Neither changes the mathematics.
"""

import argparse
import hashlib
import json
import os
import platform
import time
from pathlib import Path

import torch
import torch.distributed as dist
import yaml
from torch.distributed.elastic.multiprocessing.errors import record

STARTED = time.perf_counter()
TRAINING_PAIRS, HELD_OUT_PAIRS = 8192, 2048


def wave(pairs: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points (pairs, 2) in the unit square and a product of sines (pairs, 1) with a little noise."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(pairs, 2, generator=generator)
    values = (6.0 * points[:, :1]).sin() * (4.0 * points[:, 1:]).cos()
    return points, values + 0.01 * torch.randn(pairs, 1, generator=generator)


def hash_of(*tensors: torch.Tensor) -> str:
    return hashlib.sha256(b"".join(tensor.numpy().tobytes() for tensor in tensors)).hexdigest()


def average_over_ranks(tensor: torch.Tensor, operation: dist.ReduceOp = dist.ReduceOp.SUM) -> torch.Tensor:
    dist.all_reduce(tensor, operation)
    return tensor


def update(model, optimizer, points, values, micro_batches: int) -> float:
    """One optimizer step on this rank's share; gradients are averaged over ranks in one packed all-reduce."""
    optimizer.zero_grad()
    total = 0.0
    for x, y in zip(points.chunk(micro_batches), values.chunk(micro_batches), strict=True):
        loss = torch.nn.functional.mse_loss(model(x), y) / micro_batches
        loss.backward()
        total += loss.item()
    gradients = [parameter.grad for parameter in model.parameters()]
    packed = average_over_ranks(torch.cat([g.flatten() for g in gradients])) / dist.get_world_size()
    for gradient, part in zip(gradients, packed.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))
    optimizer.step()
    return total


@record  # Leaves an error file for torchrun, from which Speedproof learns why a rank failed.
def main() -> None:
    parser = argparse.ArgumentParser()
    for name, kind in (("--config", Path), ("--out", Path), ("--seed", int)):
        parser.add_argument(name, type=kind, required=True)
    arguments = parser.parse_args()
    config = yaml.safe_load(arguments.config.read_text())

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    metrics = (arguments.out / "metrics.jsonl").open("w") if rank == 0 else None

    def write(event: str, **fields) -> None:
        if metrics:
            print(json.dumps({"event": event, **fields}, allow_nan=False), file=metrics, flush=True)

    torch.manual_seed(arguments.seed)
    width, batch, updates = config["model"]["width"], config["batch"], config["updates"]
    model = torch.nn.Sequential(
        torch.nn.Linear(2, width),
        torch.nn.Tanh(),
        torch.nn.Linear(width, width),
        torch.nn.Tanh(),
        torch.nn.Linear(width, 1),
    )
    optimizer = torch.optim.Adam(
        model.parameters(), lr=config["learning_rate"], fused=config["speed"]["fused"]
    )
    points, values = wave(TRAINING_PAIRS, seed=0)
    held_out = wave(HELD_OUT_PAIRS, seed=1)
    order = torch.Generator().manual_seed(arguments.seed)

    write(
        "run_start",
        schema_version=1,
        config=config,
        config_hash=hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        seed=arguments.seed,
        world_size=world,
        device_names=[f"{platform.machine()} CPU"] * world,
        versions={"python": platform.python_version(), "torch": torch.__version__},
        parameter_count=sum(parameter.numel() for parameter in model.parameters()),
        # Without the held-out data, a variant with an easier set of them would pass for the better model.
        data_hash=hash_of(points, values, *held_out),
        evaluation_samples=HELD_OUT_PAIRS,
        planned_steps=updates,
        effective={
            "fused_adam": bool(optimizer.defaults["fused"]),
            "micro_batches": config["speed"]["micro_batches"],
        },
    )
    for step in range(1, updates + 1):
        started = time.perf_counter()
        chosen = torch.randperm(TRAINING_PAIRS, generator=order)[:batch][rank::world]
        loss = update(model, optimizer, points[chosen], values[chosen], config["speed"]["micro_batches"])
        # All ranks meet at the end of this window of one step, so the largest is the slowest rank's. In
        # longer windows take the steps of one rank. The loss is the mean over ranks.
        seconds = average_over_ranks(torch.tensor(time.perf_counter() - started), dist.ReduceOp.MAX).item()
        mean_loss = average_over_ranks(torch.tensor(loss)).item() / world
        write("steps", first_step=step, step_seconds=[seconds], samples=[batch], train_loss=[mean_loss])

    with torch.no_grad():
        val_loss = torch.nn.functional.mse_loss(model(held_out[0]), held_out[1]).item()
    write("evaluation", step=updates, samples_seen=updates * batch, val_loss=val_loss)
    write(
        "run_end",
        status="finished",
        samples=updates * batch,
        attempted_updates=updates,
        skipped_updates=0,
        total_seconds=time.perf_counter() - STARTED,
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    os._exit(0)  # All is written; a usual exit has crashed now and then, by a thread of torch's.
