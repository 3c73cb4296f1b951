"""Several trainings one after another in the same ranks: starting ranks costs more than a tiny training.

Usage, in each rank: several_runs.py CONFIG OUT NAME=OVERRIDE,OVERRIDE ...
NAME! is interrupted in step 6; NAME+ continues what stands in its folder; NAME# counts its collectives.
"""

import contextlib
import json
import os
import sys
from collections import Counter
from pathlib import Path

from graphs_on_cpu import replay_by_calls
from torch.profiler import ProfilerActivity, profile

from trainer.config import load_config
from trainer.errors import Diverged
from trainer.process.world import open_world
from trainer.run import training
from trainer.run.failures.simulated import VARIABLE


def main(config: str, out: str, *runs: str) -> None:
    replay_by_calls()
    with open_world(600) as world:
        training.open_world = lambda timeout_seconds: contextlib.nullcontext(world)
        for run in runs:
            name, _, overrides = run.partition("=")
            resolved = load_config(Path(config), [text for text in overrides.split(",") if text])
            folder = Path(out) / name.rstrip("!+#")
            with _interrupted(name.endswith("!")), _counted(folder, name.endswith("#") and world.rank == 0):
                training.run_training(resolved, folder, 3, training.Progress(), resume=name.endswith("+"))


@contextlib.contextmanager
def _counted(folder: Path, wanted: bool):
    if not wanted:
        yield
        return
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        yield
    names = [event.name() for event in profiled.profiler.kineto_results.events()]
    counts = Counter(name for name in names if name.startswith("gloo:"))
    (folder / "collectives.json").write_text(json.dumps(counts))


@contextlib.contextmanager
def _interrupted(wanted: bool):
    if not wanted:
        yield
        return
    os.environ[VARIABLE] = "nan@rank0@step6"
    try:
        yield
    except Diverged:
        del os.environ[VARIABLE]
    else:
        raise AssertionError("the run was to be interrupted")


if __name__ == "__main__":
    main(*sys.argv[1:])
