"""Compressed files that are larger than what a process may hold: the same values, in bounded memory."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from test_chunked import CPU, assert_same, rewrite, updates
from tiny import ensure_files, tiny_config, train_losses
from tiny_tasks import SETTINGS, task_config

from trainer.config import Config, load_config
from trainer.config.load import config_hash, to_plain
from trainer.data.batches.feed import Share, open_feed
from trainer.data.files import measurements, normalisation
from trainer.data.layouts import pieces
from trainer.data.layouts.detect import open_field_file
from trainer.data.layouts.pieces import Pieces
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.run.training import Progress, run_training

SHAPES = sorted(
    {"cfd1d", "cfd2d_rand", "navier_stokes2d", "reaction_diffusion2d", "burgers1d"} & set(SETTINGS)
)


def compressed(folder: Path, config: Config) -> Path:
    own = folder / "own"
    own.mkdir()
    for number, path in enumerate(ensure_files(config.data)):
        rewrite(path, own / f"{number}_Rand_.h5", chunks=True, compression="gzip")
    return own


@pytest.mark.parametrize("task", [*SHAPES, "darcy2d"])
@pytest.mark.parametrize("states", [1, 3, 40])
def test_no_more_is_held_than_allowed_and_the_values_are_the_same(tmp_path, task, states):
    """With room for two pieces of so many states, in any order of rows and frames."""
    config = (
        tiny_config(tmp_path, "data.tasks=[darcy2d]") if task == "darcy2d" else task_config(tmp_path, task)
    )
    path = next(iter(sorted(compressed(tmp_path, config).iterdir())))
    file, random = open_field_file(path), np.random.default_rng(0)
    state_bytes = 4 * len(file.fields) * int(np.prod(file.grid))
    bound = 2 * states * state_bytes
    whole, bounded = file.states(keeps=True), file.states(keeps=True, most_bytes=bound)
    assert isinstance(bounded, Pieces)
    for _ in range(5):
        rows, frames = random.integers(file.trajectories, size=9), random.integers(file.frames, size=9)
        np.testing.assert_array_equal(bounded.take(rows, frames, 1), whole.take(rows, frames, 1))
        assert sum(piece.nbytes for piece in bounded.held.values()) <= bound
    found, expected = (np.empty((2, file.frames, len(file.fields), *file.grid), np.float32) for _ in range(2))
    bounded.read_into(found, slice(1, 3), 1)
    whole.read_into(expected, slice(1, 3), 1)
    np.testing.assert_array_equal(found, expected)
    assert sum(piece.nbytes for piece in bounded.held.values()) <= bound


def test_a_file_of_large_trajectories_is_measured_in_stretches_of_frames(tmp_path, monkeypatch):
    config = task_config(tmp_path, "navier_stokes2d")
    own = task_config(tmp_path, "navier_stokes2d", f"data.root={compressed(tmp_path, config)}")
    whole = open_data(own).train.normalisation["navier_stokes2d"]
    for kept in (tmp_path / "own" / measurements.FOLDER).iterdir():
        kept.unlink()
    two_states = 2 * 4 * 3 * 16 * 16
    monkeypatch.setattr(normalisation, "LARGEST_READ", two_states)
    monkeypatch.setattr(pieces, "LARGEST_PIECE", two_states)
    monkeypatch.setattr(pieces, "PIECE_BYTES", two_states)
    largest = []
    read = Pieces._read

    def seen(self: Pieces, *place: int) -> np.ndarray:
        largest.append(read(self, *place))
        return largest[-1]

    monkeypatch.setattr(Pieces, "_read", seen)
    again = open_data(own).train.normalisation["navier_stokes2d"]
    assert max(piece.nbytes for piece in largest) == two_states
    for key, values in whole.items():
        np.testing.assert_allclose(again[key], values, rtol=1e-5)


@pytest.mark.parametrize("frame", [0, 3])
def test_a_frame_that_was_never_written_is_found_in_any_stretch(tmp_path, monkeypatch, frame):
    config = task_config(tmp_path, "burgers1d")
    path = ensure_files(config.data)[0]
    monkeypatch.setattr(normalisation, "LARGEST_READ", 2 * 4 * 16)
    with h5py.File(path, "r+") as file:
        file["tensor"][:, frame] = 0
    if frame == 0:  # no target
        open_data(config)
    else:
        with pytest.raises(ConfigError, match=r"tensor: frame 3 of trajectory \d is 0 everywhere"):
            open_data(config)


def test_what_was_used_last_is_kept(tmp_path):
    config = task_config(tmp_path, "burgers1d")
    file = open_field_file(next(iter(sorted(compressed(tmp_path, config).iterdir()))))
    row_bytes = 4 * file.frames * file.grid[0]
    reader = file.states(keeps=True, most_bytes=2 * row_bytes)
    for row in (0, 1, 0, 2):
        reader.take(np.array([row]), np.array([0]), 1)
    assert [number for number, _, _ in reader.held] == [0, 2]


@pytest.mark.parametrize("task", ["navier_stokes2d", "cfd1d"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_training_reads_the_same_batches(tmp_path, task, workers):
    own = compressed(tmp_path, task_config(tmp_path, task))
    found = []
    for bound in ("null", "1e-5"):
        config = task_config(
            tmp_path,
            task,
            f"data.root={own}",
            f"data.held_gigabytes={bound}",
            f"speed.loader_workers={workers}",
        )
        train = open_data(config).train
        feed = open_feed(train, Share(train.schedule(8, 0, "pad"), 0, 1, 1), 6, config.speed, CPU)
        found.append(updates(feed))
    assert_same(*found)


@pytest.mark.slow
def test_a_training_in_bounded_memory_is_the_same_training(tmp_path):
    own = compressed(tmp_path, task_config(tmp_path, "navier_stokes2d"))
    losses = []
    for bound in ("null", "1e-5"):
        out = tmp_path / bound
        out.mkdir()
        sets = [f"data.root={own}", f"data.held_gigabytes={bound}", "train.rest=pad"]
        run_training(task_config(tmp_path, "navier_stokes2d", *sets), out, 3, Progress())
        losses.append(train_losses(out))
    assert losses[0] == losses[1]


def test_a_config_without_a_bound_is_written_and_hashed_as_before_there_was_one(tmp_path):
    config, bounded = tiny_config(tmp_path), tiny_config(tmp_path, "data.held_gigabytes=2")
    assert "held_gigabytes" not in to_plain(config)["data"]
    assert to_plain(bounded)["data"]["held_gigabytes"] == 2
    assert config_hash(bounded) != config_hash(config)
    assert load_config(tmp_path / "tiny.yaml") == config
