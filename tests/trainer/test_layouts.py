"""Small files in each of PDEBench's layouts, read back; and files that are wrong."""

import errno
import fcntl
import os
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from facts import states

from trainer.data.layouts.detect import open_field_file
from trainer.data.layouts.stored import map_dataset, read_part
from trainer.errors import ConfigError

RANDOM = np.random.default_rng(0)
ROWS, FRAMES = np.array([1, 0, 1]), np.array([2, 0, 1])


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def write_cfd(path: Path, axes: str) -> dict[str, np.ndarray]:
    """A flow in one dimension per axis, with as many times more than frames as PDEBench has."""
    grid = {"x": 4, "y": 6, "z": 2}
    keys = ["density", "pressure", *(f"V{axis}" for axis in axes)]
    arrays = {key: numbers(2, 3, *(grid[axis] for axis in axes)) for key in keys}
    with h5py.File(path, "w") as file:
        for key, array in arrays.items():
            file[key] = array
        for axis in axes:
            file[f"{axis}-coordinate"] = np.linspace(0, 1, grid[axis])
        file["t-coordinate"] = 0.05 * np.arange(4)
        file.attrs.update({"eta": 0.01, "zeta": 0.01, "M": 0.1})
    return arrays


def write_grouped(path: Path, axes: str) -> np.ndarray:
    grid = {"x": 4, "y": 6}
    data = numbers(2, 3, *(grid[axis] for axis in axes), 2)
    with h5py.File(path, "w") as file:
        for number, trajectory in enumerate(data):
            group = file.create_group(f"{number:04d}")
            group["data"] = trajectory
            group["grid/t"] = 5.0 * np.arange(3)
            for axis in axes:
                group[f"grid/{axis}"] = np.linspace(0, 1, grid[axis])
    return data


def write_darcy(path: Path) -> tuple[np.ndarray, np.ndarray]:
    coefficient, solution = numbers(2, 4, 6), numbers(2, 1, 4, 6)
    with h5py.File(path, "w") as file:
        file["nu"], file["tensor"] = coefficient, solution
        file["x-coordinate"], file["y-coordinate"] = np.arange(4.0), np.arange(6.0)
        file.attrs["beta"] = 1.0
    return coefficient, solution


def write_scalar(path: Path) -> np.ndarray:
    tensor = numbers(2, 3, 4)
    with h5py.File(path, "w") as file:
        file["tensor"], file["x-coordinate"], file["t-coordinate"] = (
            tensor,
            np.arange(4.0),
            np.arange(4.0) / 10,
        )
        file.attrs["Nu"] = 0.01
    return tensor


def test_a_scalar_file(tmp_path):
    tensor = write_scalar(tmp_path / "a.hdf5")
    file = open_field_file(tmp_path / "a.hdf5")
    assert (file.layout, file.trajectories, file.frames, file.grid) == ("scalar-1d", 2, 3, (4,))
    assert (file.parameters, file.frame_seconds) == ({"Nu": 0.01}, pytest.approx(0.1))
    assert file.spacing == (1.0,)
    np.testing.assert_array_equal(file.states().take(ROWS, FRAMES, 2), tensor[ROWS, FRAMES, None, ::2])


def test_a_darcy_file(tmp_path):
    coefficient, solution = write_darcy(tmp_path / "a.hdf5")
    file = open_field_file(tmp_path / "a.hdf5")
    assert (file.layout, file.trajectories, file.frames, file.grid) == ("darcy", 2, 2, (4, 6))
    assert (file.parameters, file.frame_seconds) == ({"beta": 1.0}, None)
    states = file.states().take(np.array([1, 1, 0]), np.array([0, 1, 1]), 2)
    expected = [coefficient[1, None], solution[1], solution[0]]
    np.testing.assert_array_equal(states, np.stack(expected)[..., ::2, ::2])


@pytest.mark.parametrize("axes", ["x", "xy", "xyz"])
def test_a_flow_file(tmp_path, axes):
    arrays = write_cfd(tmp_path / "a.hdf5", axes)
    file = open_field_file(tmp_path / "a.hdf5")
    assert (file.layout, file.fields) == ("cfd", tuple(arrays))
    assert (file.trajectories, file.frames, file.grid) == (2, 3, (4, 6, 2)[: len(axes)])
    assert (file.parameters["M"], file.frame_seconds) == (0.1, pytest.approx(0.05))
    assert file.spacing == pytest.approx([1 / (points - 1) for points in file.grid])
    expected = np.stack([array[ROWS, FRAMES] for array in arrays.values()], axis=1)
    cut = (slice(None, None, 2),) * len(axes)
    np.testing.assert_array_equal(file.states().take(ROWS, FRAMES, 2), expected[(..., *cut)])


@pytest.mark.parametrize("axes", ["x", "xy"])
def test_a_grouped_file(tmp_path, axes):
    data = write_grouped(tmp_path / "a.hdf5", axes)
    file = open_field_file(tmp_path / "a.hdf5")
    assert (file.layout, len(file.fields)) == ("grouped", 2)
    assert (file.trajectories, file.frames, file.grid) == (2, 3, (4, 6)[: len(axes)])
    assert file.frame_seconds == 5.0
    expected = np.moveaxis(data[ROWS, FRAMES], -1, 1)
    cut = (slice(None, None, 2),) * len(axes)
    np.testing.assert_array_equal(file.states().take(ROWS, FRAMES, 2), expected[(..., *cut)])


def compress(path: Path) -> None:
    def again(name: str, dataset: h5py.Dataset | h5py.Group) -> None:
        if isinstance(dataset, h5py.Dataset) and dataset.ndim > 1:
            datasets[name] = dataset[:]

    datasets: dict[str, np.ndarray] = {}
    with h5py.File(path, "r+") as file:
        file.visititems(again)
        for name, numbers in datasets.items():
            del file[name]
            file.create_dataset(name, data=numbers, chunks=True, compression="gzip")


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("rows", [slice(0, 2), slice(1, 2)])
@pytest.mark.parametrize(
    "write",
    [
        write_scalar,
        write_darcy,
        lambda path: write_cfd(path, "xy"),
        lambda path: write_grouped(path, "xy"),
    ],
    ids=["scalar", "darcy", "cfd", "grouped"],
)
def test_trajectories_read_at_once_are_those_taken_one_by_one(tmp_path, write, rows, every, is_compressed):
    write(tmp_path / "a.hdf5")
    if is_compressed:
        compress(tmp_path / "a.hdf5")
    file = open_field_file(tmp_path / "a.hdf5")
    frames, chosen = np.arange(file.frames), np.arange(rows.start, rows.stop)
    expected = np.stack([file.states().take(np.full(len(frames), row), frames, every) for row in chosen])
    found = np.full_like(expected, np.nan)
    file.states().read_into(found, rows, every)
    np.testing.assert_array_equal(found, expected)


def drop(key: str):
    def change(file: h5py.File) -> None:
        del file[key]

    return change


def put(key: str, value: np.ndarray):
    def change(file: h5py.File) -> None:
        if key in file:
            del file[key]
        file[key] = value

    return change


@pytest.mark.parametrize(
    ("layout", "change", "named"),
    [
        ("cfd", drop("pressure"), "no dataset pressure"),
        ("cfd", drop("y-coordinate"), "no dataset y-coordinate"),
        ("cfd", put("Vy", numbers(2, 3, 4, 5)), "Vy: got shape (2, 3, 4, 5), expected (2, 3, 4, 6)"),
        ("cfd", put("Vy", numbers(2, 3, 4)), "Vy: got float32 (2, 3, 4), expected float32 (N, T, X, Y)"),
        ("cfd", put("t-coordinate", np.zeros(4)), "t-coordinate: got 0 to 0 seconds between frames"),
        ("cfd", put("t-coordinate", np.array([0, 1, 3, 4.0])), "got 1 to 2 seconds between frames"),
        ("cfd", put("t-coordinate", np.array([0, np.nan, 2, 3])), "got nan to nan seconds between frames"),
        ("cfd", put("t-coordinate", np.array([b"0"] * 4)), "t-coordinate: got |S1, expected numbers"),
        ("cfd", drop("Vx"), "no dataset Vx"),
        ("cfd", drop("Vy"), "no dataset Vy"),
        (
            "cfd",
            put("tensor", numbers(2, 3, 4)),
            "holds several layouts, tensor and Vx, Vy, density, pressure",
        ),
        ("darcy", drop("tensor"), "no dataset tensor"),
        ("darcy", drop("nu"), "no dataset nu"),
        (
            "darcy",
            put("tensor", numbers(2, 1, 4, 5)),
            "tensor: got shape (2, 1, 4, 5), expected (2, 1, 4, 6)",
        ),
        ("darcy", put("nu", np.zeros((2, 4, 6))), "nu: got float64 (2, 4, 6), expected float32 (N, X, Y)"),
        ("grouped", drop("0001/data"), "no dataset 0001/data"),
        ("grouped", drop("0000/grid"), "no group 0000/grid"),
        ("grouped", drop("0000/grid/t"), "no dataset 0000/grid/t"),
        ("grouped", put("0001/data", numbers(3, 4, 6, 1)), "0001/data: got shape (3, 4, 6, 1)"),
        ("grouped", drop("0001/grid"), "no group 0001/grid"),
        ("grouped", put("0001/grid/x", np.arange(4.0) ** 3), "0001/grid/x: got 1 to 19 between points"),
        (
            "grouped",
            put("0001/grid/t", np.arange(3.0)),
            "0001/grid/t: .. 1, but 5 in 0000. Keep",
        ),
        (
            "grouped",
            put("0001/grid/y", np.linspace(0, 2, 6)),
            "0001/grid/y: .. 0.4, but 0.2 in 0000. Keep",
        ),
        ("grouped", put("0002", numbers(3, 4)), "0002: is a dataset, expected a group"),
        ("scalar", put("tensor", numbers(2, 1, 4)), "has 1 frame, expected at least 2"),
        ("grouped", put("density", numbers(2, 3, 4)), "holds several layouts, density and 0000"),
        ("scalar", drop("x-coordinate"), "no dataset x-coordinate"),
        ("scalar", put("x-coordinate", np.zeros(5)), "x-coordinate: got shape (5,), expected 4 entries"),
        (
            "scalar",
            put("x-coordinate", np.arange(4.0)[::-1]),
            "x-coordinate: got 3 to 0, expected .. increase",
        ),
        (
            "scalar",
            put("x-coordinate", np.array([0, np.nan, 2, 3])),
            "x-coordinate: got 0 to 3, expected finite",
        ),
        ("scalar", put("x-coordinate", np.array([b"0"] * 4)), "x-coordinate: got |S1, expected numbers"),
        ("scalar", put("x-coordinate", np.arange(4.0) ** 3), "x-coordinate: got 1 to 19 between points"),
        ("cfd", put("y-coordinate", np.arange(6.0) ** 3), "y-coordinate: got 1 to 61 between points"),
        ("darcy", put("y-coordinate", np.arange(6.0) ** 3), "y-coordinate: got 1 to 61 between points"),
        ("grouped", put("0000/grid/x", np.arange(4.0) ** 3), "0000/grid/x: got 1 to 19 between points"),
        ("scalar", put("t-coordinate", np.zeros(2)), "t-coordinate: got shape (2,), expected 3 or 4 entries"),
        ("scalar", put("t-coordinate", np.array(1.0)), "t-coordinate: got shape (), expected 3 or 4 entries"),
        ("cfd", put("t-coordinate", h5py.Empty("f4")), "t-coordinate: got shape None, expected 3 or 4"),
        ("scalar", drop("tensor"), "no dataset tensor, found t-coordinate, x-coordinate; expected a layout"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path, layout, change, named):
    path = tmp_path / "wrong.hdf5"
    write = {
        "cfd": lambda: write_cfd(path, "xy"),
        "grouped": lambda: write_grouped(path, "xy"),
        "darcy": lambda: write_darcy(path),
        "scalar": lambda: write_scalar(path),
    }
    write[layout]()
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ConfigError) as caught:
        open_field_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert states(str(caught.value), named), caught.value


@pytest.mark.parametrize(
    "places",
    [
        (np.arange(1024) + np.float32(0.5)) * np.float32(1 / 1024),  # cell centres
        np.linspace(-2.5, 2.5, 128, dtype=np.float32),
        np.cumsum(np.full(1024, 0.001, dtype=np.float32), dtype=np.float32),
        np.linspace(1000, 1001, 1024, dtype=np.float32),
        np.zeros(1),
    ],
    ids=["centres", "both signs", "summed up", "far from 0", "one point"],
)
def test_what_is_even_but_for_its_rounding_passes(tmp_path, places):
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["tensor"], file["t-coordinate"] = numbers(1, 2, len(places)), np.arange(3.0)
        file["x-coordinate"] = places
    assert open_field_file(tmp_path / "a.hdf5").grid == places.shape


@pytest.mark.parametrize("layout", [write_scalar, write_darcy])
def test_a_truncated_file_is_named(tmp_path, layout):
    path = tmp_path / "cut.hdf5"
    layout(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ConfigError, match=r"cut\.hdf5: not a complete HDF5 file"):
        open_field_file(path)


@pytest.mark.parametrize("chunks", [None, True])
@pytest.mark.parametrize("key", ["nu", "tensor"])
def test_a_dataset_that_was_never_written_is_named(tmp_path, key, chunks):
    path = tmp_path / "unwritten.hdf5"
    write_darcy(path)
    with h5py.File(path, "r+") as file:
        shape = file[key].shape
        del file[key]
        file.create_dataset(key, shape, np.float32, chunks=chunks)
    with pytest.raises(ConfigError, match=rf"unwritten\.hdf5: {key}: .*never written; download"):
        open_field_file(path)


def test_a_dataset_of_which_a_part_was_written_is_named(tmp_path):
    path = tmp_path / "part.hdf5"
    write_scalar(path)
    with h5py.File(path, "r+") as file:
        del file["tensor"]
        file.create_dataset("tensor", (5, 3, 4), np.float32, chunks=(2, 3, 4))[:2] = numbers(2, 3, 4)
    with pytest.raises(ConfigError, match=r"part\.hdf5: tensor: only 1 of its 3 chunks"):
        open_field_file(path)


def test_a_file_that_is_being_written_is_told_from_a_damaged_one(tmp_path):
    path = tmp_path / "busy.hdf5"
    write_scalar(path)
    with path.open("rb+") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)  # as HDF5 locks what it writes
        with pytest.raises(ConfigError, match=r"busy\.hdf5: another process is writing it; wait"):
            open_field_file(path)


def virtual(source: Path) -> h5py.VirtualLayout:
    layout = h5py.VirtualLayout((2, 3, 4), np.float32)
    layout[:] = h5py.VirtualSource(source, "tensor", (2, 3, 4))
    return layout


@pytest.mark.parametrize("key", ["tensor", "x-coordinate", "t-coordinate"])
def test_numbers_that_lie_in_another_file_are_refused(tmp_path, key):
    other, path = tmp_path / "other.hdf5", tmp_path / "linked.hdf5"
    for file in (other, path):
        write_scalar(file)
    with h5py.File(path, "r+") as file:
        del file[key]
        file[key] = h5py.ExternalLink(other.name, key)
    with pytest.raises(ConfigError, match=rf"linked\.hdf5: {key}: .* in {other},.* Copy them"):
        open_field_file(path)


def test_a_dataset_that_is_made_of_other_files_is_refused(tmp_path):
    other, path = tmp_path / "other.hdf5", tmp_path / "made.hdf5"
    for file in (other, path):
        write_scalar(file)
    with h5py.File(path, "r+") as file:
        del file["tensor"]
        file.create_virtual_dataset("tensor", virtual(other))
    with pytest.raises(ConfigError, match=r"made\.hdf5: tensor: .* in other files,.* Copy them"):
        open_field_file(path)


def test_a_trajectory_whose_file_is_gone_is_named(tmp_path):
    path = tmp_path / "linked.hdf5"
    write_grouped(path, "x")
    with h5py.File(path, "r+") as file:
        file["0002"] = h5py.ExternalLink("gone.hdf5", "0002")
    with pytest.raises(ConfigError, match=r"linked\.hdf5: 0002: is a link .* missing target"):
        open_field_file(path)


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path):
    (tmp_path / "gone.hdf5").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"gone\.hdf5: No such file or directory"):
        open_field_file(tmp_path / "gone.hdf5")


def test_a_compressed_dataset_that_rotted_is_named(tmp_path):
    path = tmp_path / "rotten.hdf5"
    write_scalar(path)
    with h5py.File(path, "r+") as file:
        tensor = file["tensor"][:]
        del file["tensor"]
        file.create_dataset("tensor", data=tensor, chunks=tensor.shape, fletcher32=True)
        place = file["tensor"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[place] ^= 255
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"rotten\.hdf5: tensor: cannot be read"):
        open_field_file(path).states().take(ROWS, FRAMES, 1)


def test_a_parameter_in_single_precision_is_the_number_that_was_meant(tmp_path):
    path = tmp_path / "single.hdf5"
    write_scalar(path)
    with h5py.File(path, "r+") as file:
        file.attrs["Nu"] = np.float32(0.1)
        file.attrs["rho"] = np.array([2], dtype=np.int64)
    assert open_field_file(path).parameters == {"Nu": 0.1, "rho": 2.0}


CANNOT_LOCK = "Unable to synchronously open file (unable to lock file, errno = {0}, error message = '{1}')"


@pytest.mark.parametrize(
    ("number", "text", "named"),
    [
        (errno.ENOLCK, CANNOT_LOCK, "has no locks .*set HDF5_USE_FILE_LOCKING=FALSE"),
        (errno.EOPNOTSUPP, CANNOT_LOCK, "has no locks .*set HDF5_USE_FILE_LOCKING=FALSE"),
        (errno.EACCES, CANNOT_LOCK, "has no locks .*set HDF5_USE_FILE_LOCKING=FALSE"),
        (errno.EIO, "Unable to open file (file read failed: errno = {0}, '{1}')", "Input/output error"),
        (errno.ESTALE, "Unable to open file (unable to open file: errno = {0}, '{1}')", "Stale file handle"),
        (
            errno.EMFILE,
            "Unable to open file (unable to open file: errno = {0}, '{1}')",
            "Too many open files",
        ),
    ],
)
def test_a_file_that_the_system_refuses_is_not_called_damaged(tmp_path, monkeypatch, number, text, named):
    write_grouped(tmp_path / "whole.h5", "x")

    def refuse(*_):
        raise OSError(number, text.format(number, os.strerror(number)))

    monkeypatch.setattr(h5py, "File", refuse)
    with pytest.raises(ConfigError, match=rf"whole\.h5: .*{named}") as raised:
        open_field_file(tmp_path / "whole.h5")
    assert not re.search("delete|download|complete", str(raised.value))


@pytest.mark.parametrize(("number", "remedy"), [(errno.EIO, "fix the disk"), (None, "download")])
def test_a_chunk_is_called_damaged_only_where_the_system_could_read_it(tmp_path, monkeypatch, number, remedy):
    with h5py.File(tmp_path / "whole.h5", "w") as file:
        file["tensor"] = numbers(2, 3)

    def refuse(*_):
        raise OSError(number, "read failed") if number else OSError("filter returned failure")

    monkeypatch.setattr(h5py.Dataset, "__getitem__", refuse)
    with (
        h5py.File(tmp_path / "whole.h5") as file,
        pytest.raises(ConfigError, match=rf"whole\.h5: tensor: cannot be read .*{remedy}"),
    ):
        read_part(tmp_path / "whole.h5", file["tensor"], ())


def test_a_file_system_that_maps_nothing_is_named(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["tensor"] = numbers(2, 3)

    def refuse(*_, **__):
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    monkeypatch.setattr(np, "memmap", refuse)
    with (
        h5py.File(tmp_path / "plain.h5") as file,
        pytest.raises(ConfigError, match=r"plain\.h5: cannot be mapped into memory \(No such device\)"),
    ):
        map_dataset(tmp_path / "plain.h5", file["tensor"])
