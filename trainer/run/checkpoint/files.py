"""The state of a run on disk, whole or absent: the last one, and the one with the lowest val_loss."""

from __future__ import annotations

import os
import shutil
import threading
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainer.config.load import config_from
from trainer.contracts.sections import ModelConfig
from trainer.data.splits import Data
from trainer.errors import CannotWrite, ConfigError, refusal_of_system
from trainer.model.latent_operator import LatentPdeOperator
from trainer.model.token_grid import Grids
from trainer.optimizer.ema import MISSING
from trainer.process.exit import SAVING
from trainer.process.folders import BEST, LAST

LARGEST_ROUNDING = 1e-5  # of units, relative: another processor sums in another order
EXPECTED = {
    "model",
    "ema",
    "optimizer",
    "config",
    "step",
    "seed",
    "normalisation",
    "data_hash",
    "metrics_bytes",
    "scaled_step",
    "seconds",
    "best_val_loss",
    "resumed_at_steps",
}


def read_checkpoint(path: Path) -> dict:
    """Return the whole state; ConfigError if the file holds none of ours, or one of another version."""
    try:
        with zipfile.ZipFile(path) as parts:  # torch does not look at its sums
            if damaged := parts.testzip():
                raise zipfile.BadZipFile(f"{damaged} does not match its checksum")
        state = torch.load(path, map_location="cpu", weights_only=True)
    except PermissionError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    except Exception as error:  # whatever the bytes make of the unpickler
        reason = (str(error).splitlines() or [""])[0].split(". ")[0]  # torch goes on with advice to trust it
        raise ConfigError(
            f"{path}: cannot be read as a checkpoint ({type(error).__name__}: {reason}). "
            "Name a checkpoint that this trainer wrote"
        ) from error
    if not isinstance(state, dict) or not state.keys() >= EXPECTED or not _holds_weights(state):
        raise ConfigError(f"{path}: is not a checkpoint of this trainer; name one that it wrote")
    config = config_from(state["config"], str(path))
    step, last = state["step"], config.cut.steps
    if not isinstance(step, int) or not 0 <= step <= last:
        raise ConfigError(
            f"{path}: got step {step!r}, expected a whole number from 0 to {last}. "
            "Name a checkpoint that this trainer wrote"
        )
    for name in _unlike_our_models(config.model, config.grids, state):
        raise ConfigError(
            f"{path}: {name} does not match the model of this version in shape or format, or exists in only "
            "one of them. Use the trainer version that wrote it, or train again"
        )
    return state


def is_of_data(state: Mapping, data: Data) -> bool:
    """Whether the checkpoint is of these fields, trained on and held out."""
    saved, found = state["normalisation"], data.train.normalisation
    return state["data_hash"] == data.content_hash and all(
        np.allclose(saved[task][name], values, rtol=LARGEST_ROUNDING, atol=1e-9)
        for task, units in found.items()
        for name, values in units.items()
    )


def _holds_weights(state: dict) -> bool:
    parts = (state["model"], state["ema"])
    return isinstance(state["optimizer"], dict) and all(
        isinstance(part, dict) and all(map(torch.is_tensor, part.values())) for part in parts
    )


def _unlike_our_models(model: ModelConfig, grids: Grids, state: dict) -> list[str]:
    """Weights and averages that the model of the checkpoint's own config has otherwise, by name."""
    with torch.device("meta"):
        ours = LatentPdeOperator(model, grids).state_dict()
        averages = {**ours, MISSING: torch.ones((), dtype=torch.float64)}
    unlike = (_forms(ours) ^ _forms(state["model"])) | (_forms(averages) ^ _forms(state["ema"]))
    return sorted({name for name, *_ in unlike})


def _forms(weights: dict[str, Tensor]) -> set[tuple[str, torch.Size, torch.dtype]]:
    return {(name, weight.shape, weight.dtype) for name, weight in weights.items()}


class CheckpointWriter:
    """Writes on rank 0; asynchronous, it writes a copy in a thread while the training goes on."""

    def __init__(self, out: Path | None, *, asynchronous: bool) -> None:
        self.out, self.asynchronous = out, asynchronous
        self.by_thread = 0  # checkpoints
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def effective(self) -> dict[str, str]:
        return {"checkpoints": "asynchronous" if self.asynchronous else "synchronous"}

    def write(self, state: dict[str, object], *, best: bool) -> None:
        """Save as the last, and as the best one too; an earlier write is waited for."""
        self.close()
        if self.out is None:
            return
        if not self.asynchronous:
            with SAVING:
                _save(state, self.out, best=best)
            return
        copied = _copied(state)  # the next step changes the tensors in place
        begun = threading.Event()
        thread = threading.Thread(target=self._save_in_thread, args=(copied, self.out, best, begun))
        thread.start()
        self._thread = thread
        begun.wait()  # who ends the process from here on waits for it
        self.by_thread += 1

    def close(self) -> None:
        """Wait for the write under way; raise what ended it."""
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._error:
            raise self._error

    def _save_in_thread(
        self, state: dict[str, object], out: Path, best: bool, begun: threading.Event
    ) -> None:
        with SAVING:
            begun.set()
            try:
                _save(state, out, best=best)
            except Exception as error:  # an error in a thread is lost otherwise
                self._error = error


def _save(state: dict[str, object], out: Path, *, best: bool) -> None:
    """Write whole or not at all; CannotWrite where the system refuses."""
    partial, second = out / "checkpoint.partial", out / "checkpoint-best.partial"
    try:
        _write_and_rename(state, out, partial, second if best else None)
    except Exception as error:
        for part in (partial, second):
            with suppress(OSError):
                part.unlink()  # it may be what fills the disk
        if refusal := refusal_of_system(error):
            raise CannotWrite(LAST, out, refusal, resumable=(out / LAST).is_file()) from error
        raise


def _write_and_rename(state: dict[str, object], out: Path, partial: Path, second: Path | None) -> None:
    """Beside the path first, so that a reader never sees half a file; `second` if it is the best as well."""
    # One that a killed save left may be the best checkpoint by another name: not to be written over.
    partial.unlink(missing_ok=True)
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    if second:
        _link_or_copy(partial, second)
        second.replace(out / BEST)
    partial.replace(out / LAST)


def _link_or_copy(source: Path, to: Path) -> None:
    """A copy where the file system has no hard links."""
    to.unlink(missing_ok=True)
    try:
        to.hardlink_to(source)
    except OSError:
        with source.open("rb") as written, to.open("wb") as copy:
            shutil.copyfileobj(written, copy)
            copy.flush()
            os.fsync(copy.fileno())


def _copied(value: object) -> object:
    """The same nest of dicts with every tensor copied to host memory."""
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    return {key: _copied(entry) for key, entry in value.items()} if isinstance(value, dict) else value
