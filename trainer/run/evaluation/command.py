"""The errors of finished trainings, from their checkpoints: each in one process, on one device."""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from io import RawIOBase
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.config.load import config_from
from trainer.config.schema import Config
from trainer.data.splits import Data, open_data
from trainer.errors import ConfigError
from trainer.optimizer.ema import averaged_weights
from trainer.process.folders import make_folder, refusal_told
from trainer.process.ranks import is_first_rank, rank_from_environment
from trainer.process.terminal import be_quiet, say, show_progress
from trainer.process.world import World, open_world
from trainer.run.checkpoint.files import LAST, is_of_data, read_checkpoint
from trainer.run.evaluation.one_step import Evaluator, beside_judged
from trainer.run.evaluation.rollouts import finite_part


class CheckpointErrors(NamedTuple):
    """Of the weights and of their average, by name; the training's metrics are those of the judged ones."""

    errors: dict[str, dict[str, float]]
    judged: str
    metrics: dict[str, float]


class OpenedCheckpoint(NamedTuple):
    """What it takes to evaluate one."""

    config: Config
    data: Data
    world: World
    weights: dict[str, dict[str, Tensor]]  # raw and ema


def evaluate_checkpoint(path: Path, root: str | None) -> CheckpointErrors:
    """Return the errors of a checkpoint; `root` replaces the folder of the data."""
    with opened_checkpoint(path, root) as opened:
        config = opened.config
        evaluator = Evaluator(config, opened.data.held_out, opened.world)
        errors = {name: _errors(evaluator, tensors) for name, tensors in opened.weights.items()}
    judged = config.judged_weights
    return CheckpointErrors(errors, judged, {**beside_judged(errors, judged), **errors[judged]})


@contextmanager
def opened_checkpoint(path: Path, root: str | None) -> Iterator[OpenedCheckpoint]:
    """Open it with the data that it was trained on; ConfigError where they are not there, or others are."""
    _require_checkpoint(path)
    if root is not None and not Path(root).is_dir():
        raise ConfigError(f"--data-root: {root} is not a folder; name the folder of the data")
    state = read_checkpoint(path)
    document = state["config"]
    if root is not None:
        document = {**document, "data": {**document["data"], "root": root}}
    config = config_from(document, str(path))
    if state["step"] < config.cut.steps and is_first_rank():
        say(f"{path}: was saved at step {state['step']} of {config.cut.steps}, before its training ended")
    with open_world(config.train.timeout_seconds) as world:
        data = open_data(config, generates=False)
        if not is_of_data(state, data):
            raise ConfigError(
                f"{path}: was trained on other data than data.root {config.data.root} holds. "
                "Restore the original files, or name their folder with --data-root"
            )
        weights = {"raw": state["model"], "ema": averaged_weights(state["ema"])}
        yield OpenedCheckpoint(config, data, world, weights)


def evaluate_runs(folders: Sequence[Path], out: Path, root: str | None) -> None:
    """Write a JSON line per run as soon as it is known: `run` (the folder, as given), val_loss and metrics.

    What the file held stays there until then.
    """
    if (processes := rank_from_environment()[1]) > 1:
        raise ConfigError(
            f"--run: evaluate was started as {processes} processes, expected one: all would write {out}. "
            "Start it without torchrun; it uses every visible GPU"
        )
    make_folder(out.parent, "--out")
    if out.is_dir():
        raise ConfigError(f"--out: {out} is a folder; name a file")
    if doubled := next((folder for folder in folders if folders.count(folder) > 1), None):
        raise ConfigError(f"--run: {doubled} is named twice, expected each folder only once")
    for folder in folders:
        _require_checkpoint(folder / LAST)
        if out.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(
                f"--out: {out} is inside {folder} and could replace its files; name a file elsewhere"
            )
    try:
        file = out.open("ab", buffering=0)  # what is refused is not tried again as it is closed
        foreign = out.is_file() and _first_byte(out) not in (b"", b"{")
    except OSError as error:
        raise ConfigError(f"--out: {out} cannot be written ({error.strerror}); name another file") from error
    with file:
        if foreign:
            raise ConfigError(f"--out: {out} is not a file of evaluations; name another file")
        for place, line in enumerate(_lines(folders, root)):
            with refusal_told(out):
                if place == 0 and out.is_file():  # and no pipe
                    file.truncate(0)
                _write_whole(file, f"{line}\n".encode())


def _first_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(1)


def _write_whole(file: RawIOBase, text: bytes) -> None:
    """The system may take a part alone, as what a disk still has room for; it refuses the next."""
    while text:
        text = text[file.write(text) :]


def _lines(folders: Sequence[Path], root: str | None) -> Iterator[str]:
    """Yield the line of each run as soon as it is known; report a failed run at once, raise it at the end."""
    failed: Exception | None = None
    show_progress("run evaluated", 0, len(folders))
    for done, (folder, attempt) in enumerate(_attempts(folders, root), 1):
        try:
            line = _line(folder, attempt())
        except Exception as error:
            say(f"{folder}: not evaluated: {error}")
            traceback.clear_frames(error.__traceback__)  # they hold a model, whose memory the next needs
            failed = failed or error
        else:
            yield line
        show_progress("run evaluated", done, len(folders))
    if failed is not None:
        raise failed


def _line(folder: Path, found: CheckpointErrors) -> str:
    """Throws a ValueError for a number that is not finite."""
    metrics = dict(found.metrics)
    line = {"run": str(folder), "val_loss": metrics.pop("val_loss"), "metrics": metrics}
    return json.dumps(line, allow_nan=False)


def _attempts(
    folders: Sequence[Path], root: str | None
) -> Iterator[tuple[Path, Callable[[], CheckpointErrors]]]:
    """Each folder with what returns its errors, or raises why there are none; in the order of their ends.

    As many are evaluated side by side as there are GPUs.
    """
    at_once = min(len(folders), torch.cuda.device_count())
    if at_once < 2:
        for folder in folders:
            yield folder, partial(evaluate_checkpoint, folder / LAST, root)
        return
    context = get_context("spawn")  # a fork would take over a CUDA that it cannot use
    gpus = context.SimpleQueue()
    for gpu in range(at_once):
        gpus.put(gpu)
    lost: list[Path] = []
    with ProcessPoolExecutor(at_once, context, _take_gpu, (gpus,)) as pool:
        waiting = {pool.submit(evaluate_checkpoint, folder / LAST, root): folder for folder in folders}
        try:
            for done in as_completed(waiting):
                if isinstance(done.exception(), BrokenProcessPool):
                    lost.append(waiting[done])
                else:
                    yield waiting[done], done.result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    for folder in lost:  # a process that dies takes all that is not done with it: now each has its own
        gpus.put(0)
        with ProcessPoolExecutor(1, context, _take_gpu, (gpus,)) as pool:
            yield folder, pool.submit(evaluate_checkpoint, folder / LAST, root).result


def _take_gpu(gpus: SimpleQueue[int]) -> None:
    """Be a plain process on a GPU of its own, for as long as the one that started it."""
    be_quiet()
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK=str(gpus.get()))
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()


def _end_with(parent: BaseProcess | None) -> None:
    """Workers of a pool wait for more on a queue that they hold open themselves, also when it is gone."""
    if parent is not None:
        parent.join()
        os._exit(1)


def _require_checkpoint(path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder, expected a file; name the checkpoint.pt in it")
    if not path.is_file():
        raise ConfigError(f"{path}: does not exist; name the checkpoint.pt of a training run")


def _errors(evaluator: Evaluator, weights: dict[str, torch.Tensor]) -> dict[str, float]:
    errors = evaluator.errors(weights)
    rollouts = finite_part(evaluator.rollout_errors(weights))
    return {"val_loss": errors.val_loss, **errors.metrics(), **rollouts}


def as_text(found: CheckpointErrors, *, as_json: bool) -> str:
    """A table with one column for each kind of weights, or JSON on one line."""
    if as_json:
        return json.dumps(found.errors)
    names = list(found.errors[found.judged])
    width = max(map(len, names))
    kinds = [f"{kind}{' (judged)' if kind == found.judged else ''}" for kind in found.errors]
    lines = [f"{'':{width}}  " + "  ".join(f"{kind:>12}" for kind in kinds)]
    for name in names:
        values = "  ".join(f"{errors.get(name, float('nan')):12.4g}" for errors in found.errors.values())
        lines.append(f"{name:{width}}  {values}")
    return "\n".join(lines)
