"""Train a config, print its errors against persistence, and draw what it learned.

    python -m benchmarks.learning.run --config benchmarks/learning/advection1d-cpu.yaml --out out/learning

Writes metrics.jsonl and checkpoint.pt of the training, numbers.json, and, where matplotlib is installed
(`pip install --group benchmarks`), learning-curve.png and fields.png.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from benchmarks.learning.fields import example_fields
from benchmarks.learning.pictures import draw_curves, draw_fields

ROOT = Path(__file__).parents[2]


def main() -> int:
    options = options_of(sys.modules[__name__], ROOT / "benchmarks/learning/advection1d-cpu.yaml")
    curve = trained(options)
    (options.out / "numbers.json").write_text(json.dumps(curve, indent=2) + "\n")
    draw_curves({"trainer": curve["evaluations"]}, options.out / "learning-curve.png")
    draw_fields(example_fields(options.out / "checkpoint.pt"), options.out / "fields.png")
    return 0


def trained(options: argparse.Namespace) -> dict:
    """Train in a process of its own, print the learning curve and return it."""
    arguments = ["--config", options.config, "--out", options.out, "--seed", options.seed]
    sets = [part for override in options.set for part in ("--set", override)]
    subprocess.run(
        [sys.executable, "-m", "trainer", "train", *map(str, arguments), *sets], cwd=ROOT, check=True
    )
    curve = learning_curve(options.out / "metrics.jsonl")
    print(as_text(curve), flush=True)
    return curve


def options_of(module: ModuleType, config: Path | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=config, required=config is None)
    parser.add_argument("--out", type=Path, required=True, help="folder for everything that is written")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for trainer")
    options = parser.parse_args()
    options.config, options.out = options.config.resolve(), options.out.resolve()
    return options


def learning_curve(metrics: Path) -> dict:
    """Return what a training's metrics file says about learning, and how long it took."""
    events = [json.loads(line) for line in metrics.read_text().splitlines()]
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
        "evaluations": evaluations,
    }


def as_text(curve: dict) -> str:
    """The curve as a table, and the last errors beside persistence."""
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
    sys.exit(main())
