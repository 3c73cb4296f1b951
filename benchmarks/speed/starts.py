"""Starts a training in several source trees in turn and prints the time of each phase of a start.

    git worktree add ../before 1864168
    python -m benchmarks.speed.starts --out out/starts --gpus 2 ../before .
    python -m benchmarks.speed.starts --out out/starts --show

A launch ends after its first steps. The first one in each tree fills caches and is not counted; the others
alternate, forwards and backwards, so that no tree is always the first. Metrics stay in
OUT/NUMBER-START.jsonl, numbered in the order of the trees. Measured starts are kept, so a second call
continues while the sources are the same. Config and data are from the current folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.harness.ending import end, end_by_exception
from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.metrics_file import events
from trainer.config import load_config
from trainer.config.load import config_hash
from trainer.config.rules import require_world_fits
from trainer.errors import ConfigError
from trainer.process.folders import make_folder
from trainer.process.terminal import answer

POLL_SECONDS = 0.1
LAUNCH_SECONDS = 300  # the most for one launch, with cold caches too
PHASES = ("import", "data", "build", "capture")


def main() -> int:
    options = _options()
    end_by_exception()
    with refused_in_words():
        for tree in () if options.show else options.trees:
            if not (tree / "trainer").is_dir():
                raise ConfigError(f"TREE: {tree} has no folder trainer; name the root folder of a checkout")
        if not options.show:
            _require_same_question(options)
        told = table(options.out)  # damaged or not
        for number, start in () if options.show else launches(len(options.trees), options.starts):
            record = options.out / f"{number}-{start}.jsonl"
            if not record.exists() and not _launch(options, options.trees[number - 1], record):
                answer(f"{record.stem}: did not start; see {record.with_suffix('.log')}")
                return 1
            told = table(options.out)
        answer(told)
    return 0


def _require_same_question(options: argparse.Namespace) -> None:
    """ConfigError if OUT has starts of another training or of other sources, which would pass for these."""
    config = load_config(options.config, options.set)
    require_world_fits(config, options.gpus)
    asked = {"config": config_hash(config), "gpus": options.gpus}
    make_folder(options.out, "--out")
    asked |= {f"sources of tree {n}": sources(tree) for n, tree in enumerate(options.trees, 1)}
    kept = options.out / "asked.json"
    try:
        before = dict(json.loads(kept.read_text())) if kept.exists() else asked
    except (TypeError, ValueError) as error:
        raise ConfigError(f"--out: {kept} is not from this script ({error}); name another folder") from error
    for name in before.keys() & asked.keys():
        if asked[name] != before[name]:
            raise ConfigError(
                f"--out: {options.out} has starts with {name} {before[name]}, this call has {asked[name]}; "
                "name another folder"
            )
    kept.write_text(f"{json.dumps(before | asked)}\n")


def sources(tree: Path) -> str:
    """Name the state of a tree's trainer."""
    found = hashlib.sha256()
    for file in sorted((tree / "trainer").rglob("*.py")):
        found.update(b"\0".join([str(file.relative_to(tree)).encode(), file.read_bytes(), b""]))
    return found.hexdigest()[:12]


def launches(trees: int, starts: int) -> Iterator[tuple[int, int]]:
    """Yield tree, from 1, and start in it, where start 0 is not counted."""
    for start in range(starts + 1):
        numbers = range(1, trees + 1)
        yield from ((number, start) for number in (numbers if start % 2 == 0 else reversed(numbers)))


def _launch(options: argparse.Namespace, tree: Path, record: Path) -> bool:
    """Whether it came to its steps; then its metrics are in the record."""
    run = options.out / "run"
    shutil.rmtree(run, ignore_errors=True)

    def from_tree(path: Path) -> str:
        """The trainer is the tree's, since it is launched there; config, data and OUT are those of here."""
        return os.path.relpath(path.resolve(), tree.resolve())

    data = Path(load_config(options.config, options.set).data.root)
    command = [sys.executable]
    if options.gpus > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(options.gpus)]
    command += ["-m", "trainer", "train", "--config", from_tree(options.config)]
    command += ["--out", from_tree(run), "--seed", "0"]
    for setting in [*options.set, f"data.root={from_tree(data)}"]:
        command += ["--set", setting]
    deadline = time.monotonic() + LAUNCH_SECONDS
    with record.with_suffix(".log").open("w") as log:
        launch = subprocess.Popen(command, cwd=tree, stdout=log, stderr=log)
        try:
            while launch.poll() is None and time.monotonic() < deadline:
                if _has_started(events(run / "metrics.jsonl")):
                    break
                time.sleep(POLL_SECONDS)
        finally:
            end(launch)
    found = events(run / "metrics.jsonl")
    if _has_started(found):
        partial = record.with_suffix(".partial")
        partial.write_text("".join(f"{json.dumps(event)}\n" for event in found))
        partial.rename(record)
    shutil.rmtree(run, ignore_errors=True)
    return _has_started(found)


def table(out: Path) -> str:
    """Median and range of each phase by tree, and of what a tree takes less than the first, by start."""
    found: dict[int, dict[int, dict[str, float]]] = {}
    for (number, start), record in sorted(_records(out).items()):
        if start > 0:
            found.setdefault(number, {})[start] = _seconds(_whole(record))
    lines = [f"| tree | starts | {' | '.join(PHASES)} | all | less than tree 1 |", "| --- " * 8 + "|"]
    for number, starts in sorted(found.items()):
        cells = [_spread([seconds[name] for seconds in starts.values()]) for name in (*PHASES, "all")]
        both = starts.keys() & found.get(1, {}).keys() if number > 1 else ()
        less = [found[1][start]["all"] - starts[start]["all"] for start in both]
        cells.append(_spread(less) if less else "")
        lines.append(f"| {number} | {len(starts)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _records(out: Path) -> dict[tuple[int, int], Path]:
    """By number of the tree and of the start."""
    named = ((re.fullmatch(r"(\d+)-(\d+)", path.stem), path) for path in out.glob("*.jsonl"))
    return {(int(name[1]), int(name[2])): path for name, path in named if name}


def _whole(record: Path) -> list[dict]:
    found = events(record)
    if not _has_started(found):
        raise ConfigError(
            f"--out: {record} ends before its first steps; move it away, or name another folder"
        )
    return found


def _seconds(events: list[dict]) -> dict[str, float]:
    found = {e["name"]: e["seconds"] for e in events if e["event"] == "phase" and e["name"] in PHASES}
    return {**dict.fromkeys(PHASES, 0.0), **found, "all": sum(found.values())}


def _spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def _has_started(events: list[dict]) -> bool:
    """Steps, or an evaluation, come behind the last phase of a start."""
    return any(event["event"] in ("steps", "evaluation") for event in events)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "trees",
        type=Path,
        nargs="*",
        default=[Path()],
        metavar="TREE",
        help="roots of checkouts (default: this one)",
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="only print the results in OUT")
    parser.add_argument("--config", type=Path, help="default configs/train/two-task-GPUSgpu-recipe.yaml")
    parser.add_argument("--gpus", type=int, choices=(1, 2, 4), default=1)
    parser.add_argument("--starts", type=int, default=5, help="counted starts in each tree (default 5)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for the trainer")
    options = parser.parse_args()
    options.config = options.config or Path(f"configs/train/two-task-{options.gpus}gpu-recipe.yaml")
    if options.starts < 1:
        parser.error(f"--starts: got {options.starts}, expected 1 or more")
    if options.show and not any(start > 0 for _, start in _records(options.out)):
        parser.error(
            f"--show: {options.out} has no counted start; name the --out of an earlier call. "
            "To unpack recorded ones, run npm run records first"
        )
    return options


if __name__ == "__main__":
    raise SystemExit(main())
