"""What a rank that fails leaves behind, whenever the others hear of it."""

import json
import multiprocessing
import os
import threading
import time
from dataclasses import asdict
from unittest.mock import Mock

import pytest
import torch
import torch.distributed as dist
from forked import python
from tiny import ROOT
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

from trainer.errors import CannotWrite, ConfigError, Diverged, RanksDisagree
from trainer.run.failures import peers
from trainer.run.failures.failure import Failure, write_error_file
from trainer.run.failures.peers import Peers

FAILING = """
import os, time
import torch.distributed as dist
from trainer.run.failures import peers
from trainer.run.failures.failure import Failure

class Slow(dist.PrefixStore):
    def compare_set(self, *arguments):
        answer = super().compare_set(*arguments)
        time.sleep(4 * peers.POLL_SECONDS)  # as on a busy host
        return answer

store = dist.TCPStore("localhost", 0, is_master=True)
os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(store.port), TORCHELASTIC_USE_AGENT_STORE="True")
connect = peers._connect
peers._connect = lambda: Slow("slow", connect())
peers.FAREWELL_SECONDS = 0
peers.Peers(rank=1, size=2).end_all(Failure("the root of it", "error", step=3, rank=1, call_stack=""))
"""


@pytest.mark.slow
def test_the_rank_that_failed_keeps_its_own_message_where_the_store_answers_late(tmp_path):
    error_file = tmp_path / "error.json"
    done = python(["-c", FAILING], TORCHELASTIC_ERROR_FILE=str(error_file))
    assert done.returncode == 1
    assert json.loads(error_file.read_text())["message"]["message"] == "the root of it", done.stderr


FAILED = Failure("ValueError: x", "error", step=3, rank=0, call_stack="where")


class Ended(BaseException):
    """In place of the end of the process."""


@pytest.fixture
def store(monkeypatch):
    """The store of two ranks, of which one is to end in the test."""
    store = dist.HashStore()
    monkeypatch.setattr(peers, "_connect", lambda: store)
    monkeypatch.setattr(os, "_exit", Mock(side_effect=Ended))
    monkeypatch.setattr(peers, "FAREWELL_SECONDS", 0)
    monkeypatch.setattr(peers, "SAVING", threading.Lock())  # which whoever ends keeps
    monkeypatch.setattr(threading, "Thread", Mock())
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    return store


def test_the_failure_that_was_announced_first_stays(store):
    store.set("failure", FAILED.to_json())
    with pytest.raises(Ended):
        Peers(1, 2).end_all(Failure("another", "error", step=4, rank=1, call_stack=""))
    assert json.loads(store.get("failure")) == asdict(FAILED)


def test_a_rank_that_has_finished_is_not_ended_by_another(store):
    finished = Peers(1, 2)
    store.set("failure", FAILED.to_json())
    with pytest.raises(Ended):
        finished._watch(store)
    finished.close()
    finished._watch(store)


def test_a_failed_rank_waits_until_all_have_ended(store, monkeypatch):
    waits = Mock(side_effect=lambda _seconds: store.add("ended", 1))
    monkeypatch.setattr(time, "sleep", waits)
    monkeypatch.setattr(peers, "FAREWELL_SECONDS", 60)
    with pytest.raises(Ended):
        Peers(1, 3).end_all(FAILED)
    assert (waits.call_count, store.add("ended", 0)) == (2, 3)


def test_a_failed_rank_waits_longer_for_one_that_is_writing_a_checkpoint(store, monkeypatch):
    def saved(_seconds: float) -> None:
        if waits.call_count == 3:
            store.add("saving", -1)
            store.add("ended", 1)

    waits = Mock(side_effect=saved)
    monkeypatch.setattr(time, "sleep", waits)
    store.add("saving", 1)
    with pytest.raises(Ended):
        Peers(1, 2).end_all(FAILED)
    assert (waits.call_count, store.add("ended", 0)) == (3, 2)


def test_a_rank_that_is_writing_a_checkpoint_tells_the_others_until_that_is_whole(store, monkeypatch):
    def whole(timeout: float) -> bool:
        assert timeout == peers.SAVING_SECONDS
        assert (store.add("saving", 0), store.add("ended", 0)) == (1, 0)
        return True

    monkeypatch.setattr(peers, "SAVING", Mock(acquire=whole))
    with pytest.raises(Ended):
        Peers(0, 2).end_all(FAILED)
    assert (store.add("saving", 0), store.add("ended", 0)) == (0, 1)


def test_a_rank_ends_with_its_error_file_where_the_store_is_gone(store, monkeypatch, tmp_path):
    gone = Mock(side_effect=RuntimeError("Connection reset by peer"))
    monkeypatch.setattr(peers, "_connect", lambda: Mock(dist.Store, compare_set=gone, add=gone, check=gone))
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    ranks = Peers(0, 2)
    ranks._watch(peers._connect())
    with pytest.raises(Ended):
        ranks.end_all(FAILED)
    assert json.loads((tmp_path / "error.json").read_text())["message"]["message"] == "ValueError: x"
    os._exit.assert_called_once_with(1)


def test_no_worker_outlives_a_rank_that_failed(store, monkeypatch):
    worker = Mock()
    monkeypatch.setattr(multiprocessing, "active_children", lambda: [worker])
    with pytest.raises(Ended):
        Peers(0, 2).end_all(FAILED)
    worker.kill.assert_called_once_with()


def test_ranks_without_a_store_of_torchruns_look_for_none(store, monkeypatch):
    monkeypatch.setattr(peers, "_connect", Mock(side_effect=AssertionError))
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE")
    Peers(0, 2)


def test_a_restart_does_not_hear_what_ended_the_attempt_before(monkeypatch):
    shared = dist.HashStore()
    monkeypatch.setattr(dist, "TCPStore", lambda *_, **__: shared)
    for name, value in (("MASTER_ADDR", "localhost"), ("MASTER_PORT", "1"), ("TORCHELASTIC_RUN_ID", "a")):
        monkeypatch.setenv(name, value)
    heard = []
    for attempt in ("0", "0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", attempt)
        heard.append(peers._connect().check(["failure"]))
        peers._connect().set("failure", "x")
    assert heard == [False, True, False]


def test_torchrun_reads_the_error_file(monkeypatch, tmp_path):
    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    monkeypatch.setattr(time, "time", lambda: 12.5)
    write_error_file(FAILED)
    read = ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file=str(path))
    assert (read.message["message"], read.timestamp) == ("ValueError: x", 12)


def test_a_failure_seen_from_another_rank_says_whose_it_was():
    seen = FAILED.seen_from(2)
    assert seen.message == "StoppedWithPeer: rank 0 failed at step 3: ValueError: x"
    assert (seen.cause, seen.step, seen.rank, seen.call_stack) == ("error", 3, 2, "where")


@pytest.mark.parametrize(
    ("error", "cause", "step", "has_stack"),
    [
        (Diverged(3, "x"), "diverged", 3, False),
        (RanksDisagree(3, "x"), "error", 3, False),
        (ConfigError("x"), "error", 5, False),
        (CannotWrite("x", ROOT, OSError(28, "No space left"), resumable=False), "error", 5, False),
        (torch.OutOfMemoryError("CUDA out of memory"), "out-of-memory", 5, True),
        (MemoryError(), "out-of-memory", 5, True),
        (ValueError("text of an out of memory"), "error", 5, True),
    ],
)
def test_a_failure_is_of_the_step_that_its_error_names(error, cause, step, has_stack):
    failure = Failure.of(error, step=5, rank=1)
    assert (failure.cause, failure.step, failure.rank) == (cause, step, 1)
    assert bool(failure.call_stack) == has_stack
