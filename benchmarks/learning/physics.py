"""Trains a recipe at several seeds and prints what its trajectories do: mass gap, worst one, rollout NRMSE.

    python -m benchmarks.learning.physics --out out/physics --form shipped --seeds 912 913
    python -m benchmarks.learning.physics --out out/physics --show

A form is a config with settings, trained on one GPU. The whole batch of a form for several GPUs goes through
that one, so its steps have the same pairs. Each GPU runs --per-gpu trainings at once. Metrics stay in
OUT/FORM-SEED.jsonl; a second call trains only what is missing there. The time to quality is that of one GPU:
set-up, and steps until the held-out loss is at most --below, by linear interpolation.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, Queue

from benchmarks.harness.ending import end, end_by_exception
from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.metrics_file import events as events_of
from benchmarks.learning.recipes import reached
from trainer.process.folders import make_folder
from trainer.process.terminal import answer, say

ROOT = Path(__file__).parents[2]
TASK = "advection1d"  # which keeps its mean
# As the gates of recipes evaluate; on one GPU nothing is shared over ranks.
ALWAYS = ("evaluation.every_updates=20", "evaluation.rollout_trajectories=2", "data.held_out_fraction=0.01")
ON_ONE_GPU = ("speed.muon=batched",)
OF_512_PAIRS = (*ON_ONE_GPU, "recipe.batch_cut_into=6")
FOUR_GPU_RECIPE = "two-task-4gpu-recipe"
FORMS: dict[str, tuple[str, Sequence[str]]] = {
    "shipped": (FOUR_GPU_RECIPE, ON_ONE_GPU),
    # Those that were tried, 512 pairs a step where no name says otherwise.
    "512-pairs": (FOUR_GPU_RECIPE, OF_512_PAIRS),
    "inverse-every-pair": (FOUR_GPU_RECIPE, (*OF_512_PAIRS, "recipe.inverse_every_nth_pair=1")),
    "inverse-every-4th": (FOUR_GPU_RECIPE, (*OF_512_PAIRS, "recipe.inverse_every_nth_pair=4")),
    "256-pairs": (FOUR_GPU_RECIPE, (*ON_ONE_GPU, "recipe.batch_cut_into=12")),
    "128-pairs": (FOUR_GPU_RECIPE, (*ON_ONE_GPU, "recipe.batch_cut_into=24")),
    # What a limit is taken from.
    "baseline-1gpu": ("two-task-1gpu-baseline", ()),
}
COLUMNS = (
    ("mass gap", f"mass_gap/{TASK}", ".4f"),
    ("worst trajectory", f"mass_gap_max/{TASK}", ".4f"),
    ("rollout NRMSE", f"rollout_nrmse/{TASK}", ".3f"),
    ("one-step NRMSE", f"nrmse/{TASK}", ".4f"),
    ("NRMSE", "nrmse", ".4f"),
)


def main() -> int:
    options = _options()
    end_by_exception()
    with refused_in_words():
        failed: list[str] = []
        if not options.show:
            make_folder(options.out, "--out")
            failed = _train_all(options)
        answer(table(options.out, options.below))
        return 1 if failed else 0


def _train_all(options: argparse.Namespace) -> list[str]:
    """Train what is not there; return the names of trainings that failed."""
    waiting: Queue[tuple[str, int]] = Queue()
    for seed in options.seeds:
        for form in options.form:
            if not _has_ended(options.out / f"{form}-{seed}.jsonl"):
                waiting.put((form, seed))
    launches: list[subprocess.Popen] = []
    places = [gpu for gpu in options.gpus or [""] for _ in range(options.per_gpu)]
    with ThreadPoolExecutor(len(places)) as pool:
        try:
            shares = [pool.submit(_train_on, gpu, waiting, options, launches) for gpu in places]
            return [name for share in shares for name in share.result()]
        finally:
            # An error, or a signal that ends this call: nothing may train on.
            waiting.queue.clear()
            for launch in launches:
                end(launch)


def _train_on(
    gpu: str, waiting: Queue[tuple[str, int]], options: argparse.Namespace, launches: list[subprocess.Popen]
) -> list[str]:
    """Train what waits, one after another; return the names of trainings that failed."""
    failed = []
    while True:
        try:
            form, seed = waiting.get_nowait()
        except Empty:
            return failed
        name = f"{form}-{seed}"
        say(f"{name}: trains on GPU {gpu}" if gpu else f"{name}: trains")
        if not _train(form, seed, gpu, options, launches):
            failed.append(name)
            say(f"{name}: failed, see {options.out / name}.log")


def _train(
    form: str, seed: int, gpu: str, options: argparse.Namespace, launches: list[subprocess.Popen]
) -> bool:
    config, settings = FORMS[form]
    name, run = f"{form}-{seed}", options.out / "runs" / f"{form}-{seed}"
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable, "-m", "trainer", "train"]
    command += ["--config", str(ROOT / "configs/train" / f"{config}.yaml")]
    command += ["--out", str(run.resolve()), "--seed", str(seed)]
    for setting in (*ALWAYS, *settings, *options.set):
        command += ["--set", setting]
    environment = {**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
    with (options.out / f"{name}.log").open("w") as log:
        launch = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=environment)
        launches.append(launch)
        launch.wait()
    if not _has_ended(run / "metrics.jsonl"):
        return False
    partial = shutil.copy(run / "metrics.jsonl", options.out / f"{name}.partial")
    partial.rename(options.out / f"{name}.jsonl")
    shutil.rmtree(run)  # its checkpoint is large
    answer(_row(name, events_of(options.out / f"{name}.jsonl"), options.below))
    return True


def table(out: Path, below: float) -> str:
    """Return a row for each training that ended, forms in their order."""
    head = ["form", "seed", *(title for title, _, _ in COLUMNS), "held-out loss", f"time to {below:g}"]
    rows = [_row(path.stem, events_of(path), below) for path in _recorded(out)]
    return "\n".join([f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *rows])


def _recorded(out: Path) -> Iterator[Path]:
    for form in FORMS:
        of_form = [path for path in out.glob("*.jsonl") if re.fullmatch(rf"{form}-\d+", path.stem)]
        yield from sorted(of_form, key=lambda path: int(path.stem.rsplit("-", 1)[1]))


def _row(name: str, events: list[dict], below: float) -> str:
    form, seed = name.rsplit("-", 1)
    last = [event for event in events if event["event"] == "evaluation"][-1]
    found = reached(events, below)
    seconds = found.training_seconds
    when = "not reached" if seconds is None else f"{seconds + found.set_up_seconds:.1f} s"
    cells = [format(last["metrics"].get(metric, float("nan")), style) for _, metric, style in COLUMNS]
    return f"| {' | '.join([form, seed, *cells, format(last['val_loss'], '.3g'), when])} |"


def _has_ended(path: Path) -> bool:
    return any(event["event"] == "run_end" for event in events_of(path))


def _visible_gpus() -> list[str]:
    """Indices by nvidia-smi, or what CUDA_VISIBLE_DEVICES says; none on a CPU."""
    if (chosen := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [gpu for gpu in chosen.split(",") if gpu]
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--form", nargs="+", choices=FORMS, default=["shipped"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[912, 913])
    parser.add_argument("--below", type=float, default=0.00114, help="held-out loss that counts as quality")
    parser.add_argument("--per-gpu", type=int, default=1, help="trainings at once on a GPU")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], help="further settings of every form"
    )
    parser.add_argument("--show", action="store_true", help="train nothing, print what OUT has")
    options = parser.parse_args()
    options.gpus = _visible_gpus()
    return options


if __name__ == "__main__":
    sys.exit(main())
