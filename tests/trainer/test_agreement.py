"""Ranks that were started with other data, configs or seeds end on every rank, before any step."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
import yaml
from facts import states
from forked import python
from tiny import TINY, ensure_files, events, tiny_config

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
from trainer.cli import main
folder, *arguments = sys.argv[1:]
os.chdir(f"{folder}/rank{os.environ['RANK']}")
sys.exit(main([argument.replace("RANK", os.environ["RANK"]) for argument in arguments]))
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A working directory for each of two ranks, with a config and the same files in each."""
    made = ensure_files(tiny_config(tmp_path).data)
    data = {"root": "data", **TINY["data"]}
    speed = {**TINY["speed"], "wrapper": "ddp"}
    for rank in (0, 1):
        (tmp_path / f"rank{rank}/data").mkdir(parents=True)
        for path in made:
            shutil.copy(path, tmp_path / f"rank{rank}/data" / path.name)
        written = yaml.safe_dump({**TINY, "data": data, "speed": speed})
        (tmp_path / f"rank{rank}/tiny.yaml").write_text(written)
    return tmp_path


def command(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess:
    return python(["-c", PROGRAM, folder, name, "--config", "tiny.yaml", *arguments], ranks=2)


def train(folder: Path, *arguments: str, seed: str = "3") -> subprocess.CompletedProcess:
    return command(folder, "train", "--out", f"{folder}/out", "--seed", seed, *arguments)


def files_of(folder: Path, rank: int) -> list[Path]:
    return sorted((folder / f"rank{rank}/data").glob("*.hdf5"))


def change(path: Path, key: str, by: Callable) -> None:
    with h5py.File(path, "r+") as file:
        file[key][:] = by(file[key][:])


def assert_refused_by_both(done: subprocess.CompletedProcess, facts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if states(line, facts)]
    assert len(lines) == 2, done.stderr


def test_ranks_with_the_same_data_in_folders_of_their_own_train(folder):
    done = train(folder, "--set", f"data.root={folder}/rankRANK/data")
    assert done.returncode == 0, done.stderr
    (start,) = events(folder / "out", "run_start")
    alone = python(
        ["-c", PROGRAM, folder, "train", "--config", "tiny.yaml", "--out", f"{folder}/alone", "--seed", "3"],
        RANK="0",
        WORLD_SIZE="1",
        LOCAL_RANK="0",
    )
    assert alone.returncode == 0, alone.stderr
    assert events(folder / "alone", "run_start")[0]["data_hash"] == start["data_hash"]


def test_different_fields_end_both_ranks_with_the_names_of_the_files(folder):
    same, other = (files_of(folder, rank)[1] for rank in (0, 1))
    change(other, "tensor", lambda tensor: 2 * tensor)
    done = train(folder)
    assert_refused_by_both(done, f"data.root: .. rank 0 .. {same} .. rank 1 .. {other}")
    assert not (folder / "out/metrics.jsonl").exists()


def test_the_same_fields_at_other_times_end_both_ranks(folder):
    for path in files_of(folder, 1):
        change(path, "t-coordinate", lambda times: 3 * times)
    done = train(folder)
    assert_refused_by_both(done, f"rank 0 {folder}/rank0/data .. rank 1 {folder}/rank1/data .. coordinates")


def test_a_file_that_one_rank_lacks_ends_both_with_its_rank(folder):
    files_of(folder, 1)[1].unlink()
    assert_refused_by_both(train(folder), "rank 1: data.advection1d: asks for beta 1.0")


def test_what_all_ranks_refuse_is_said_as_of_one(folder):
    for rank in (0, 1):
        files_of(folder, rank)[1].unlink()
    done = train(folder)
    assert_refused_by_both(done, "data.advection1d: asks for beta 1.0")
    assert "rank 1" not in done.stderr


def test_different_configs_or_seeds_end_both_ranks(folder):
    assert_refused_by_both(train(folder, seed="RANK"), "--seed: rank 0 got 0, rank 1 got 1")
    path = folder / "rank1/tiny.yaml"
    path.write_text(path.read_text().replace("updates: 7", "updates: 8"))
    assert_refused_by_both(train(folder), "train.updates: rank 0 got 7, rank 1 got 8")


def test_a_run_is_resumed_on_the_same_data_and_by_all_ranks_alike(folder):
    assert train(folder).returncode == 0
    metrics = folder / "out/metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:-1]))
    written = files_of(folder, 1)[0].read_bytes()
    change(files_of(folder, 1)[0], "tensor", lambda tensor: 2 * tensor)
    assert_refused_by_both(train(folder, "--resume"), "data.root: the ranks read different data")
    files_of(folder, 1)[0].write_bytes(written)
    done = train(folder, "--resume")
    assert done.returncode == 0, done.stderr
    shutil.copytree(folder / "out", folder / "out0")
    done = command(folder, "train", "--out", f"{folder}/outRANK", "--seed", "3", "--resume")
    assert_refused_by_both(done, f"rank 1: --resume: {folder}/out1/checkpoint.pt does not exist")


def test_a_profile_is_of_ranks_with_the_same_data(folder):
    change(files_of(folder, 1)[0], "tensor", lambda tensor: 2 * tensor)
    done = command(folder, "profile", "--out", f"{folder}/profile", "--steps", "1")
    assert_refused_by_both(done, "data.root: the ranks read different data")
