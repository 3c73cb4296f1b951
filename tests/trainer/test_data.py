"""The exact solver, the files on disk, and the splits made of them."""

import dataclasses
import errno
import fcntl
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from facts import states
from tiny import ROOT, ensure_files, tiny_config, tiny_file

from trainer.cli import main
from trainer.config import Config
from trainer.data.files.normalisation import TOO_LARGE
from trainer.data.files.pairs import PairTable, split_trajectories
from trainer.data.files.sources import open_files
from trainer.data.layouts.detect import open_field_file
from trainer.data.layouts.field_file import FieldFile
from trainer.data.layouts.scalar_1d import write_scalar_1d
from trainer.data.splits import open_data
from trainer.data.tasks import TASKS
from trainer.data.tasks.advection1d import Waves, cell_centres, draw_waves, frame_times, solve
from trainer.errors import CannotWrite, ConfigError
from trainer.run.training import Progress, run_training


def test_the_solution_is_the_initial_condition_moved_by_beta_t():
    x, t = np.linspace(0, 1, 64, endpoint=False), np.array([0.0, 0.25, 2.0])
    waves = Waves(np.array([[0.7, 0.2]]), np.array([[1, 3]]), np.array([[0.3, 1.1]]))
    moved = x - 0.4 * t[:, None]
    expected = 0.7 * np.sin(2 * np.pi * moved + 0.3) + 0.2 * np.sin(6 * np.pi * moved + 1.1)
    np.testing.assert_allclose(solve(waves, 0.4, x, t)[0], expected, atol=1e-14)


def test_a_shift_by_whole_cells_is_a_roll(tmp_path):
    task = tiny_config(tmp_path).data.advection1d
    x = cell_centres(task)
    field = solve(draw_waves(task, seed=3, case=0), 0.5, x, np.array([0.0, 4 / task.grid_points / 0.5]))
    np.testing.assert_allclose(np.roll(field[:, 0], 4, axis=-1), field[:, 1], atol=1e-13)


def test_waves_are_drawn_from_the_whole_range_of_each_number(tmp_path):
    task = dataclasses.replace(tiny_config(tmp_path).data.advection1d, trajectories=1000)
    waves = draw_waves(task, seed=0, case=0)
    assert set(np.unique(waves.number)) == {1, 2, 3}
    for drawn, largest in ((waves.amplitude, 1), (waves.phase, 2 * np.pi)):
        assert 0 <= drawn.min() < 0.01 * largest
        assert 0.99 * largest < drawn.max() <= largest


def test_each_generated_file_moves_at_its_own_speed(tmp_path):
    slow, fast = ensure_files(tiny_config(tmp_path).data)  # 0.5 and 1 in all
    for path, cells in ((slow, 16), (fast, 32)):
        with h5py.File(path) as file:
            first, last = file["tensor"][:, 0], file["tensor"][:, -1]
        np.testing.assert_allclose(last, np.roll(first, cells, axis=1), atol=1e-5)
        assert not np.allclose(last, np.roll(first, 48 - cells, axis=1), atol=0.1)


def every_state(file: FieldFile) -> np.ndarray:
    """All states (trajectories, frames, fields, *grid)."""
    rows, frames = np.divmod(np.arange(file.trajectories * file.frames), file.frames)
    states = file.states().take(rows, frames, 1)
    return states.reshape(file.trajectories, file.frames, *states.shape[1:])


def test_generated_files_have_pdebenchs_layout(tmp_path):
    config = tiny_config(tmp_path)
    for path, beta in zip(ensure_files(config.data), config.data.advection1d.betas, strict=True):
        with h5py.File(path) as file:
            assert file["tensor"].shape == (8, 6, 32)
            assert file["tensor"].dtype == np.float32
            assert file["x-coordinate"].shape == (32,)
            assert file["t-coordinate"].shape == (7,)
            np.testing.assert_allclose(np.diff(file["t-coordinate"]), 0.2, rtol=1e-5)
            assert file.attrs["beta"] == beta


def test_a_file_reads_back_what_was_written(tmp_path):
    task = tiny_config(tmp_path).data.advection1d
    x, t = cell_centres(task), frame_times(task)
    tensor = solve(draw_waves(task, 0, 0), 0.5, x, t).astype(np.float32)
    write_scalar_1d(tmp_path / "any-name.h5", tensor, x, t, {"beta": 0.5}, "hash")
    file = open_field_file(tmp_path / "any-name.h5")
    np.testing.assert_array_equal(every_state(file)[:, :, 0], tensor)
    assert (file.parameters["beta"], file.frame_seconds) == (0.5, pytest.approx(0.2))


def test_the_time_between_frames_is_that_of_any_two_wherever_they_begin(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["tensor"] = np.zeros((2, 3, 4), dtype=np.float32)
        file["x-coordinate"], file["t-coordinate"] = np.arange(4.0), np.array([5.0, 5.5, 6.0])
    assert open_field_file(tmp_path / "a.h5").frame_seconds == pytest.approx(0.5)


def test_a_compressed_file_reads_the_same(tmp_path):
    tensor = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("tensor", data=tensor, compression="gzip")
        file["x-coordinate"], file["t-coordinate"], file.attrs["beta"] = np.arange(4.0), np.arange(4.0), 1.0
    np.testing.assert_array_equal(every_state(open_field_file(tmp_path / "a.h5"))[:, :, 0], tensor)


def broken(path: Path, how: str) -> None:
    with h5py.File(path, "r+") as file:
        if how == "tensor":
            del file["tensor"]
        elif how == "beta":
            del file.attrs["beta"]
        elif how == "t-coordinate":
            del file["t-coordinate"]
            file["t-coordinate"] = np.arange(3.0)
        elif how == "float32":
            del file["tensor"]
            file["tensor"] = np.zeros((8, 6, 32))
    if how == "HDF5":
        path.write_bytes(path.read_bytes()[:3000])


@pytest.mark.parametrize("how", ["tensor", "beta", "t-coordinate", "float32", "HDF5"])
def test_a_wrong_or_truncated_file_is_named_with_its_key(tmp_path, how):
    config = tiny_config(tmp_path).data
    path = ensure_files(config)[0]
    broken(path, how)
    with pytest.raises(ConfigError) as caught:
        open_files(config)
    assert str(path) in str(caught.value)
    assert how in str(caught.value)


def test_files_in_the_root_itself_are_used_as_they_are(tmp_path):
    config = tiny_config(tmp_path).data
    generated = ensure_files(config)
    own = tmp_path / "own"
    own.mkdir()
    for path in generated:
        (own / f"renamed-{path.stem}.h5").write_bytes(path.read_bytes())
    moved = tiny_config(tmp_path, f"data.root={own}")
    betas = [file.parameters["beta"] for file in open_files(moved.data)["advection1d"]]
    assert betas == [0.5, 1.0]
    assert not list(own.glob("advection1d-*"))
    assert open_data(moved).content_hash == open_data(tiny_config(tmp_path)).content_hash


def test_files_further_down_are_told_of_where_others_are_made_or_were_before(tmp_path, capsys):
    config = tiny_config(tmp_path).data
    ensure_files(config)
    assert "are not read" not in capsys.readouterr().err
    ensure_files(dataclasses.replace(config, seed=9))  # beside what was made before
    assert "are not read" not in capsys.readouterr().err
    deeper = Path(config.root, "1D/Advection/Train/a.hdf5")
    deeper.parent.mkdir(parents=True)
    deeper.touch()
    for seed in (10, 10, 9):
        ensure_files(dataclasses.replace(config, seed=seed))
        told = capsys.readouterr().err
        assert states(told, f"{config.root}: .. are not read .. {deeper}; move")
        assert told.count("are not read") == 1


@pytest.mark.slow
def test_files_further_down_are_told_of_once_by_a_training_that_makes_its_data(tmp_path, capsys):
    deeper = tmp_path / "data/1D/a.hdf5"
    config = tiny_config(tmp_path)
    deeper.parent.mkdir(parents=True)
    deeper.touch()
    run_training(config, tmp_path / "out", 0, Progress())
    assert capsys.readouterr().err.count("are not read") == 1


def test_a_folder_of_the_users_own_is_told_of_whatever_its_name(tmp_path, capsys):
    config = tiny_config(tmp_path).data
    for name in ("advection1d-pdebench", "darcy2d-0123456789ab-old"):
        own = Path(config.root, name, "a.h5")
        own.parent.mkdir(parents=True)
        own.touch()
        ensure_files(config)
        assert states(capsys.readouterr().err, f"are not read .. {own}")
        own.unlink()


@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_the_hash_is_of_what_a_file_holds_and_not_of_what_it_says_of_itself(tmp_path, task):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path, before = ensure_files(config.data)[0], open_data(config)
    with h5py.File(path, "r+") as file:
        file["tensor"][before.held_out.tasks[0].table.row[0], 0] += 1
    changed = open_data(config)
    assert changed.train.normalisation == before.train.normalisation
    assert changed.content_hash != before.content_hash
    shutil.rmtree(config.data.root)
    assert open_data(config).content_hash == before.content_hash


def test_a_beta_without_a_file_is_refused(tmp_path):
    config = tiny_config(tmp_path).data
    own = tmp_path / "own"
    own.mkdir()
    (own / "a.h5").write_bytes(ensure_files(config)[0].read_bytes())
    with pytest.raises(ConfigError, match=r"data.advection1d: asks for beta 1.0, but no file"):
        open_files(dataclasses.replace(config, root=str(own)))


def own_files(config, own: Path) -> list[Path]:
    """Copy the generated files to where a user's own lie."""
    own.mkdir()
    return [Path(shutil.copy(path, own)) for path in ensure_files(config)]


@pytest.mark.parametrize("betas", [[1.0], [1.0, 0.5]])
def test_the_users_own_files_are_taken_as_asked_and_in_that_order(tmp_path, betas):
    own_files(tiny_config(tmp_path).data, tmp_path / "own")
    asked = [f"data.root={tmp_path / 'own'}", f"data.advection1d.betas={betas}"]
    files = open_files(tiny_config(tmp_path, *asked).data)["advection1d"]
    assert [file.parameters["beta"] for file in files] == betas


@pytest.mark.parametrize("asked", ["frames=5", "frames=7", "grid_points=64"])
def test_files_of_other_frames_or_points_are_refused(tmp_path, asked):
    own_files(tiny_config(tmp_path).data, tmp_path / "own")
    with pytest.raises(
        ConfigError, match=r"has 6 frames on a grid of \(32,\), but data\.advection1d asks for"
    ):
        open_files(tiny_config(tmp_path, f"data.root={tmp_path / 'own'}", f"data.advection1d.{asked}").data)


def test_an_attribute_that_is_not_finite_is_named_with_its_file(tmp_path):
    path = own_files(tiny_config(tmp_path).data, tmp_path / "own")[0]
    with h5py.File(path, "r+") as file:
        file.attrs["beta"] = np.nan
    with pytest.raises(ConfigError, match=rf"{path}: attribute beta: got nan, expected a finite number"):
        open_files(tiny_config(tmp_path, f"data.root={tmp_path / 'own'}").data)


def test_a_file_in_the_place_of_the_one_asked_for_is_named(tmp_path):
    paths = own_files(tiny_config(tmp_path).data, tmp_path / "own")
    config = tiny_config(tmp_path, f"data.root={tmp_path / 'own'}").data
    with h5py.File(paths[1], "r+") as file:
        file.attrs["beta"] = 7.0
    with pytest.raises(ConfigError, match=rf"asks for beta 1\.0, .* is there: {paths[1]} has beta 7\.0$"):
        open_files(config)
    with h5py.File(paths[1], "w") as file:
        file["0000/data"], file.attrs["beta"] = np.zeros((6, 32, 1), dtype=np.float32), 1.0
        file["0000/grid/x"], file["0000/grid/t"] = np.arange(32.0), np.arange(6.0)
    with pytest.raises(ConfigError, match=rf"asks for beta 1\.0, .* {paths[1]} is of layout grouped$"):
        open_files(config)


def test_files_with_different_seconds_between_frames_are_refused(tmp_path):
    paths = own_files(tiny_config(tmp_path).data, tmp_path / "own")
    with h5py.File(paths[1], "r+") as file:
        file["t-coordinate"][:] = 2 * file["t-coordinate"][:]
    with pytest.raises(ConfigError, match=r"beta1\.0\.hdf5: t-coordinate: 0\.4 seconds .* but 0\.2 in"):
        open_files(tiny_config(tmp_path, f"data.root={tmp_path / 'own'}").data)


@pytest.mark.parametrize(("number", "beta"), [(0, r"0\.5"), (1, r"1\.0")])
@pytest.mark.parametrize("split", ["train", "held_out"])
def test_a_number_that_is_not_finite_is_found_in_both_splits_of_every_file(tmp_path, split, number, beta):
    config = tiny_config(tmp_path, f"data.root={tmp_path / 'own'}")
    path = own_files(tiny_config(tmp_path).data, tmp_path / "own")[number]
    row = getattr(split_trajectories(config.data, "advection1d"), split).row[1]
    with h5py.File(path, "r+") as file:
        file["tensor"][row, 3, 4] = np.nan
    with pytest.raises(ConfigError, match=rf"beta{beta}\.hdf5: tensor: trajectory {row} holds NaN"):
        open_data(config)


@pytest.mark.parametrize(
    ("task", "key", "value"),
    [
        ("advection1d", "tensor", 0),
        ("advection1d", "tensor", 0.5),
        ("darcy2d", "nu", 0),
        ("darcy2d", "tensor", 0),
    ],
)
def test_a_file_from_which_nothing_can_be_learned_is_named_with_key_and_value(tmp_path, task, key, value):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path = ensure_files(config.data)[1]
    with h5py.File(path, "r+") as file:
        file[key][:] = value
    with pytest.raises(
        ConfigError, match=rf"^{path}: {key}: is {value:g} everywhere in the training split.*leave it out"
    ):
        open_data(config)


@pytest.mark.parametrize("split", ["train", "held_out"])
@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_a_trajectory_that_was_never_written_is_named(tmp_path, task, split):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path = ensure_files(config.data)[0]
    row = getattr(open_data(config), split).tasks[0].table.row[0]
    with h5py.File(path, "r+") as file:
        file["tensor"][row] = 0
    with pytest.raises(ConfigError, match=rf"^{path}: tensor: trajectory {row} is 0 everywhere"):
        open_data(config)


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_a_trajectory_whose_end_was_never_written_is_named_with_its_first_such_frame(tmp_path, split):
    config = tiny_config(tmp_path, "data.tasks=[advection1d]")
    path = ensure_files(config.data)[0]
    row = getattr(open_data(config), split).tasks[0].table.row[0]
    with h5py.File(path, "r+") as file:
        file["tensor"][row, 0] = 0  # from rest, which no error is measured against
    open_data(config)
    with h5py.File(path, "r+") as file:
        file["tensor"][row, 2:] = 0
    with pytest.raises(ConfigError, match=rf"^{path}: tensor: frame 2 of trajectory {row} is 0 everywhere"):
        open_data(config)


def test_the_hash_is_of_times_between_frames_and_of_the_domain_too(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[advection1d]")
    files, before = ensure_files(config.data), open_data(config)
    for path in files:
        with h5py.File(path, "r+") as file:
            file["t-coordinate"][:] *= 3
    slower = open_data(config).content_hash
    for path in files:
        with h5py.File(path, "r+") as file:
            file["x-coordinate"][:] *= 3
    assert len({before.content_hash, slower, open_data(config).content_hash}) == 3


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("x-coordinate", r"\S+ between grid points, but \S+ in"),
        ("t-coordinate", r"t-coordinate: \S+ seconds between frames, but \S+ in"),
    ],
)
def test_files_of_a_task_that_differ_in_domain_or_interval_are_refused(tmp_path, key, expected):
    config = tiny_config(tmp_path, "data.tasks=[advection1d]")
    paths = ensure_files(config.data)
    with h5py.File(paths[1], "r+") as file:
        file[key][:] *= 2
    with pytest.raises(ConfigError, match=f"^{paths[1]}: {expected} {paths[0]}; keep .* in data.root"):
        open_data(config)


def test_the_users_own_file_counts_with_a_suffix_in_capitals_too(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[advection1d]")
    (own := tmp_path / "data" / "mine.HDF5").parent.mkdir()
    own.write_text("no HDF5")
    with pytest.raises(ConfigError, match=rf"^{own}: not a complete HDF5 file"):
        open_data(config)


@pytest.mark.parametrize(
    ("task", "key", "of"), [("advection1d", "tensor", "its mean"), ("darcy2d", "tensor", "0")]
)
def test_a_file_that_varies_too_little_for_a_scale_of_its_own_is_refused(tmp_path, task, key, of):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path = ensure_files(config.data)[1]

    def shrink(size: float) -> None:
        with h5py.File(path, "r+") as file:
            field = file[key][:]
            offset = 0.5 if task == "advection1d" else 0
            file[key][:] = (field - field.mean()) / field.std() * size + offset

    shrink(3e-7)
    said = rf"^{path}: .*{key}: differs from {of} by at most [23]\.\de-07 .*, expected more than 1e-06"
    with pytest.raises(ConfigError, match=said):
        open_data(config)
    shrink(1e-5)
    assert open_data(config).train.tasks[0].normalisation.target.scale[1, 0] > 1e4


def test_a_coefficient_that_is_the_same_everywhere_is_no_reason_to_refuse_a_file(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[darcy2d]")
    with h5py.File(ensure_files(config.data)[0], "r+") as file:
        file["nu"][:] = 0.5
    assert open_data(config).train.tasks[0].normalisation.state.scale[0] == 2


@pytest.mark.parametrize("split", ["train", "held_out"])
@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
@pytest.mark.parametrize("value", [1e19, -1e20])  # the last marks what is missing
def test_a_value_of_which_no_square_can_be_made_is_named_in_both_splits(tmp_path, task, split, value):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path = ensure_files(config.data)[1]
    row = getattr(split_trajectories(config.data, task), split).row[1]
    with h5py.File(path, "r+") as file:
        file["tensor"][row, 0, 4] = value
    number = re.escape(f"{value:g}")
    found = rf"^{path}: .*tensor: trajectory {row} holds {number}, expected less than 1e\+19"
    with pytest.raises(ConfigError, match=found):
        open_data(config)


@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_the_largest_value_that_is_taken_has_a_scale_and_a_square(tmp_path, task):
    config = tiny_config(tmp_path, f"data.tasks=[{task}]")
    path = ensure_files(config.data)[1]
    largest = np.nextafter(np.float32(TOO_LARGE), np.float32(0))
    with h5py.File(path, "r+") as file:
        file["tensor"][split_trajectories(config.data, task).train.row[1], 0, 4] = largest
    units = open_data(config).train.tasks[0].normalisation.target
    assert 1 / TOO_LARGE < units.scale[1, 0] < 1e-15
    assert np.isfinite(np.square(largest))


def test_a_root_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"data\.root: .*file cannot be written \(File exists\)"):
        ensure_files(tiny_config(tmp_path, f"data.root={tmp_path / 'file'}").data)


def test_a_root_that_takes_no_file_is_named(tmp_path):
    config = tiny_config(tmp_path).data
    path = ensure_files(config)[0]
    lock = path.parent.with_suffix(".lock")
    shutil.rmtree(path.parent)
    lock.unlink()
    lock.mkdir()
    with pytest.raises(
        CannotWrite, match=rf"^{lock.name} cannot be written to .*: Is a directory; .* start again"
    ):
        ensure_files(config)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_root_without_file_locks_is_named(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(ConfigError, match=rf"^data\.root: .* has no file locks \({os.strerror(number)}\)"):
        ensure_files(tiny_config(tmp_path).data)


@pytest.mark.slow
def test_a_full_disk_is_named_and_no_half_file_stays(tmp_path):
    command = [sys.executable, "-m", "trainer", "generate-data", "--config", str(tiny_file(tmp_path))]
    limited = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", limited, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert states(done.stderr.splitlines()[-1], ".partial: File too large; .. start again")
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file() and path.stat().st_size] == []


@pytest.mark.slow
def test_many_processes_generate_once_and_see_whole_files(tmp_path):
    config = tiny_config(tmp_path).data
    with multiprocessing.get_context("fork").Pool(4) as pool:
        found = pool.map(ensure_files, [config] * 8)
        pool.close()
        pool.join()  # a worker that is terminated may hold the lock of another
    assert found == [found[0]] * 8
    assert len(found[0]) == 2


def test_what_a_crash_left_is_not_taken_for_data(tmp_path):
    config = tiny_config(tmp_path).data
    folder = ensure_files(config)[0].parent
    folder.rename(folder.with_suffix(".partial"))
    assert ensure_files(config)[0].parent == folder
    assert not folder.with_suffix(".partial").exists()


def test_a_generated_file_that_was_deleted_is_made_again(tmp_path, capsys):
    config = tiny_config(tmp_path)
    kept, deleted = ensure_files(config.data)
    before, content_hash = kept.stat().st_mtime_ns, open_data(config).content_hash
    os.truncate(deleted, 3000)
    with pytest.raises(ConfigError, match=rf"{deleted}: not a complete HDF5 file .*; delete it"):
        open_data(config)
    deleted.unlink()
    capsys.readouterr()
    assert main(["generate-data", "--config", str(tiny_file(tmp_path))]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [str(kept), str(deleted)]
    assert told.err == f"advection1d: some files are missing in {kept.parent}, generating file 2 of 2\n"
    assert kept.stat().st_mtime_ns == before
    assert open_data(config).content_hash == content_hash
    assert sorted(kept.parent.iterdir()) == [kept, deleted]
    assert not kept.parent.with_suffix(".partial").exists()


def test_a_crash_among_files_keeps_those_that_are_whole(tmp_path, monkeypatch):
    config = tiny_config(tmp_path).data
    whole = TASKS["advection1d"]

    def crash_at_the_second(path, settings, number, values, content_hash):
        whole.write(path, settings, number, values, content_hash)
        if number == 1:
            raise KeyboardInterrupt

    monkeypatch.setitem(TASKS, "advection1d", dataclasses.replace(whole, write=crash_at_the_second))
    with pytest.raises(KeyboardInterrupt):
        ensure_files(config)
    assert len(list(Path(config.root).glob("advection1d-*/*.hdf5"))) == 2  # one of them beside
    monkeypatch.setitem(TASKS, "advection1d", whole)
    first, second = ensure_files(config)
    assert sorted(Path(config.root).glob("*/*.hdf5")) == [first, second]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda file: file.attrs.update(beta=7.0), "data.advection1d: asks for beta 1.0, but no file in"),
        (lambda file: file["tensor"].write_direct(np.full((8, 6, 32), np.nan, np.float32)), "holds NaN or"),
    ],
    ids=["another beta", "NaN"],
)
def test_the_users_own_files_that_a_training_refuses_are_refused_at_once(tmp_path, capsys, change, named):
    path, own = own_files(tiny_config(tmp_path).data, tmp_path / "own")[1], tmp_path / "own"
    with h5py.File(path, "r+") as file:
        change(file)
    command = ["generate-data", "--config", str(tiny_file(tmp_path)), "--set", f"data.root={own}"]
    assert main([*command, "--set", "data.tasks=[darcy2d, advection1d]"]) == 2
    told = capsys.readouterr()
    assert named in told.err
    assert told.out == ""


def test_the_users_own_files_are_checked_before_others_are_made(tmp_path):
    own = tmp_path / "own"
    own_files(tiny_config(tmp_path).data, own)[1].unlink()
    with pytest.raises(ConfigError, match=r"asks for beta 1\.0"):
        open_files(tiny_config(tmp_path, f"data.root={own}", "data.tasks=[darcy2d, advection1d]").data)
    assert not list(own.glob("darcy2d-*"))


def test_other_parameters_get_other_data(tmp_path):
    first, second = tiny_config(tmp_path), tiny_config(tmp_path, "data.seed=1")
    files = [ensure_files(config.data) for config in (first, second)]
    assert files[0] != files[1]
    assert not any(
        np.array_equal(*map(every_state, map(open_field_file, pair))) for pair in zip(*files, strict=True)
    )
    assert open_data(first).content_hash != open_data(second).content_hash


def test_what_another_solver_made_is_not_taken_for_its_own(tmp_path, monkeypatch):
    config, task = tiny_config(tmp_path).data, TASKS["advection1d"]
    before = ensure_files(config)
    monkeypatch.setitem(TASKS, task.name, dataclasses.replace(task, solver_version=task.solver_version + 1))
    assert not set(before) & set(ensure_files(config))


@pytest.mark.parametrize(
    "change",
    [
        "data.reduced_resolution=1",
        "data.reduced_resolution_2d=2",
        "data.frame_strides=[1]",
        "data.held_out_fraction=0.5",
        "data.held_out_every_nth_frame=2",
        "data.tasks=[darcy2d]",
    ],
)
def test_other_pairs_of_the_same_files_are_other_data(tmp_path, change):
    both = "data.tasks=[advection1d, darcy2d]"
    before = open_data(tiny_config(tmp_path, both))
    assert open_data(tiny_config(tmp_path, both, "train.updates=9")).content_hash == before.content_hash
    assert open_data(tiny_config(tmp_path, both, change)).content_hash != before.content_hash


def test_other_trajectories_held_out_of_the_same_files_are_other_data(tmp_path):
    own_files(tiny_config(tmp_path).data, tmp_path / "own")
    first, second = (
        open_data(tiny_config(tmp_path, f"data.root={tmp_path / 'own'}", f"data.seed={seed}"))
        for seed in (0, 1)
    )
    assert first.held_out.tasks[0].table.row.tolist() != second.held_out.tasks[0].table.row.tolist()
    assert first.content_hash != second.content_hash


def trajectories(config: Config, split: str) -> set[tuple[int, int]]:
    table = getattr(split_trajectories(config.data, "advection1d"), split)
    return set(zip(table.file_index.tolist(), table.row.tolist(), strict=True))


def test_the_splits_are_disjoint_and_cover_every_trajectory(tmp_path):
    config = tiny_config(tmp_path)
    train, held_out = trajectories(config, "train"), trajectories(config, "held_out")
    assert not train & held_out
    assert train | held_out == {(file, row) for file in range(2) for row in range(8)}
    assert len(held_out) == 4


def test_a_run_ends_at_a_gap_at_the_end_of_a_file_and_at_that_of_a_part():
    file_index, row = np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.array([0, 1, 3, 0, 1, 3, 4, 5])
    table = PairTable(file_index, row, first_frame=np.arange(1), stride=np.ones(1))
    assert list(table.runs(slice(1, 7))) == [
        (slice(0, 1), 0, slice(1, 2)),
        (slice(1, 2), 0, slice(3, 4)),
        (slice(2, 4), 1, slice(0, 2)),
        (slice(4, 5), 1, slice(3, 4)),
        (slice(5, 6), 2, slice(4, 5)),
    ]
    assert list(table.runs(slice(6, 99))) == [(slice(0, 2), 2, slice(4, 6))]


def test_a_draw_that_several_files_share_is_held_out_of_all_of_them(tmp_path):
    """As of PDEBench's, which solve the same draws with each parameter."""
    rows = {
        split: {row for _, row in trajectories(tiny_config(tmp_path), split)}
        for split in ("train", "held_out")
    }
    assert not rows["train"] & rows["held_out"]


def test_the_splits_depend_on_the_data_seed_alone(tmp_path):
    held_out = trajectories(tiny_config(tmp_path), "held_out")
    assert trajectories(tiny_config(tmp_path, "train.updates=9"), "held_out") == held_out
    assert trajectories(tiny_config(tmp_path, "data.seed=5"), "held_out") != held_out


@pytest.mark.parametrize(
    "every, starts", [(1, [[0, 1, 2, 3, 4], [0, 1, 2, 3]]), (3, [[0, 3], [0, 3]]), (5, [[0], [0]])]
)
def test_held_out_pairs_start_at_every_nth_frame(tmp_path, every, starts):
    config = tiny_config(tmp_path, "data.frame_strides=[1, 2]", f"data.held_out_every_nth_frame={every}")
    splits, of_all = split_trajectories(config.data, "advection1d"), [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert splits.train.first_frame.tolist() == of_all
    assert [
        splits.held_out.first_frame[splits.held_out.stride == stride].tolist() for stride in (1, 2)
    ] == starts
    assert len(splits.held_out) == 4 * sum(map(len, starts))  # of 4 trajectories


def test_a_steady_task_keeps_all_its_held_out_pairs(tmp_path):
    every = tiny_config(tmp_path, "data.tasks=[darcy2d]", "data.held_out_every_nth_frame=8")
    of_all = tiny_config(tmp_path, "data.tasks=[darcy2d]")
    assert (
        split_trajectories(every.data, "darcy2d").digest == split_trajectories(of_all.data, "darcy2d").digest
    )


def test_normalisation_comes_from_the_training_split_of_each_file(tmp_path):
    config = tiny_config(tmp_path)
    for path in ensure_files(config.data):
        with h5py.File(path, "r+") as file:  # else all frames are about as large
            file["tensor"][:] = (1 + np.arange(6.0)[:, None]) * (file["tensor"][:] + 1)
    data = open_data(config)
    train, held_out = data.train.tasks[0], data.held_out.tasks[0]
    assert held_out.normalisation is train.normalisation
    for index, file in enumerate(train.files):
        fields = every_state(file)[train.table.row[train.table.file_index == index], ..., ::2]
        assert train.normalisation.state.mean[index, 0] == pytest.approx(fields.mean(), abs=1e-6)
        assert 1 / train.normalisation.state.scale[index, 0] == pytest.approx(fields.std(), rel=1e-5)


def test_a_field_whose_zero_means_something_keeps_it(tmp_path):
    units = open_data(tiny_config(tmp_path, "data.tasks=[darcy2d]")).train.tasks[0].normalisation
    assert not units.state.mean.any()
    assert not units.target.mean.any()
    assert units.target.scale[0] > 5 * units.target.scale[1]  # beta 0.5 and 5
