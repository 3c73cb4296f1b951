"""Train a config, print its errors against persistence, and draw what it learned.

    python -m benchmarks.learning.run --config benchmarks/learning/advection1d-cpu.yaml --out out/learning

Writes metrics.jsonl and checkpoint.pt of the training, and numbers.json. With matplotlib
(`pip install --group benchmarks/pyproject.toml:benchmarks`) it also draws learning-curve.png and fields.png.
Exits with 1 if the NRMSE misses its goal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

from benchmarks.harness.in_words import refused_in_words
from benchmarks.learning.fields import example_fields
from benchmarks.learning.pictures import draw_curves, draw_fields
from trainer.process.terminal import answer

ROOT = Path(__file__).parents[2]
GOAL_NRMSE = 0.01  # of the config that is trained without --config: 1% of a field, one step ahead


def main() -> int:
    options = options_of(sys.modules[__name__], ROOT / "benchmarks/learning/advection1d-cpu.yaml")
    curve = trained(options)
    (options.out / "numbers.json").write_text(json.dumps(curve, indent=2) + "\n")
    draw_curves({"trainer": curve["evaluations"]}, options.out / "learning-curve.png")
    draw_fields(example_fields(options.out / "checkpoint.pt"), options.out / "fields.png")
    nrmse = curve["evaluations"][-1]["nrmse"]
    reached = nrmse <= GOAL_NRMSE
    answer(
        f"goal, a one-step NRMSE of at most {GOAL_NRMSE}: {'reached' if reached else 'missed'}, {nrmse:.4f}"
    )
    return 0 if reached else 1


def trained(options: argparse.Namespace) -> dict:
    """Train in a process of its own, print the learning curve and return it; a finished training is kept."""
    metrics = options.out / "metrics.jsonl"
    if _is_finished(metrics):
        answer(f"{options.out} has a finished training, so nothing is trained")
    else:
        _train(options, metrics)
    curve = learning_curve(metrics)
    answer(as_text(curve))
    return curve


def _train(options: argparse.Namespace, metrics: Path) -> None:
    arguments = ["--config", options.config, "--out", options.out, "--seed", options.seed]
    sets = [part for override in options.set for part in ("--set", override)]
    command = [sys.executable, "-m", "trainer", "train", *map(str, arguments), *sets]
    if options.kill_at_update is not None:
        first = subprocess.Popen(command, cwd=ROOT)
        while first.poll() is None and _updates_done(metrics) < options.kill_at_update:
            time.sleep(0.2)
        first.kill()  # without a chance to save anything
        first.wait()
        answer(f"killed at update {_updates_done(metrics)}, resuming")
        command.append("--resume")
    subprocess.run(command, cwd=ROOT, check=True)


def _is_finished(metrics: Path) -> bool:
    return any(event["event"] == "run_end" for event in _events(metrics))


def _updates_done(metrics: Path) -> int:
    return sum(len(event["step_seconds"]) for event in _events(metrics) if event["event"] == "steps")


def _events(metrics: Path) -> list[dict]:
    """What a training has written so far; its last line may not be whole yet."""
    lines = metrics.read_text().splitlines(keepends=True) if metrics.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def options_of(module: ModuleType, config: Path | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=config, required=config is None)
    parser.add_argument("--out", type=Path, required=True, help="folder for all results")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kill-at-update", type=int, metavar="N", help="kill the training at update N, then resume it"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for the trainer")
    options = parser.parse_args()
    options.config, options.out = options.config.resolve(), options.out.resolve()
    return options


def learning_curve(metrics: Path) -> dict:
    """Return what a training's metrics file says about learning, and how long it took."""
    events = _events(metrics)
    windows = {
        event["first_step"] + len(event["step_seconds"]) - 1: sum(event["step_seconds"])
        for event in events
        if event["event"] == "steps"
    }
    evaluations = [
        {
            "step": event["step"],
            "training_seconds": sum(part for step, part in windows.items() if step <= event["step"]),
            "val_loss": event["val_loss"],
            **event["metrics"],
        }
        for event in events
        if event["event"] == "evaluation"
    ]
    start = events[0]
    return {
        "device": start["device_names"][0],
        "ranks": start["world_size"],
        "parameters": start["parameter_count"],
        "held_out_pairs": start["evaluation_samples"],
        "resumed_at_steps": start.get("resumed_at_steps", []),
        "evaluations": evaluations,
    }


def as_text(curve: dict) -> str:
    """The curve as a table, and the last errors compared with persistence."""
    last = curve["evaluations"][-1]
    lines = [f"{'update':>8} {'seconds':>9} {'val_loss':>11} {'NRMSE':>9}"]
    lines += [
        f"{row['step']:8d} {row['training_seconds']:9.1f} {row['val_loss']:11.3e} {row['nrmse']:9.4f}"
        for row in curve["evaluations"]
    ]
    for name in [name.removeprefix("nrmse/") for name in last if name.startswith("nrmse/")]:
        gain = last[f"persistence_loss/{name}"] / last[f"val_loss/{name}"]
        lines.append(
            f"{name}: NRMSE {last[f'nrmse/{name}']:.4f}, over the whole trajectory "
            f"{last.get(f'rollout_nrmse/{name}', float('nan')):.4f}; MSE {gain:.0f} times below persistence"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    with refused_in_words():
        sys.exit(main())
