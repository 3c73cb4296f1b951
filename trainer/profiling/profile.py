"""The command `profile`: time, memory and work of one step by part, as tables and as a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from trainer.config import Config
from trainer.config.rules import require_world_fits
from trainer.config.speed_rules import UNTRACED_UPDATES, require_device_fits
from trainer.data.feed import Feed, LoaderFeed, Share, open_feed
from trainer.data.splits import open_data
from trainer.folders import make_folder
from trainer.profiling.memory import held_bytes, worker_bytes
from trainer.profiling.regions import Regions
from trainer.profiling.work import flops_per_pair
from trainer.progress import show_progress
from trainer.run.clock import step_clock
from trainer.run.learner import Learner
from trainer.run.world import World, open_world
from trainer.switches.trace import Trace

WARM_UPS = UNTRACED_UPDATES
TRACED = 2


@dataclass(frozen=True)
class Profile:
    """Of one rank. Parts are timed one by one with the device at rest in between, so they add up to more."""

    step_seconds: float  # undisturbed
    part_seconds: dict[str, float]
    part_peak_bytes: dict[str, int]
    held_bytes: dict[str, int]
    worker_bytes: list[int]
    flops_per_pair: dict[str, float]
    pairs_per_step: int  # of this rank
    wrapper: str

    @property
    def flops_per_second(self) -> float:
        return self.flops_per_pair["all"] * self.pairs_per_step / self.step_seconds


def profile(config: Config, out: Path, seed: int, steps: int) -> int:
    """Print the tables on rank 0; write profile.json and a trace per rank into `out`."""
    with open_world(config.train.timeout_seconds) as world:
        require_world_fits(config, world.size)
        parts = replace(config, speed=replace(config.speed, cuda_graph=False))
        require_device_fits(parts, world.device.type, world.size)
        make_folder(out, "--out")
        found = measure(parts, world, out, seed, steps)
        if world.rank == 0:
            (out / "profile.json").write_text(json.dumps(asdict(found), indent=2))
            print("\n".join(lines(found, config)))
    return 0


def measure(config: Config, world: World, out: Path, seed: int, steps: int) -> Profile:
    """Warm up, time whole steps, trace a few, then time steps part by part; all of them train."""
    updates = WARM_UPS + steps + TRACED + steps
    data = open_data(config)
    share = Share(
        data.train.schedule(config.train.pairs_per_update, seed, config.train.rest, config.growth),
        world.rank,
        world.size,
        config.speed.accumulation_steps,
    )
    feed = open_feed(data.train, share, updates, config.speed, world.device)
    learner, clock = Learner(config, seed, world), step_clock(world.device)
    trace = Trace(TRACED, updates - steps, out, world.rank)
    for step in range(1, updates - steps + 1):
        trace.before()
        clock.start()
        learner.update(step, feed)
        clock.stop()
        trace.after()
        if world.rank == 0:
            show_progress("step", step, updates)
    whole = clock.drain()[WARM_UPS + TRACED :]
    regions = Regions(world.device)
    with regions.timing(_methods(learner), _modules(learner)):
        for step in range(updates - steps + 1, updates + 1):
            with regions.region("losses"):
                learner.update(step, _Timed(feed, regions))  # what no other region takes is the losses' own
            if world.rank == 0:
                show_progress("step", step, updates)
    workers = [worker.pid for worker in feed.batches._workers] if _has_workers(feed) else []
    timed = range(WARM_UPS + TRACED + 1, updates - steps + 1)
    found = Profile(
        step_seconds=sum(whole) / len(whole),
        part_seconds={name: seconds / steps for name, seconds in regions.seconds.items()},
        part_peak_bytes=dict(regions.peak_bytes),
        held_bytes=held_bytes(learner, feed),
        worker_bytes=worker_bytes(workers),
        flops_per_pair=flops_per_pair(config, timed),
        pairs_per_step=sum(map(config.step_pairs, timed)) // steps // world.size,
        wrapper=str(learner.wrapper.effective()["wrapper"]),
    )
    feed.close()
    return found


class _Timed:
    """A feed whose batches are fetched inside the region `data`."""

    def __init__(self, feed: Feed, regions: Regions) -> None:
        self.feed, self.regions = feed, regions

    def update(self, step: int):
        batches = self.feed.update(step)
        fetch: Callable = self.regions.around("data", lambda: next(batches, None))
        return iter(fetch, None)


def _methods(learner: Learner) -> dict[str, tuple[object, str]]:
    return {
        "backward": (learner.wrapper, "backward"),
        "communication": (learner.wrapper, "reduce"),
        "optimizer": (learner.scaled_step, "step"),
        "average": (learner.ema, "update"),
    }


def _modules(learner: Learner) -> dict[str, torch.nn.Module]:
    """Compiled as one, they cannot be told apart, and the forward pass counts as losses."""
    if learner.config.speed.compile == "model":
        return {}
    model = learner.model
    return {"encode": model.encoder, "operator": model.operator, "decode": model.decoder}


def _has_workers(feed: Feed) -> bool:
    return isinstance(feed, LoaderFeed) and hasattr(feed.batches, "_workers")


def lines(found: Profile, config: Config) -> list[str]:
    """The tables as text."""
    parts = sorted(found.part_seconds.items(), key=lambda part: -part[1])
    total = sum(found.part_seconds.values())
    peaks = found.part_peak_bytes
    rate = found.pairs_per_step / found.step_seconds
    said = [
        f"step of a rank: {found.step_seconds * 1e3:.2f} ms, {found.pairs_per_step} pairs, {rate:.0f}/s",
        f"work: {found.flops_per_second / 1e12:.3g} TFLOP/s",
        "",
        "part           ms      share   highest GB",
    ]
    for name, seconds in parts:
        peak = f"{peaks[name] / 1e9:10.2f}" if name in peaks else " " * 10
        said.append(f"{name:13s} {seconds * 1e3:8.2f} {seconds / total:7.1%} {peak}")
    said += ["", "held           GB"]
    said += [f"{name:16s} {count / 1e9:.3g}" for name, count in found.held_bytes.items()]
    workers = enumerate(found.worker_bytes)
    said += [f"loader worker {number}  {count / 1e9:.3g}" for number, count in workers]
    said += ["", "work of a pair   GFLOP"]
    said += [f"{name:16s} {count / 1e9:.3g}" for name, count in found.flops_per_pair.items()]
    if config.speed.cuda_graph:
        said += ["", "The CUDA graph is off here: its parts cannot be told apart."]
    if found.wrapper in ("DistributedDataParallel", "FSDP2"):
        said += ["", "The wrapper communicates during backward, which is where that time is."]
    return said
