"""Starts a training in several source trees in turn and says what each phase of a start takes.

    git worktree add ../before 1864168
    python -m benchmarks.starts --out out/starts --gpus 2 ../before .
    python -m benchmarks.starts --out out/starts --show

A launch ends behind its first steps. The first one in each tree fills caches and is not counted; the others
alternate, forwards and backwards, so that no tree is always the first. Metrics stay in
OUT/NUMBER-START.jsonl, numbered as the trees are named; what has been measured is kept, so a second call
goes on. Config and data are those of the folder it is called in.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

from benchmarks.bad_input import refused_in_words
from benchmarks.ending import end, end_by_exception
from trainer.errors import ConfigError

POLL_SECONDS = 0.1
LAUNCH_SECONDS = 300  # the most for one launch, with cold caches too
PHASES = ("import", "data", "build", "capture")


def main() -> int:
    options = _options()
    end_by_exception()
    with refused_in_words():
        for tree in () if options.show else options.trees:
            if not (tree / "trainer").is_dir():
                raise ConfigError(f"TREE: {tree} has no folder trainer; name the root of a checkout")
        if not options.show:
            _require_same_question(options)
    if not options.show:
        for number, start in launches(len(options.trees), options.starts):
            record = options.out / f"{number}-{start}.jsonl"
            if not record.exists() and not _launch(options, options.trees[number - 1], record):
                print(f"{record.stem}: did not start; see {record.with_suffix('.log')}", flush=True)
                return 1
    print(table(options.out))
    return 0


def _require_same_question(options: argparse.Namespace) -> None:
    """ConfigError if OUT has starts of others, which would pass for these."""
    asked = {name: str(value) for name, value in vars(options).items() if name not in ("show", "starts")}
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "asked.json"
    before = json.loads(kept.read_text()) if kept.exists() else asked
    for name, value in asked.items():
        if value != before.get(name):
            raise ConfigError(
                f"--out: {options.out} has starts with {name} {before.get(name)}, this call has {value}; "
                "name another folder"
            )
    kept.write_text(f"{json.dumps(asked)}\n")


def launches(trees: int, starts: int) -> Iterator[tuple[int, int]]:
    """Yield tree, from 1, and start in it, where start 0 is not counted."""
    for start in range(starts + 1):
        numbers = range(1, trees + 1)
        yield from ((number, start) for number in (numbers if start % 2 == 0 else reversed(numbers)))


def _launch(options: argparse.Namespace, tree: Path, record: Path) -> bool:
    """Whether it came to its steps; then its metrics are in the record."""
    run = options.out / "run"
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable]
    if options.gpus > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(options.gpus)]
    command += ["-m", "trainer", "train", "--config", str(options.config)]
    command += ["--out", str(run), "--seed", "0"]
    for setting in options.set:
        command += ["--set", setting]
    # The trainer is the tree's, while config and data are looked for here.
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(tree.resolve())}
    deadline = time.monotonic() + LAUNCH_SECONDS
    with record.with_suffix(".log").open("w") as log:
        launch = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            while not _has_started(events := _events(run / "metrics.jsonl")) and time.monotonic() < deadline:
                if launch.poll() is not None:
                    events = _events(run / "metrics.jsonl")
                    break
                time.sleep(POLL_SECONDS)
        finally:
            end(launch)
    if _has_started(events):
        record.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    shutil.rmtree(run, ignore_errors=True)
    return _has_started(events)


def table(out: Path) -> str:
    """Median and range of each phase by tree, and the mean of what the first tree spares against another."""
    found: dict[int, dict[int, dict[str, float]]] = {}
    for record in sorted(out.glob("*-*.jsonl")):
        number, start = map(int, record.stem.split("-"))
        if start > 0:
            found.setdefault(number, {})[start] = _seconds(_events(record))
    lines = [f"| tree | starts | {' | '.join(PHASES)} | all | less than tree 1 |", "| --- " * 8 + "|"]
    for number, starts in sorted(found.items()):
        cells = [_spread([seconds[name] for seconds in starts.values()]) for name in (*PHASES, "all")]
        both = sorted(starts.keys() & found.get(1, {}).keys())
        less = mean(found[1][start]["all"] - starts[start]["all"] for start in both) if both else None
        cells.append("" if number == 1 or less is None else f"{less:+.2f} s")
        lines.append(f"| {number} | {len(starts)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(events: list[dict]) -> dict[str, float]:
    found = {e["name"]: e["seconds"] for e in events if e["event"] == "phase" and e["name"] in PHASES}
    return {**dict.fromkeys(PHASES, 0.0), **found, "all": sum(found.values())}


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def _has_started(events: list[dict]) -> bool:
    """Steps, or an evaluation, come behind the last phase of a start."""
    return any(event["event"] in ("steps", "evaluation") for event in events)


def _events(path: Path) -> list[dict]:
    """Whole lines alone: the last one may be half written."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "trees", type=Path, nargs="*", default=[Path()], metavar="TREE", help="this one unless named"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="only print what OUT holds")
    parser.add_argument("--config", type=Path, help="configs/train/two-task-GPUSgpu-recipe.yaml unless named")
    parser.add_argument("--gpus", type=int, choices=(1, 2, 4), default=1)
    parser.add_argument("--starts", type=int, default=5, help="counted ones in each tree (default 5)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for trainer")
    options = parser.parse_args()
    options.config = options.config or Path(f"configs/train/two-task-{options.gpus}gpu-recipe.yaml")
    if options.starts < 1:
        parser.error(f"--starts: got {options.starts}, expected 1 or more")
    if options.show and not any(options.out.glob("*-*.jsonl")):
        parser.error(f"--show: {options.out} has no NUMBER-START.jsonl; name the --out of an earlier call")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
