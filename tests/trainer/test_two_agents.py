"""A training on two nodes: what they must share is compared, and neither waits for one that cannot go on."""

import json
import shutil
from pathlib import Path

import h5py
import pytest
from tiny import ensure_files, events, tiny_config, tiny_file
from two_agents import Ended, train_on_two_nodes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Of the config, with the data that node 0 reads; node 1 has a copy on its own disk."""
    folder = tmp_path_factory.mktemp("nodes")
    ensure_files(tiny_config(folder).data)
    shutil.copytree(folder / "data", folder / "data-1")
    return folder


def train(
    folder: Path, outs: list[Path], errors: Path, *more: str, root_1: Path | None = None, **environment: str
) -> list[Ended]:
    arguments = ["--config", str(tiny_file(folder)), "--seed", "3", "--set", "train.updates=4", *more]
    roots = [folder / "data", root_1 or folder / "data-1"]
    of_node = [
        ["--out", str(out), "--set", f"data.root={root}"] for out, root in zip(outs, roots, strict=True)
    ]
    return train_on_two_nodes(arguments, of_node, errors, **environment)


def error_files(errors: Path) -> list[dict]:
    """Of all nodes, each agent having a folder of its own below the common one."""
    found = [json.loads(file.read_text())["message"] for file in errors.rglob("error.json")]
    return sorted(found, key=lambda one: one["extraInfo"]["rank"])


def assert_refused(done: list[Ended], errors: Path, said: str) -> None:
    assert [one.code != 0 for one in done] == [True, True], done
    told = error_files(errors)
    assert [one["extraInfo"]["rank"] for one in told] == [0, 1]
    for one in told:
        assert said in one["message"], one["message"]


@pytest.fixture(scope="module")
def trained(folder) -> Path:
    """The first half of a training whose nodes share no folder but that of the error files."""
    outs = [folder / "out-0", folder / "out-1"]
    done = train(folder, outs, folder / "errors", "--set", "train.checkpoint_every_updates=2")
    assert [one.code for one in done] == [0, 0], done
    return folder


def test_equal_copies_of_the_data_have_one_hash_which_is_that_of_all_ranks(trained):
    start = events(trained / "out-0", "run_start")[0]
    assert (start["world_size"], len(start["device_names"])) == (2, 2)
    assert start["data_hash"]
    # Rank 0, on the first node, writes the record alone.
    assert not (trained / "out-1" / "metrics.jsonl").exists()
    assert error_files(trained / "errors") == []


def test_data_that_differ_on_one_node_are_refused_on_both(folder, tmp_path):
    other = tmp_path / "data-1"
    shutil.copytree(folder / "data-1", other)
    with h5py.File(min(other.rglob("*.hdf5")), "r+") as file:
        file["tensor"][:] = 2 * file["tensor"][:]
    done = train(folder, [tmp_path / "0", tmp_path / "1"], tmp_path / "errors", root_1=other)
    assert_refused(done, tmp_path / "errors", "data.root: the ranks read different data")


def test_a_folder_that_one_node_alone_sees_is_not_resumed_from(trained, tmp_path):
    outs = [trained / "out-0", tmp_path / "not-shared"]
    done = train(trained, outs, tmp_path / "errors", "--resume", "--set", "train.updates=4")
    assert_refused(done, tmp_path / "errors", "name a folder that all nodes see")


def test_a_failure_on_one_node_ends_both_with_their_error_files(folder, tmp_path):
    outs = [tmp_path / "0", tmp_path / "1"]
    done = train(folder, outs, tmp_path / "errors", SPEEDPROOF_TEST_FAULT="crash@rank1@step2")
    assert [one.code != 0 for one in done] == [True, True], done
    told = error_files(tmp_path / "errors")
    assert [one["extraInfo"]["rank"] for one in told] == [0, 1]
    assert "rank 1 failed at step 2" in told[0]["message"]
    assert "simulated" in told[1]["message"]
    assert len({file.parents[2] for file in (tmp_path / "errors").rglob("error.json")}) == 2
