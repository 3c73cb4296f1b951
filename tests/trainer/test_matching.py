"""Several files of PDEBench in one folder: each task finds its own by form, parameters or name."""

import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml
from facts import states
from forked import python
from tiny import ROOT, ensure_files, tiny_config, tiny_file

from trainer.config import Config, config_hash, load_config, to_plain
from trainer.data.files.sources import open_files
from trainer.data.splits import open_data
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError
from trainer.run.training import Progress, run_training

RANDOM = np.random.default_rng(0)

GIVEN = '''
"""Files that are given."""

from collections.abc import Iterator
from dataclasses import dataclass

from trainer.contracts.settings import FilePattern
from trainer.contracts.task import Task


@dataclass(frozen=True)
class Settings:
    trajectories: int = 4
    frames: int = 6
    files: FilePattern = None

    @property
    def cases(self) -> tuple[tuple[float, ...], ...]:
        return CASES

    @property
    def grid(self) -> tuple[int, ...]:
        return GRID

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from ()


'''


def task(name: str, layout: str, grid: tuple[int, ...], fields: int, case: dict, **more: object) -> str:
    names = tuple(f"field{number}" for number in range(fields))
    parts = {
        "name": name,
        "layout": layout,
        "parameters": tuple(case),
        "state": names,
        "target": names,
        "solver_version": 1,
        **more,
    }
    written = ", ".join(f"{key}={value!r}" for key, value in parts.items())
    cases = (tuple(case.values()),)
    return f"{GIVEN}CASES = {cases}\nGRID = {grid}\nTASK = Task(settings=Settings, {written})\n"


@pytest.fixture(scope="module")
def with_tasks(tmp_path_factory) -> Path:
    """A copy of the trainer with tasks whose files have a layout, and parameters, in common."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "trainer", folder / "trainer")
    flow = {"eta": 0.5, "zeta": 0.5}
    tasks = {
        "sorption1d": task("sorption1d", "grouped", (32,), 1, {}),
        "reaction2d": task("reaction2d", "grouped", (8, 8), 2, {}),
        "waves2d": task("waves2d", "grouped", (8, 8), 1, {}),
        "flow1d": task("flow1d", "cfd", (32,), 3, flow),
        "shock1d": task("shock1d", "cfd", (32,), 3, flow, files="*Shock*"),
        "flow2d": task("flow2d", "cfd", (8, 8), 4, {"M": 0.5, **flow}),
    }
    for name, text in tasks.items():
        (folder / f"trainer/data/tasks/{name}.py").write_text(text)
    return folder


def values(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def write_grouped(path: Path, grid: tuple[int, ...], fields: int) -> None:
    with h5py.File(path, "w") as file:
        for number in range(4):
            group = file.create_group(f"{number:04d}")
            group["data"], group["grid/t"] = values(6, *grid, fields), np.arange(6.0)
            for axis, points in zip("xy", grid, strict=False):
                group[f"grid/{axis}"] = np.arange(float(points))


def write_flow(path: Path, grid: tuple[int, ...]) -> None:
    """PDEBench's flows have a Mach number among their attributes, whatever their dimensions."""
    with h5py.File(path, "w") as file:
        for key in ("density", "pressure", "Vx", "Vy")[: 2 + len(grid)]:
            file[key] = values(4, 6, *grid)
        for axis, points in zip("xy", grid, strict=False):
            file[f"{axis}-coordinate"] = np.arange(float(points))
        file["t-coordinate"] = np.arange(7.0)
        file.attrs.update({"eta": 0.5, "zeta": 0.5, "M": 0.5})


FILES = {
    "sorption1d": ("1D_diff-sorp_NA_NA.h5", lambda path: write_grouped(path, (32,), 1)),
    "reaction2d": ("2D_diff-react_NA_NA.h5", lambda path: write_grouped(path, (8, 8), 2)),
    "waves2d": ("2D_rdb_NA_NA.h5", lambda path: write_grouped(path, (8, 8), 1)),
    "flow1d": ("1D_CFD_Rand_Train.hdf5", lambda path: write_flow(path, (32,))),
    "shock1d": ("1D_CFD_Shock_Train.hdf5", lambda path: write_flow(path, (32,))),
    "flow2d": ("2D_CFD_Any_Train.hdf5", lambda path: write_flow(path, (8, 8))),
}


@pytest.fixture
def given(tmp_path) -> Path:
    """A folder with a file of each task."""
    (tmp_path / "data").mkdir()
    for name, write in FILES.values():
        write(tmp_path / "data" / name)
    return tmp_path / "data"


def generate(copy: Path, out: Path, *overrides: str) -> subprocess.CompletedProcess:
    sets = [part for text in overrides for part in ("--set", text)]
    return python(["-m", "trainer", "generate-data", "--config", tiny_file(out), *sets], cwd=copy)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [[name] for name in FILES] + [list(FILES)])
def test_each_task_takes_its_own_of_many_files(with_tasks, tmp_path, given, tasks):
    pairs = f"train.pairs_per_update={16 * len(tasks)}"
    done = generate(with_tasks, tmp_path, f"data.tasks=[{', '.join(tasks)}]", pairs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(given / FILES[name][0]) for name in tasks]


@pytest.mark.slow
def test_why_a_file_is_not_a_tasks_is_said_where_it_has_none(with_tasks, tmp_path, given):
    for name in ("sorption1d", "flow1d", "shock1d", "flow2d"):
        (given / FILES[name][0]).unlink()
    done = generate(with_tasks, tmp_path, "data.tasks=[sorption1d]")
    assert done.returncode == 2
    for name, facts in (("reaction2d", "2 dimensions, expected 1"), ("waves2d", "2 dimensions, expected 1")):
        assert states(done.stderr, f"data.sorption1d: .. no generator .. {FILES[name][0]} .. {facts}")
    (given / FILES["waves2d"][0]).unlink()
    done = generate(with_tasks, tmp_path, "data.tasks=[waves2d]")
    assert done.returncode == 2
    assert states(done.stderr, "2D_diff-react_NA_NA.h5 .. field0, field1, expected field0")


@pytest.mark.slow
def test_a_pattern_of_the_config_counts_more_than_that_of_a_task(with_tasks, tmp_path, given):
    shock = given / FILES["shock1d"][0]
    done = generate(with_tasks, tmp_path, "data.tasks=[flow1d]", f"data.flow1d.files={shock.name}")
    assert (done.returncode, done.stdout.split()) == (0, [str(shock)]), done.stderr
    renamed = shock.rename(given / "tube.hdf5")
    both = ("data.tasks=[flow1d, shock1d]", "data.shock1d.files=tube*")
    done = generate(with_tasks, tmp_path, *both)
    assert done.stdout.split() == [str(given / FILES["flow1d"][0]), str(renamed)], done.stderr


def own_files(tmp_path: Path) -> Path:
    """A folder with the tiny advection's files, and one of them twice."""
    own = tmp_path / "own"
    own.mkdir()
    slow, fast = ensure_files(tiny_config(tmp_path).data)
    for path, name in ((slow, "slow.hdf5"), (fast, "fast.hdf5"), (slow, "slow-again.hdf5")):
        shutil.copy(path, own / name)
    return own


def own_config(tmp_path: Path, *overrides: str) -> Config:
    return tiny_config(tmp_path, f"data.root={tmp_path / 'own'}", *overrides)


def test_two_files_that_nothing_tells_apart_are_named_with_the_key_that_does(tmp_path):
    own = own_files(tmp_path)
    with pytest.raises(ConfigError) as caught:
        open_files(own_config(tmp_path).data)
    facts = f"{own}/slow.hdf5: beta 0.5 is also in {own}/slow-again.hdf5 .. data.advection1d.files"
    assert states(str(caught.value), facts)
    config = own_config(tmp_path, "data.advection1d.files='*[!n].hdf5'").data
    assert [file.path.name for file in open_files(config)["advection1d"]] == ["slow.hdf5", "fast.hdf5"]


def test_a_file_that_nobody_asked_for_may_be_there_twice(tmp_path):
    own_files(tmp_path)
    (fast,) = open_files(own_config(tmp_path, "data.advection1d.betas=[1.0]").data)["advection1d"]
    assert fast.path.name == "fast.hdf5"


@pytest.mark.parametrize(
    "change",
    [
        lambda tensor, x, t: (tensor[:, :, ::2], x[::2], t),
        lambda tensor, x, t: (tensor[:, :4], x, t[:5]),
        lambda tensor, x, t: (tensor[:4], x, t),
    ],
    ids=["points", "frames", "trajectories"],
)
def test_of_two_files_the_one_of_the_asked_size_is_taken(tmp_path, change):
    own = own_files(tmp_path)
    with h5py.File(own / "slow.hdf5", "r+") as file:
        keys = ("tensor", "x-coordinate", "t-coordinate")
        arrays = change(*(file[key][:] for key in keys))
        for key, array in zip(keys, arrays, strict=True):
            del file[key]
            file[key] = array
    config = own_config(tmp_path).data
    names = [file.path.name for file in open_files(config)["advection1d"]]
    assert names == ["slow-again.hdf5", "fast.hdf5"]
    (own / "slow-again.hdf5").unlink()
    with pytest.raises(ConfigError, match=rf"^{own}/slow\.hdf5: has .* asks for"):
        open_files(config)


@pytest.mark.parametrize(
    ("pattern", "facts"),
    [
        ("1D_Advection_*", 'matches "1D_Advection_*" .. found fast.hdf5, slow-again.hdf5, slow.hdf5'),
        ("*.HDF5", 'matches "*.HDF5" .. found fast.hdf5'),
        ("flow.h5", 'matches "flow.h5" .. flow.h5 is of layout cfd, expected scalar-1d'),
    ],
)
def test_a_pattern_without_a_file_is_refused_and_nothing_is_made(tmp_path, pattern, facts):
    own = own_files(tmp_path)
    if pattern == "flow.h5":
        write_flow(own / "flow.h5", (32,))
    with pytest.raises(ConfigError) as caught:
        open_files(own_config(tmp_path, f"data.advection1d.files='{pattern}'").data)
    assert states(str(caught.value), f"data.advection1d.files: .. {facts}"), caught.value
    assert not list(own.glob("advection1d-*"))


def test_a_file_that_no_pattern_names_is_not_opened(tmp_path):
    own = own_files(tmp_path)
    (own / "slow-again.hdf5").write_text("no HDF5")
    named = "data.advection1d.files='????.hdf5'"
    assert len(open_files(own_config(tmp_path, named).data)["advection1d"]) == 2
    with pytest.raises(ConfigError, match="slow-again"):  # which may be darcy2d's
        open_files(own_config(tmp_path, named, "data.tasks=[darcy2d, advection1d]").data)


def test_a_pattern_with_a_folder_is_refused(tmp_path):
    with pytest.raises(ConfigError) as caught:
        tiny_config(tmp_path, "data.advection1d.files='1D/*.hdf5'")
    assert states(str(caught.value), 'data.advection1d.files: got "1D/*.hdf5" .. without a folder')


def test_a_config_without_a_pattern_is_written_and_hashed_as_before_there_were_any(tmp_path):
    config = tiny_config(tmp_path)
    assert [name for name in TASKS if "files" in to_plain(config)["data"].get(name, {})] == []
    assert config_hash(tiny_config(tmp_path, "data.advection1d.files=null")) == config_hash(config)


def test_a_pattern_survives_being_written_and_read(tmp_path):
    config = tiny_config(tmp_path, "data.advection1d.files='1D_*.hdf5'")
    (tmp_path / "written.yaml").write_text(yaml.safe_dump(to_plain(config)))
    assert load_config(tmp_path / "written.yaml") == config
    assert config_hash(config) != config_hash(tiny_config(tmp_path))


def test_a_name_changes_neither_what_is_generated_nor_what_is_trained_on(tmp_path):
    own_files(tmp_path)
    before = open_data(own_config(tmp_path, "data.advection1d.files='????.hdf5'"))
    (tmp_path / "own/slow-again.hdf5").unlink()
    assert open_data(own_config(tmp_path)).content_hash == before.content_hash
    assert open_data(tiny_config(tmp_path)).content_hash == before.content_hash  # generated


@pytest.mark.slow
def test_a_run_may_be_resumed_with_a_name_for_its_files(tmp_path):
    """Else a file that is put beside them ends it: with the name it is refused, and without it too."""
    own = own_files(tmp_path)
    (own / "slow-again.hdf5").rename(tmp_path / "kept.hdf5")
    run_training(own_config(tmp_path), tmp_path / "out", 3, Progress())
    lines = (tmp_path / "out/metrics.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out/metrics.jsonl").write_text("".join(lines[:-1]))
    (tmp_path / "kept.hdf5").rename(own / "slow-again.hdf5")
    named = own_config(tmp_path, "data.advection1d.files='????.hdf5'")
    run_training(named, tmp_path / "out", 3, Progress(), resume=True)
    assert (tmp_path / "out/metrics.jsonl").read_text().count("run_end") == 1
