"""Several files of one case in a folder: read as one, mapped or compressed, and refused where they differ."""

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
from test_chunked import rewrite
from tiny import ensure_files
from tiny_tasks import task_config

from trainer.config import Config
from trainer.data.files.sources import open_files
from trainer.data.layouts.incompressible import write_incompressible
from trainer.data.splits import open_data
from trainer.errors import ConfigError

TASK, COUNTS = "navier_stokes2d", (2, 1, 3)
FRAMES, GRID = 5, (16, 16)


def write_part(path: Path, count: int, seed: int, step: float = 0.1) -> dict[str, np.ndarray]:
    random, moving = np.random.default_rng(seed), (count, FRAMES, *GRID)
    shapes = {"particles": (*moving, 1), "velocity": (*moving, 2), "force": (count, *GRID, 2)}
    parts = {key: random.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}
    write_incompressible(path, **parts, t=step * np.arange(FRAMES), content_hash="")
    return parts


def in_folder(folder: Path, **storage: object) -> tuple[Config, dict[str, np.ndarray]]:
    """A config of several files in its data.root, and all of what they hold."""
    own = folder / "own"
    own.mkdir()
    held = []
    for number, count in enumerate(COUNTS):
        held.append(write_part(folder / "part.h5", count, number))
        rewrite(folder / "part.h5", own / f"ns_incom_inhom_2d_512-{number}.h5", **storage)
    whole = {key: np.concatenate([part[key] for part in held]) for key in held[0]}
    return task_config(folder, TASK, f"data.root={own}", f"data.{TASK}.trajectories={sum(COUNTS)}"), whole


STORAGES = [{}, {"chunks": True, "compression": "gzip"}]


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("storage", STORAGES, ids=["plain", "compressed"])
def test_files_of_one_case_are_read_as_one(tmp_path, storage, every):
    config, whole = in_folder(tmp_path, **storage)
    (file,) = open_files(config.data)[TASK]
    assert (file.trajectories, file.frame_seconds) == (sum(COUNTS), pytest.approx(0.1))
    rows, frames = np.array([5, 0, 2, 3, 2]), np.array([4, 0, 1, 2, 3])
    moving = np.concatenate([whole["particles"], whole["velocity"]], axis=-1)
    expected = np.moveaxis(moving[rows, frames], -1, 1)[..., ::every, ::every]
    np.testing.assert_array_equal(file.states().take(rows, frames, every), expected)
    found = np.empty((3, FRAMES, 3, 16 // every, 16 // every), dtype=np.float32)
    file.states().read_into(found, slice(1, 4), every)
    np.testing.assert_array_equal(found, np.moveaxis(moving[1:4], -1, 2)[..., ::every, ::every])
    force = file.read_statics(file.path, np.array([0, 2, 5]), every)
    np.testing.assert_array_equal(force, np.moveaxis(whole["force"][[0, 2, 5]], -1, 1)[..., ::every, ::every])


def test_they_train_on_the_same_pairs_however_they_are_stored(tmp_path):
    found = []
    for name, storage in zip(("plain", "compressed"), STORAGES, strict=True):
        (tmp_path / name).mkdir()
        config, _ = in_folder(tmp_path / name, **storage)
        train = open_data(config).train.tasks[0]
        found.append(train.read(np.arange(len(train.table))))
        again = pickle.loads(pickle.dumps(train)).read(np.arange(len(train.table)))
        for one, other in zip(found[-1], again, strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_change_in_any_of_them_changes_the_hash(tmp_path):
    config, _ = in_folder(tmp_path)
    before = open_data(config).content_hash
    with h5py.File(tmp_path / "own/ns_incom_inhom_2d_512-2.h5", "r+") as file:
        file["force"][0, 0, 0, 0] += 1
    assert open_data(config).content_hash != before


def test_more_trajectories_than_all_have_are_refused(tmp_path):
    config, _ = in_folder(tmp_path)
    more = task_config(tmp_path, TASK, f"data.root={config.data.root}", f"data.{TASK}.trajectories=7")
    with pytest.raises(
        ConfigError, match=r"has 6 trajectories, but data.navier_stokes2d.trajectories asks for 7"
    ):
        open_files(more.data)


def test_files_of_another_interval_are_refused(tmp_path):
    config, _ = in_folder(tmp_path)
    write_part(tmp_path / "own/other.h5", 1, 9, step=0.2)
    with pytest.raises(ConfigError, match=r"other.h5: .*0.2 seconds between frames, but 0.1"):
        open_files(config.data)


def put(key: str, value: np.ndarray):
    def change(file: h5py.File) -> None:
        del file[key]
        file[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (put("force", np.zeros((2, 8, 16, 2), np.float32)), r"force: got shape \(2, 8, 16, 2\), expected"),
        (
            put("particles", np.zeros((2, 4, 16, 16, 1), np.float32)),
            r"particles: got shape .*, since velocity is",
        ),
        (put("t", np.arange(5.0)), r"t: got \(5,\), expected \(2, 5\)"),
        (put("t", np.array([[0, 1, 2, 3, 4], [0, 2, 4, 6, 8.0]])), r"t: got 1 to 2 seconds between frames"),
        (put("t", np.array([[0, 1, 2, 3, 9.0]] * 2)), r"t: got 1 to 6 seconds between frames"),
        (lambda file: file.__delitem__("velocity"), "no dataset velocity"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path, change, named):
    path = tmp_path / "data/wrong.h5"
    path.parent.mkdir()
    write_part(path, 2, 0)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ConfigError, match=rf"wrong\.h5: {named}"):
        ensure_files(task_config(tmp_path, TASK).data)
