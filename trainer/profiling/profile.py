"""The command `profile`: time, memory and work of one step by part, as tables and as a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trainer.config import Config
from trainer.config.rules import require_world_fits
from trainer.config.schema import SpeedConfig
from trainer.config.speed_rules import UNTRACED_UPDATES, require_device_fits
from trainer.data.batches.feed import Feed, LoaderFeed, Share, open_feed
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.losses.choices import StepChoices
from trainer.process.folders import make_folder, refusal_told
from trainer.process.ranks import rank_from_environment
from trainer.process.terminal import answer, show_progress
from trainer.process.world import World, open_world
from trainer.profiling.memory import held_bytes, worker_bytes
from trainer.profiling.regions import Place, Regions
from trainer.profiling.work import flops_per_pair
from trainer.run.agreement import open_same_data, require_same_start
from trainer.run.record.step_clock import step_clock
from trainer.run.step.learner import Learner
from trainer.switches.process.nccl import set_nccl_environment
from trainer.switches.process.process_switches import ProcessSwitches, anomaly_named
from trainer.switches.process.trace import Trace

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
    effective: dict[str, str | int]

    @property
    def flops_per_second(self) -> float:
        return self.flops_per_pair["all"] * self.pairs_per_step / self.step_seconds


def profile(config: Config, out: Path, seed: int, steps: int) -> int:
    """Print the tables on rank 0; write profile.json and a trace per rank into `out`."""
    make_folder(out, "--out")
    if (out / "metrics.jsonl").exists():
        raise ConfigError(
            f"--out: {out} is the folder of a training run; a profile would replace its traces. "
            "Name another folder"
        )
    set_nccl_environment(config.speed.nccl, out, rank_from_environment()[0])
    with open_world(config.train.timeout_seconds) as world:
        require_same_start(config, seed, world)
        require_world_fits(config, world.size)
        parts = replace(config, speed=replace(config.speed, cuda_graph=False, trace_updates=0))
        require_device_fits(parts.speed, world.device.type, world.size)
        found = measure(parts, world, out, seed, steps)
        if world.rank == 0:
            try:
                answer("\n".join(lines(found, config.speed)))
            finally:  # neither is lost with the other
                with refusal_told(out / "profile.json"):
                    (out / "profile.json").write_text(json.dumps(asdict(found), indent=2))
    return 0


def measure(config: Config, world: World, out: Path, seed: int, steps: int) -> Profile:
    """Warm up, time whole steps, trace a few, then time steps part by part; all of them train."""
    updates = WARM_UPS + steps + TRACED + steps
    data = open_same_data(lambda: open_data(config), config.data.root, world)
    share = Share(
        data.train.schedule(config.train.pairs_per_update, seed, config.train.rest, config.cut.cut_into),
        world.rank,
        world.size,
        config.speed.accumulation_steps,
    )
    feed = open_feed(data.train, share, updates, config.speed, world.device)
    learner, clock = Learner(config, seed, world), step_clock(world.device)
    trace = Trace(TRACED, updates - steps, out, world.rank)
    timed = range(WARM_UPS + TRACED + 1, updates - steps + 1)
    work = flops_per_pair(config, timed)
    switches = ProcessSwitches(config.speed, updates, out, world, detect_anomaly=config.train.detect_anomaly)

    def update(step: int, feed: Feed | _Timed) -> None:
        with anomaly_named(step):
            record = learner.update(step, feed)
        switches.read(record.loss, record.gradient_norm)
        switches.clean_up(step)

    for step in range(1, updates - steps + 1):
        trace.before()
        clock.start()
        update(step, feed)
        clock.stop()
        trace.after()
        switches.after()
        if world.rank == 0:
            show_progress("step", step, updates)
    whole = clock.drain()[WARM_UPS + TRACED :]
    regions = Regions(world.device)
    with regions.timing([*_methods(learner), *_modules(learner), *_methods_of_process(switches)]):
        for step in range(updates - steps + 1, updates + 1):
            with regions.region("forward pass" if _is_one(config.speed) else "losses"):
                update(step, _Timed(feed, regions))
            if world.rank == 0:
                show_progress("step", step, updates)
    workers = [worker.pid for worker in feed.batches._workers] if _has_workers(feed) else []
    found = Profile(
        step_seconds=sum(whole) / len(whole),
        part_seconds={name: seconds / steps for name, seconds in regions.seconds.items()},
        part_peak_bytes=dict(regions.peak_bytes),
        held_bytes=held_bytes(learner, feed),
        worker_bytes=worker_bytes(workers),
        flops_per_pair=work,
        pairs_per_step=config.step_pairs // world.size,
        effective={**learner.effective(), **feed.effective(), **switches.effective()},
    )
    feed.close()
    switches.close()
    return found


class _Timed:
    """A feed whose batches are fetched inside the region `data`."""

    def __init__(self, feed: Feed, regions: Regions) -> None:
        self.feed, self.regions = feed, regions

    def update(self, step: int):
        batches = self.feed.update(step)
        fetch: Callable = self.regions.around("data", lambda: next(batches, None))
        return iter(fetch, None)


def _methods(learner: Learner) -> list[Place]:
    return [
        ("choices", StepChoices, "inputs"),
        ("backward", learner.wrapper, "backward"),
        ("communication", learner.wrapper, "reduce"),
        ("gradients", learner.scaled_step, "unscale_gradients"),
        ("gradients", learner, "_clip"),
        ("gradients", learner.wrapper, "clear_gradients"),
        ("optimizer", learner.scaled_step, "step"),
        ("average", learner.ema, "update"),
    ]


def _methods_of_process(switches: ProcessSwitches) -> list[Place]:
    places: list[Place] = []
    if switches.metric_reads == "update":
        places.append(("reads", switches, "read"))
    if switches.cleanup.every:
        places.append(("clean-up", switches, "clean_up"))
    return places


def _modules(learner: Learner) -> list[Place]:
    if _is_one(learner.config.speed):
        return []
    model = learner.model
    parts = {"encode": model.encoder, "operator": model.operator, "decode": model.decoder}
    return [(name, part, "forward") for name, part in parts.items()]


def _is_one(speed: SpeedConfig) -> bool:
    """Compiled as one graph, encoder to losses cannot be timed separately."""
    return speed.compile == "model"


def _has_workers(feed: Feed) -> bool:
    return isinstance(feed, LoaderFeed) and hasattr(feed.batches, "_workers")


def lines(found: Profile, speed: SpeedConfig) -> list[str]:
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
    if speed.cuda_graph:
        said += ["", "The CUDA graph is off for this profile, because its parts cannot be timed separately."]
    if _is_one(speed):
        said += ["", "Encode, operator, decode and losses are compiled as one forward pass."]
        said += ["Use --set speed.compile=blocks to time them separately; it is slower."]
    if found.effective["wrapper"] in ("DistributedDataParallel", "FSDP2"):
        said += ["", "The wrapper communicates during backward, so backward includes that time."]
    return said
