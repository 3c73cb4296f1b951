"""Several trainings one after another in the same ranks: starting ranks costs more than a tiny training.

Usage, under torchrun: several_runs.py CONFIG OUT NAME=OVERRIDE,OVERRIDE ...
"""

import contextlib
import json
import sys
from collections import Counter
from pathlib import Path

from torch.profiler import ProfilerActivity, profile

from trainer.config import load_config
from trainer.run import training
from trainer.run.world import open_world


def main(config: str, out: str, *runs: str) -> None:
    with open_world(60) as world:
        training.open_world = lambda timeout_seconds: contextlib.nullcontext(world)
        for run in runs:
            name, _, overrides = run.partition("=")
            resolved = load_config(Path(config), [text for text in overrides.split(",") if text])
            with profile(activities=[ProfilerActivity.CPU]) as profiled:
                training.run_training(resolved, Path(out) / name, 3, training.Progress())
            if world.rank == 0:
                names = [event.name() for event in profiled.profiler.kineto_results.events()]
                counts = Counter(name for name in names if name.startswith("gloo:"))
                (Path(out) / name / "collectives.json").write_text(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
