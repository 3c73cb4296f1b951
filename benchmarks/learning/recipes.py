"""Trains several recipes, each until it reaches the baseline's final loss, and prints how long that took.

    python -m benchmarks.learning.recipes --out out/recipes --below 0.00098
    python -m benchmarks.learning.recipes --out out/recipes --below 0.00098 --show

Each recipe is the shipped config with another `recipe`. A training ends after the first evaluation below
--below, and below --each-below for its tasks, or when its time is over. Metrics stay in OUT/RECIPE.jsonl.
A second call repeats only recipes that ran out of time, and keeps the metrics of the longer training.
The time to quality of the gate includes steps and set-up; set-up here depends on which caches are warm.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.harness.ending import end, end_by_exception
from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.metrics_file import events as events_of
from trainer.config import load_config
from trainer.config.load import config_hash
from trainer.config.rules import require_world_fits
from trainer.config.schema import Config, RecipeConfig
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError
from trainer.process.folders import make_folder
from trainer.process.terminal import answer, say

ROOT = Path(__file__).parents[2]
POLL_SECONDS = 0.2


def _falling(
    cut_into: int, updates: int, warm_up: int | None = None, average: float | None = None
) -> RecipeConfig:
    """With the learning rate at its lowest after so many updates, and at its largest after `warm_up`.

    With `average` its weights over so many updates are the model.
    """
    return RecipeConfig(
        256,
        "lattice",
        inverse_every_nth_pair=16,
        batch_cut_into=cut_into,
        warmup_updates=warm_up,
        schedule_updates=updates,
        average_updates=average,
    )


# Whole, so that each stays what it is when the shipped one changes; cut into 4 where no name says otherwise.
# 2048 points of a pair are 1024: all of advection1d's, and the largest square grid of darcy2d's.
RECIPES: dict[str, RecipeConfig] = {
    "1024-points": RecipeConfig(2048, "lattice", inverse_every_nth_pair=4, batch_cut_into=4),
    "512-points": RecipeConfig(512, "lattice", inverse_every_nth_pair=4, batch_cut_into=4),
    "256-points": RecipeConfig(256, "lattice", inverse_every_nth_pair=4, batch_cut_into=4),
    "256-points-16th": RecipeConfig(256, "lattice", inverse_every_nth_pair=16, batch_cut_into=4),
    "256-points-16th-cut-2": RecipeConfig(256, "lattice", inverse_every_nth_pair=16, batch_cut_into=2),
    "256-points-16th-cut-6": RecipeConfig(256, "lattice", inverse_every_nth_pair=16, batch_cut_into=6),
    "128-points-16th": RecipeConfig(128, "lattice", inverse_every_nth_pair=16, batch_cut_into=4),
    "256-points-16th-cut-2-falling-180": _falling(2, 180),
    "256-points-16th-cut-2-falling-120": _falling(2, 120),
    "256-points-16th-falling-180": _falling(4, 180),
    "256-points-16th-falling-160": _falling(4, 160),
    "256-points-16th-falling-140": _falling(4, 140),
    "256-points-16th-falling-120": _falling(4, 120),
    "256-points-16th-falling-100": _falling(4, 100),
    "256-points-16th-falling-90": _falling(4, 90),
    "256-points-16th-cut-6-falling-120": _falling(6, 120),
    "256-points-16th-cut-6-falling-90": _falling(6, 90),
    "256-points-16th-cut-8-falling-120": _falling(8, 120),
    "256-points-16th-warm-15-falling-120": _falling(4, 120, 15),
    "256-points-16th-warm-15-falling-100": _falling(4, 100, 15),
    "256-points-16th-cut-6-warm-15-falling-120": _falling(6, 120, 15),
    "256-points-16th-cut-6-warm-15-falling-100": _falling(6, 100, 15),
    "256-points-16th-cut-6-warm-15-falling-90": _falling(6, 90, 15),
    "256-points-16th-warm-15-falling-180-average-6": _falling(4, 180, 15, 6),
    "256-points-16th-cut-6-warm-15-falling-120-average-6": _falling(6, 120, 15, 6),
    "256-points-16th-cut-6-warm-15-falling-150-average-6": _falling(6, 150, 15, 6),
    "256-points-16th-cut-6-warm-15-falling-180-average-6": _falling(6, 180, 15, 6),
    "256-points-16th-warm-15-average-6": _falling(4, 300, 15, 6),
    "256-points-16th-cut-6-warm-15-average-6": _falling(6, 300, 15, 6),
    "256-points-16th-cut-6-warm-6-average-6": _falling(6, 300, 6, 6),
    "256-points-16th-cut-6-warm-6-falling-180-average-6": _falling(6, 180, 6, 6),
    "256-points-16th-warm-6-falling-180-average-6": _falling(4, 180, 6, 6),
    "256-points-16th-warm-3-falling-225-average-6": _falling(4, 225, 3, 6),
    "256-points-16th-cut-3-warm-6-falling-180-average-6": _falling(3, 180, 6, 6),
    "256-points-16th-cut-3-warm-3-falling-225-average-6": _falling(3, 225, 3, 6),
    "256-points-16th-cut-2-warm-6-falling-180-average-6": _falling(2, 180, 6, 6),
    "256-points-16th-cut-6-warm-3-falling-180-average-6": _falling(6, 180, 3, 6),
    "256-points-16th-cut-6-warm-3-falling-225-average-6": _falling(6, 225, 3, 6),
    "256-points-16th-cut-8-warm-3-falling-180-average-3": _falling(8, 180, 3, 3),
    "256-points-16th-cut-8-warm-3-falling-225-average-6": _falling(8, 225, 3, 6),
}


NO_TASK: Mapping[str, float] = MappingProxyType({})


class Reached(NamedTuple):
    """When a training was first below; None where it never was."""

    step_milliseconds: float  # mean of all steps
    set_up_seconds: float
    training_seconds: float | None  # of steps
    share_of_samples: float | None
    least_val_loss: float
    each_seconds: float | None  # of steps, until every task is below its own limit


def main() -> int:
    options = _options()
    end_by_exception()
    with refused_in_words():
        waiting = _waiting(options)  # or damaged
        if not options.show:
            for name in options.only:
                _require_possible(name, options, load_config(options.config, settings(name, options.set)))
            make_folder(options.out, "--out")
            _train_all(waiting, options)
        answer(table(options.out, options.only, options.below, options.each_below))
        return 1 if _waiting(options) else 0


def _waiting(options: argparse.Namespace) -> list[str]:
    """Those of which OUT does not say all that is asked."""
    records = {name: _events(options.out / f"{name}.jsonl") for name in options.only}
    return [
        name for name, events in records.items() if not _is_enough(events, options.below, options.each_below)
    ]


def settings(name: str, further: Sequence[str] = ()) -> list[str]:
    """Every key of a recipe, and what is set besides."""
    return [*(f"recipe.{key}={json.dumps(value)}" for key, value in asdict(RECIPES[name]).items()), *further]


def _require_possible(name: str, options: argparse.Namespace, config: Config) -> None:
    """Raise ConfigError if it cannot be trained, or OUT has it of another call, which would pass for ours."""
    require_world_fits(config, options.gpus)
    for task in options.each_below:
        if task not in config.data.tasks:
            raise ConfigError(
                f"--each-below: got {task}, expected one of data.tasks, {', '.join(config.data.tasks)}"
            )
    if config.schedule_updates > config.train.updates:
        raise ConfigError(
            f"train.updates: got {config.train.updates}, expected at least {config.schedule_updates}, the "
            f"schedule of {name}. Train longer, or leave the recipe out of --only"
        )
    path = options.out / f"{name}.jsonl"
    asked = {"config_hash": config_hash(config), "seed": options.seed, "world_size": options.gpus}
    for start in (event for event in _events(path) if event["event"] == "run_start"):
        for key, value in asked.items():
            if start[key] != value:
                raise ConfigError(
                    f"--out: {path} has {key} {start[key]}, this call {value}; name another folder"
                )


def _train_all(waiting: list[str], options: argparse.Namespace) -> None:
    started = time.monotonic()
    if waiting:
        most = min(options.seconds, len(waiting) * options.case_seconds)
        say(
            f"recipes to train: {len(waiting)}, each for {options.case_seconds:g} s at most, "
            f"all for {most:g} s; --only names fewer"
        )
    for name in waiting:
        if time.monotonic() - started + options.case_seconds > options.seconds:
            answer(f"{name}: not started, because it may not end within {options.seconds:.0f} s")
            continue
        _train(name, options)


def _train(name: str, options: argparse.Namespace) -> None:
    run = options.out / "runs" / name
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable]
    if options.gpus > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(options.gpus)]
    command += ["-m", "trainer", "train", "--config", str(options.config)]
    command += ["--out", str(run), "--seed", str(options.seed)]
    for setting in settings(name, options.set):
        command += ["--set", setting]
    metrics, deadline = run / "metrics.jsonl", time.monotonic() + options.case_seconds
    run.mkdir(parents=True)
    with (options.out / f"{name}.log").open("w") as log:
        launch = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        try:
            while launch.poll() is None and time.monotonic() < deadline:
                if _is_reached(_events(metrics), options.below, options.each_below):
                    break
                time.sleep(POLL_SECONDS)
        finally:
            end(launch)
    events = _events(metrics)
    if not _is_enough(events, options.below, options.each_below):
        answer(f"{name}: ended before it reached the held-out loss; see {options.out / name}.log")
        if len(_evaluations(events)) <= len(_evaluations(_events(options.out / f"{name}.jsonl"))):
            shutil.rmtree(run)  # what an earlier call kept is as much
            return
    partial = shutil.copy(metrics, options.out / f"{name}.partial")
    partial.rename(options.out / f"{name}.jsonl")
    shutil.rmtree(run)  # its checkpoint is large
    answer(table(options.out, [name], options.below, options.each_below).splitlines()[-1])


def table(out: Path, names: list[str], below: float, each_below: Mapping[str, float] = NO_TASK) -> str:
    limits = " and ".join(f"{task} {limit:g}" for task, limit in each_below.items())
    lines = [
        f"| recipe | ms a step | {below:g} after steps of | samples | least held-out loss | set-up |"
        + (f" {limits} after |" if limits else ""),
        "| --- | --- | --- | --- | --- | --- |" + (" --- |" if limits else ""),
    ]
    for name in names:
        events = _events(out / f"{name}.jsonl")
        if not _evaluations(events):
            lines.append(f"| {name} | not measured | | | | |" + (" |" if limits else ""))
            continue
        found = reached(events, below, each_below)
        unreached = "not reached" if _has_ended(events) else "ended before"
        when = _when(found.training_seconds, unreached)
        share = "" if found.share_of_samples is None else f"{found.share_of_samples:.0%}"
        lines.append(
            f"| {name} | {found.step_milliseconds:.1f} | {when} | {share} | {found.least_val_loss:.5f} "
            f"| {found.set_up_seconds:.1f} s |"
            + (f" {_when(found.each_seconds, unreached)} |" if limits else "")
        )
    return "\n".join(lines)


def _when(seconds: float | None, unreached: str) -> str:
    return unreached if seconds is None else f"{seconds:.1f} s"


def reached(events: list[dict], below: float, each_below: Mapping[str, float] = NO_TASK) -> Reached:
    """Linear between two evaluations, as the gate has it."""
    steps = [seconds for event in events if event["event"] == "steps" for seconds in event["step_seconds"]]
    config = next(event for event in events if event["event"] == "run_start")["config"]
    samples = config["train"]["updates"] * config["train"]["pairs_per_update"]
    set_up = sum(e["seconds"] for e in events if e["event"] == "phase" and e["name"] != "checkpoint")
    evaluations = [e for e in events if e["event"] == "evaluation"]
    places = [(sum(steps[: e["step"]]), e["samples_seen"] / samples) for e in evaluations]
    whole = [([e["val_loss"] for e in evaluations], below)]
    parts = [(_of_task(evaluations, task), limit) for task, limit in each_below.items()]
    seconds, share = _place(places, whole) or (None, None)
    each_seconds, _ = (_place(places, whole + parts) if parts else None) or (None, None)
    return Reached(1e3 * sum(steps) / len(steps), set_up, seconds, share, min(whole[0][0]), each_seconds)


def _place(
    places: list[tuple[float, float]], wanted: list[tuple[list[float], float]]
) -> tuple[float, float] | None:
    """Seconds of steps and share of the samples from which on all losses are at most their limits."""
    at = _reached_for_good(wanted)
    if at is None or at == 0:
        return None if at is None else places[0]
    passed = max(
        (losses[at - 1] - limit) / (losses[at - 1] - losses[at])
        for losses, limit in wanted
        if losses[at - 1] > limit
    )
    (seconds, share), (next_seconds, next_share) = places[at - 1], places[at]
    return seconds + passed * (next_seconds - seconds), share + passed * (next_share - share)


def _reached_for_good(wanted: list[tuple[list[float], float]]) -> int | None:
    """The first evaluation from which on all losses are at most their limits."""
    reached = _are_reached(wanted)
    behind = next((place for place in range(len(reached), 0, -1) if not reached[place - 1]), 0)
    return behind if behind < len(reached) else None


def _are_reached(wanted: list[tuple[list[float], float]]) -> list[bool]:
    """Of each evaluation, whether all losses are at most their limits."""
    return [
        all(at) for at in zip(*([loss <= limit for loss in losses] for losses, limit in wanted), strict=True)
    ]


def _of_task(evaluations: list[dict], task: str) -> list[float]:
    """ConfigError where the training had no such task."""
    name = f"val_loss/{task}"
    if not all(name in e.get("metrics", {}) for e in evaluations):
        raise ConfigError(f"--each-below: {task} is not a task of the training; leave it out")
    return [e["metrics"][name] for e in evaluations]


def _is_enough(events: list[dict], below: float, each_below: Mapping[str, float]) -> bool:
    """Whether it says all that is asked; one that a higher limit has ended is trained again."""
    return _has_ended(events) or _is_reached(events, below, each_below)


def _is_reached(events: list[dict], below: float, each_below: Mapping[str, float]) -> bool:
    evaluations = [event for event in events if event["event"] == "evaluation"]
    parts = [(_of_task(evaluations, task), limit) for task, limit in each_below.items()]
    return any(_are_reached([([e["val_loss"] for e in evaluations], below), *parts]))


def _has_ended(events: list[dict]) -> bool:
    return any(event["event"] == "run_end" for event in events)


def _evaluations(events: list[dict]) -> list[tuple[int, float]]:
    return [(event["step"], event["val_loss"]) for event in events if event["event"] == "evaluation"]


def _events(path: Path) -> list[dict]:
    return events_of(path, first="run_start")


def _task_and_loss(text: str) -> tuple[str, float]:
    task, _, loss = text.partition("=")
    try:
        limit = float(loss)
    except ValueError:
        limit = math.nan
    if task not in TASKS or not 0 < limit < math.inf:
        raise argparse.ArgumentTypeError(f'got "{text}", expected a task and its loss such as darcy2d=0.002')
    return task, limit


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--below", type=float, required=True, help="held-out loss of the trained baseline")
    parser.add_argument(
        "--each-below",
        type=_task_and_loss,
        action="append",
        default=[],
        metavar="TASK=LOSS",
        help="held-out loss of the trained baseline on one task",
    )
    parser.add_argument("--show", action="store_true", help="only print the results in OUT")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=RECIPES,
        metavar="RECIPE",
        help="default: all, with --show all that OUT has",
    )
    parser.add_argument("--gpus", type=int, choices=(1, 2, 4), default=1)
    parser.add_argument("--config", type=Path, help="default configs/train/two-task-GPUSgpu-recipe.yaml")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600,
        help="time limit; a training that may not end in time is not started",
    )
    parser.add_argument("--case-seconds", type=float, default=120, help="time limit for one training")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for the trainer")
    options = parser.parse_args()
    found = [name for name in RECIPES if (options.out / f"{name}.jsonl").exists()]
    options.each_below = dict(options.each_below)
    options.only = options.only or (found if options.show else list(RECIPES))
    options.config = options.config or Path(f"configs/train/two-task-{options.gpus}gpu-recipe.yaml")
    if not options.only:
        parser.error(
            f"--show: {options.out} has no RECIPE.jsonl of a recipe; name the --out of an earlier call. "
            "To unpack recorded ones, run npm run records first"
        )
    if not 0 < options.below < math.inf:
        parser.error(f"--below: got {options.below:g}, expected a held-out loss such as 0.001")
    if options.seed < 0:
        parser.error(f"--seed: got {options.seed}, expected 0 or more")
    for option, seconds in (("--seconds", options.seconds), ("--case-seconds", options.case_seconds)):
        if not 0 < seconds < math.inf:
            parser.error(f"{option}: got {seconds:g}, expected more than 0 such as 120")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
