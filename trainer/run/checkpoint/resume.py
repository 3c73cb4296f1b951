"""What an interrupted run left behind, and whether a run may continue it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import torch

from trainer.build import build_model
from trainer.config import Config, to_plain
from trainer.data.splits import Data
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError
from trainer.optimizer.hybrid import state_names
from trainer.process.folders import make_folder
from trainer.process.terminal import say
from trainer.process.world import World
from trainer.run.checkpoint.files import BEST, LAST, is_of_data, read_checkpoint
from trainer.run.record.metrics_file import has_ended, lines_after_run_start
from trainer.switches.process.trace import TRACES

EARLIER = "earlier"  # a folder in that of a run, of those before it
# Outside `speed`; the data files are compared separately.
CHANGE_NOTHING = (
    *("data.root", *(f"data.{task}.files" for task in TASKS)),
    *("train.timeout_seconds", "train.checkpoint_every_updates"),
)


@dataclass(frozen=True)
class Earlier:
    """The part of a run before this process; nothing for a fresh run."""

    step: int = 0
    seconds: float = 0.0
    best_val_loss: float = math.inf
    metrics: bytes = b""  # lines after run_start
    resumed_at_steps: tuple[int, ...] = ()
    state: dict | None = None  # the whole checkpoint
    ended: bool = False  # its record is complete


def earlier_part(out: Path, config: Config, seed: int) -> Earlier:
    """Return what `out` holds of this run; raise ConfigError if it is another run's."""
    path = out / LAST
    if not path.is_file():
        aside = max((out / EARLIER).glob(f"*/{LAST}"), default=None)  # the newest, by its name
        move = f"move the files of {aside.parent} back, or " if aside else ""
        raise ConfigError(f"--resume: {path} does not exist; {move}start without --resume")
    state = read_checkpoint(path)
    if state["seed"] != seed:
        raise ConfigError(
            f"--resume: got seed {seed}, expected {state['seed']}, the seed of {path}. "
            "Use that seed, or start without --resume"
        )
    for key, saved, given in differences(state["config"], to_plain(config)):
        raise ConfigError(
            f"--resume: {key}: got {given}, but {path} was trained with {saved}. "
            f"Only keys under speed, {', '.join(CHANGE_NOTHING)} may differ"
        )
    with torch.device("meta"):
        names = state_names(build_model(config), config.optimizer)
    for name in sorted(names ^ state["optimizer"].keys(), key=str):
        raise ConfigError(
            f"--resume: {path}: only one of the saved and this version has an optimizer state of {name}. "
            "Continue with the trainer version that wrote it, or start without --resume"
        )
    written = out / "metrics.jsonl"
    metrics = lines_after_run_start(written, state["metrics_bytes"]) if written.is_file() else b""
    if len(metrics) < state["metrics_bytes"]:
        raise ConfigError(
            f"--resume: {written} is missing, or shorter than when {path} was written. Start without --resume"
        )
    return Earlier(
        state["step"],
        state["seconds"],
        state["best_val_loss"],
        metrics,
        (*state["resumed_at_steps"], state["step"]),
        state,
        written.is_file() and has_ended(written),
    )


def require_same_data(earlier: Earlier, data: Data, root: str, out: Path, world: World) -> None:
    """Raise ConfigError on every rank if one of them reads other data than the run had before."""
    if earlier.state is None:
        return
    found = "same" if is_of_data(earlier.state, data) else "other"
    if "other" in world.gather_text(found):
        raise ConfigError(
            f"--resume: {out / LAST} was trained on other data than data.root {root} holds. "
            "Restore the original files, or start without --resume"
        )


def set_aside(out: Path) -> None:
    """Move what an earlier run left in the folder of a fresh one to earlier/<time>/ in it."""
    left = [path for name in ("metrics.jsonl", LAST, BEST) if (path := out / name).exists()]
    left += out.glob(TRACES)
    if not left:
        return
    folder = out / EARLIER / f"{datetime.now(timezone.utc):%Y-%m-%dT%H-%M-%S.%fZ}"
    make_folder(folder, "--out")
    for path in left:
        path.rename(folder / path.name)
    say(f"{out}: files of the previous run were moved to {folder}")


def differences(
    saved: Mapping[str, object], given: Mapping[str, object], section: str = ""
) -> Iterator[tuple[str, object, object]]:
    """Yield key and both values wherever two configs differ in what they train."""
    for name in sorted({*saved, *given} - ({"speed"} if not section else set())):
        key, one, other = f"{section}{name}", saved.get(name), given.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from differences(one, other, f"{key}.")
        elif one != other and key not in CHANGE_NOTHING:
            yield key, one, other
