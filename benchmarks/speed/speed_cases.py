"""Measures trainings of both forms one after another: scaling over GPUs, sizes of the micro-batch, set-up.

    python -m benchmarks.speed.speed_cases --out out/cases --seconds 540
    python -m benchmarks.speed.speed_cases --out out/cases --show

Each case is one launch of a few updates, whose metrics stay in OUT/CASE.jsonl. Measured cases are kept, so a
second call continues where the first reached its time limit. The table is made from these files.
Exits with 1 while a case is not measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.harness.ending import end, end_by_exception
from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.recorded_config import recorded_config
from benchmarks.harness.records import unpacked
from trainer.errors import ConfigError
from trainer.process.terminal import answer, say
from trainer.profiling.work import flops_per_pair

ROOT = Path(__file__).parents[2]
FORMS = ("baseline", "optimized")
GPUS = (4, 2, 1)  # of the cases, the most first
MICRO_STEPS = 3  # of the baseline
MEASURED_TFLOPS = 790  # bf16 products of an H200, measured; its data sheet says 989
# Switches that give the baseline something for nothing and leave it eager: no compiler, no kernel of
# ours, no graph. With two micro-steps in place of three it says what the plan's baseline leaves lying.
FREE = (
    "speed.precision=bf16",
    "speed.muon=batched",
    "speed.fused_adamw=true",
    "speed.foreach_ema=true",
    "speed.hoist_fixed_grid=true",
)
# The speed plan's own settings, and each time one of them as it would be without the plan.
PLAN = {
    "": (),
    "-ddp": ("speed.wrapper=ddp",),
    "-nccl-default": ("speed.nccl=[]",),
    "-all-activations": ("speed.activation_checkpointing=off", "speed.checkpoint_encoder_decoder=false"),
}
# What the optimized form might have besides, or in place of what it has.
CANDIDATES = {
    "-joint-decode": ("speed.joint_decode=true",),
    "-fp16": ("speed.precision=fp16",),
}
PLAN_MICRO_STEPS = 2
# Pairs of an update over the baseline's, by GPUs: 24 trajectories x 2 against 8 x 3, 30 x 2 against 8 x 6.
PLAN_BATCH = {4: 2.0, 2: 1.25}
SET_UP = {"data", "build", "compile", "capture"}  # phases behind which the training starts


@dataclass(frozen=True)
class Case:
    """One training: `pairs` of an update, in all, cut into micro-steps."""

    name: str
    form: str
    gpus: int
    pairs: int
    micro_steps: int
    cache: str = "shared"
    after: str | None = None  # the case whose whole caches it starts with
    settings: tuple[str, ...] = ()  # beside those of its form


def main() -> int:
    options = _options()
    end_by_exception()
    if options.show:
        unpacked(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    wanted = [case for case in options.cases if options.only is None or case.name in options.only]
    if not options.show:
        _measure(wanted, options)
    measured = [(case, _metrics(case, options.out)) for case in wanted]
    if options.show and not options.set:  # which would be of the same records
        for case, events in measured:
            _require_of_case(case, events, options.out)
    answer(table(measured))
    return 0 if all(pairs_per_second(events) for _, events in measured) else 1


def cases(most_gpus: int, micro_batch: int) -> list[Case]:
    """All cases, the most telling first; three of the baseline's micro-batches make a GPU's update."""
    share = MICRO_STEPS * micro_batch
    counts = [gpus for gpus in GPUS if gpus <= most_gpus]
    found = [
        Case(f"{form}-{gpus}gpu", form, gpus, gpus * share, _micro_steps(form, 1))
        for gpus in counts
        for form in FORMS
    ]
    whole = counts[0] * share
    found += [
        Case(f"{form}-{gpus}gpu-equal-total", form, gpus, whole, _micro_steps(form, counts[0] // gpus))
        for gpus in counts[1:]
        for form in FORMS
    ]
    for pairs in (micro_batch // 4, 3 * micro_batch):
        micro_steps = {"baseline": MICRO_STEPS, "optimized": 1 if pairs < micro_batch else MICRO_STEPS}
        found += [
            Case(f"{form}-1gpu-micro-batch-{pairs}", form, 1, MICRO_STEPS * pairs, micro_steps[form])
            for form in FORMS
        ]
    return [
        *found,
        *(
            Case(
                f"plan-{counts[0]}gpu{name}",
                "plan",
                counts[0],
                whole,
                PLAN_MICRO_STEPS,
                settings=settings,
            )
            for name, settings in PLAN.items()
        ),
        *(
            Case(f"plan-{gpus}gpu-own-batch", "plan", gpus, round(factor * whole), PLAN_MICRO_STEPS)
            for gpus, factor in PLAN_BATCH.items()
            if gpus == counts[0]
        ),
        Case("baseline-1gpu-free-gains", "baseline", 1, share, MICRO_STEPS - 1, settings=FREE),
        *(
            Case(f"optimized-1gpu{name}", "optimized", 1, share, 1, settings=settings)
            for name, settings in CANDIDATES.items()
        ),
        Case("optimized-1gpu-cold", "optimized", 1, share, 1, cache="cold"),
        Case("optimized-1gpu-warm", "optimized", 1, share, 1, cache="cold", after="optimized-1gpu-cold"),
    ]


def _micro_steps(form: str, factor: int) -> int:
    return factor * (MICRO_STEPS if form == "baseline" else 1)


def _measure(wanted: list[Case], options: argparse.Namespace) -> None:
    started = time.monotonic()
    for case in wanted:
        left = options.seconds - (time.monotonic() - started)
        if pairs_per_second(_metrics(case, options.out)):
            continue
        if left < options.case_seconds:
            answer(f"{case.name}: not started, because only {left:.0f} s are left")
            continue
        if not _has_its_caches(case, options):
            answer(
                f"{case.name}: not started, because {case.after} left no complete caches; measure that first"
            )
            continue
        answer(f"{case.name} ...")
        _launch(case, options)


def _has_its_caches(case: Case, options: argparse.Namespace) -> bool:
    """Whether the case that fills them has finished, and has done so here."""
    if case.after is None:
        return True
    filling = next(other for other in options.cases if other.name == case.after)
    return bool(pairs_per_second(_metrics(filling, options.out))) and _caches(case, options.out).is_dir()


def _caches(case: Case, out: Path) -> Path:
    return out / "caches" / case.cache


def _launch(case: Case, options: argparse.Namespace) -> None:
    run, caches = options.out / "runs" / case.name, _caches(case, options.out)
    shutil.rmtree(run, ignore_errors=True)
    if case.name.endswith("-cold"):
        shutil.rmtree(caches, ignore_errors=True)
    caches.mkdir(parents=True, exist_ok=True)
    sets = [
        f"train.updates={options.updates}",
        f"train.pairs_per_update={case.pairs}",
        f"speed.accumulation_steps={case.micro_steps}",
        "train.window_updates=10",
        "optimizer.warmup_updates=5",
        "data.held_out_fraction=0.004",
        "evaluation.rollout_trajectories=0",
        *case.settings,
        *options.set,
    ]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.gpus}"),
        *(
            "-m",
            "trainer",
            "train",
            "--config",
            _config(case, options.configs),
            "--out",
            str(run),
            "--seed",
            "0",
        ),
        *(part for setting in sets for part in ("--set", setting)),
    ]
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TRITON_CACHE_DIR": str(caches / "triton"),
    }
    with (options.out / f"{case.name}.log").open("w") as log:
        launch = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            launch.wait(options.case_seconds)
        except subprocess.TimeoutExpired:
            answer(f"{case.name}: did not finish within {options.case_seconds:.0f} s")
        finally:
            end(launch)
    if not _is_finished(run / "metrics.jsonl"):
        answer(f"{case.name}: did not finish; see {options.out / case.name}.log")
    if (run / "metrics.jsonl").exists():
        shutil.copy(run / "metrics.jsonl", options.out / f"{case.name}.jsonl")
    shutil.rmtree(run, ignore_errors=True)  # its checkpoint is large


def _is_finished(metrics: Path) -> bool:
    return metrics.exists() and '"run_end"' in metrics.read_text()


def _config(case: Case, pattern: str) -> str:
    if case.form == "plan":
        return f"configs/train/plan-{case.gpus}gpu.yaml"
    return pattern.format(form=case.form, gpus=case.gpus)


def _metrics(case: Case, out: Path) -> list[dict]:
    path = out / f"{case.name}.jsonl"
    try:
        events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    except ValueError as error:  # of a training that was killed while it wrote
        say(f"{path}: cannot be read as metrics ({error}), so the case counts as not measured")
        return []
    return events


def _require_of_case(case: Case, events: list[dict], out: Path) -> None:
    """A file that was copied or named by hand may be of another training."""
    start = next((event for event in events if event["event"] == "run_start"), None)
    if start is None:
        return
    path, train, speed = out / f"{case.name}.jsonl", start["config"]["train"], start["config"]["speed"]
    found = {
        "GPUs": (start["world_size"], case.gpus),
        "train.pairs_per_update": (train["pairs_per_update"], case.pairs),
        "speed.accumulation_steps": (speed["accumulation_steps"], case.micro_steps),
    }
    for setting in case.settings:
        key, value = setting.removeprefix("speed.").split("=")
        got = speed.get(key)  # "off" is a word to the trainer, and no to YAML
        found[f"speed.{key}"] = (got, value if isinstance(got, str) else yaml.safe_load(value))
    for name, (got, expected) in found.items():
        if got != expected:
            raise ConfigError(
                f"{path}: {name}: got {got}, expected {expected} of {case.name}. "
                "The file is from another training; move it away"
            )


def pairs_per_second(events: list[dict]) -> float | None:
    """Of the later half of a finished training's steps: what is compiled or captured is behind it.

    None where it did not finish, or gives no number above 0.
    """
    if not any(event["event"] == "run_end" for event in events):
        return None
    windows = [event for event in events if event["event"] == "steps"]
    seconds = [s for window in windows for s in window["step_seconds"]]
    pairs = [n for window in windows for n in window["samples"]]
    half = len(seconds) // 2
    timed = sum(seconds[half:])
    return sum(pairs[half:]) / timed if 0 < timed < math.inf else None


def table(measured: list[tuple[Case, list[dict]]]) -> str:
    """A line per case. Efficiency is pairs/s per GPU against one GPU with as many pairs on each; below the
    table against one GPU with as many pairs in all.
    """
    speeds = {case.name: speed for case, events in measured if (speed := pairs_per_second(events))}
    names = ("ms", "pairs/s", "speedup", "effic.", "FLOP", "wait", "GB", "set-up s")
    lines = [f"{'case':36}" + "".join(f"{name:>9}" for name in names)]
    for case, events in measured:
        cells = _cells(case, events, speeds) if case.name in speeds else ["not measured"]
        lines.append(f"{case.name:36}" + "".join(f"{cell:>9}" for cell in cells))
    for form in FORMS:
        same = [
            case
            for case, _ in measured
            if case.form == form
            and case.name in speeds
            and case.pairs == _most(measured)
            and not case.settings
        ]
        ratios = [f"{case.gpus} GPUs {speeds[case.name] / speeds[same[-1].name]:.2f}x" for case in same]
        if same and same[-1].gpus == 1:
            lines.append(f"{form}, {same[-1].pairs} pairs in all: {', '.join(ratios)}")
    return "\n".join(lines)


def _most(measured: list[tuple[Case, list[dict]]]) -> int:
    equal_work = (case for case, _ in measured if case.form in FORMS and "micro-batch" not in case.name)
    return max((case.pairs for case in equal_work), default=0)


def _cells(case: Case, events: list[dict], speeds: dict[str, float]) -> list[str]:
    speed = speeds[case.name]
    own = case.settings or case.form == "plan"  # no baseline has its name
    beside = f"baseline-{case.gpus}gpu" if own else case.name.replace("optimized", "baseline")
    baseline = speeds.get(beside) if beside != case.name else None
    alone = speeds.get(f"{case.form}-1gpu")
    has_equal_share = case.gpus > 1 and "equal-total" not in case.name
    steps = [event for event in events if event["event"] == "steps"]
    wait = sum(sum(e["data_wait_seconds"]) for e in steps) / sum(sum(e["step_seconds"]) for e in steps)
    end = next(event for event in events if event["event"] == "run_end")
    set_up = sum(e["seconds"] for e in events if e["event"] == "phase" and e["name"] in SET_UP)
    start = next(event for event in events if event["event"] == "run_start")
    flops = flops_per_pair(recorded_config(start["config"], f"{case.name}.jsonl"))["all"]
    utilisation = speed * flops / (case.gpus * MEASURED_TFLOPS * 1e12)
    return [
        f"{1e3 * case.pairs / speed:.1f}",
        f"{speed:.0f}",
        f"{speed / baseline:.2f}x" if baseline else "",
        f"{speed / case.gpus / alone:.1%}" if alone and has_equal_share else "",
        f"{utilisation:.1%}",
        f"{wait:.1%}",
        f"{max(end.get('peak_memory_reserved_bytes') or [0]) / 1e9:.1f}",
        f"{set_up:.1f}",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="only print the results in OUT")
    parser.add_argument("--gpus", type=int, choices=GPUS, default=4, help="largest number of GPUs for a case")
    parser.add_argument("--only", nargs="+", help="names of cases")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600,
        help="time limit; a case that may not end in time is not started",
    )
    parser.add_argument("--case-seconds", type=float, default=150, help="time limit for one case")
    parser.add_argument(
        "--updates", type=int, default=40, help="updates of each training; the later half is timed"
    )
    parser.add_argument(
        "--micro-batch", type=int, default=256, help="the baseline's pairs per micro-step and GPU"
    )
    parser.add_argument("--configs", default="configs/train/two-task-{gpus}gpu-{form}.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for the trainer")
    options = parser.parse_args()
    options.cases = cases(options.gpus, options.micro_batch)
    names = [case.name for case in options.cases]
    for name in options.only or []:
        if name not in names:
            parser.error(f"--only: got {name}, expected a case of --gpus {options.gpus}: {', '.join(names)}")
    return options


if __name__ == "__main__":
    with refused_in_words():
        raise SystemExit(main())
