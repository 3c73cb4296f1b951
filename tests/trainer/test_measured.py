"""What is measured of the data is measured once, and again when anything that it depends on has changed."""

import io
import os
import shutil
from collections.abc import Callable

import h5py
import numpy as np
import pytest
from tiny import tiny_config

from trainer.data.files import measurements as measured
from trainer.data.splits import Data, open_data
from trainer.errors import ConfigError

BOTH = "data.tasks=[advection1d, darcy2d]"


@pytest.fixture
def passes(monkeypatch) -> list[str]:
    """The tasks whose files were gone through."""
    seen = []
    measure = measured._measure
    monkeypatch.setattr(
        measured, "_measure", lambda task, *rest: seen.append(task.name) or measure(task, *rest)
    )
    return seen


def numbers(data: Data) -> list[np.ndarray | None]:
    return [
        part
        for pairs in data.train.tasks
        for units in [pairs.normalisation]
        for part in (
            *(units.state.mean, units.state.scale, units.target.mean, units.target.scale),
            *(units.condition_mean, units.condition_scale, pairs.mean_targets),
        )
    ]


def assert_same_bits(one: Data, other: Data) -> None:
    for a, b in zip(numbers(one), numbers(other), strict=True):
        assert (a is None) == (b is None)
        assert a is None or (a.dtype == b.dtype and np.array_equal(a, b))


def test_it_is_measured_once_and_kept_to_the_last_bit(tmp_path, passes):
    config = tiny_config(tmp_path, BOTH)
    first, second = open_data(config), open_data(config)
    assert passes == ["advection1d", "darcy2d"]
    assert_same_bits(first, second)


@pytest.mark.parametrize("change", ["data.seed=5", "data.held_out_fraction=0.5", "data.reduced_resolution=1"])
def test_other_splits_or_points_are_measured_for_themselves(tmp_path, passes, change):
    open_data(tiny_config(tmp_path))
    open_data(tiny_config(tmp_path, change))
    assert passes == ["advection1d"] * 2


def test_what_other_code_read_is_measured_again(tmp_path, passes, monkeypatch):
    config = tiny_config(tmp_path)
    open_data(config)
    shutil.copytree(measured.SOURCES, tmp_path / "sources")
    monkeypatch.setattr(measured, "SOURCES", tmp_path / "sources")
    open_data(config)
    assert passes == ["advection1d"]
    with (tmp_path / "sources/layouts/field_file.py").open("a") as reader:
        reader.write("# now reads otherwise")
    open_data(config)
    assert passes == ["advection1d"] * 2


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_that_was_written_to_is_looked_through_again(tmp_path, passes, number):
    config = tiny_config(tmp_path)
    path = open_data(config).train.tasks[0].files[number].path
    with h5py.File(path, "r+") as file:
        file["tensor"][0, 0, 0] = np.nan
    with pytest.raises(ConfigError, match="trajectory 0 holds NaN or infinity"):
        open_data(config)
    assert passes == ["advection1d"] * 2


def test_what_is_not_whole_is_measured_again(tmp_path, passes):
    config = tiny_config(tmp_path, BOTH)
    first = open_data(config)
    for kept in (tmp_path / "data" / measured.FOLDER).iterdir():
        kept.write_bytes(kept.read_bytes()[:-200])
    assert_same_bits(first, open_data(config))
    assert len(passes) == 4
    assert_same_bits(first, open_data(config))
    assert len(passes) == 4


def saved(write: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    file = io.BytesIO()
    write(file, *arrays, **named)
    return file.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"text",
        lambda _: saved(np.save, np.zeros(3)),
        lambda arrays: saved(np.savez, state_mean=arrays["state_mean"]),
        lambda arrays: saved(np.savez, **{**arrays, "state_mean": np.nan * arrays["state_mean"]}),
        lambda arrays: saved(np.savez, **{**arrays, "target_scale": 0 * arrays["target_scale"]}),
        lambda arrays: saved(np.savez, **{**arrays, "state_mean": np.zeros((9, 9))}),
        lambda arrays: saved(np.savez, **{**arrays, "state_mean": np.array([None])}),
        lambda arrays: saved(np.savez, **{**arrays, "content_hashes": arrays["content_hashes"][:1]}),
    ],
    ids=[
        "empty",
        "text",
        "one array",
        "lacks some",
        "NaN",
        "no scale",
        "other shape",
        "objects",
        "a hash less",
    ],
)
def test_what_cannot_be_what_was_kept_is_measured_again(tmp_path, passes, damage):
    config = tiny_config(tmp_path)
    first = open_data(config)
    (kept,) = (tmp_path / "data" / measured.FOLDER).iterdir()
    with np.load(kept) as arrays:
        damaged = damage(dict(arrays))
    kept.write_bytes(damaged)
    assert_same_bits(first, open_data(config))
    assert passes == ["advection1d"] * 2


def test_a_file_put_in_the_place_of_another_with_its_times_is_looked_through(tmp_path, passes):
    config = tiny_config(tmp_path)
    path = open_data(config).train.tasks[0].files[0].path
    copy = path.with_suffix(".copy")
    shutil.copy2(path, copy)
    copy.replace(path)
    open_data(config)
    assert passes == ["advection1d"] * 2


def test_where_nothing_can_be_kept_it_is_measured_each_time(tmp_path, passes):
    config = tiny_config(tmp_path)
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / measured.FOLDER).write_text("a file in the place of the folder")
    assert_same_bits(open_data(config), open_data(config))
    assert passes == ["advection1d"] * 2


def test_nothing_is_left_half_written(tmp_path, monkeypatch):
    def fail(*_arguments: object, **_named: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(np, "savez", fail)
    open_data(tiny_config(tmp_path))
    assert list((tmp_path / "data" / measured.FOLDER).iterdir()) == []
