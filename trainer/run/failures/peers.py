"""A failure on one rank ends all: it is announced in torchrun's store, and every rank watches for it.

Without this, peers hang in a collective until it times out, or end with a misleading network error.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import torch.distributed as dist

from trainer.process.exit import FAILED, SAVING, end_unsaved
from trainer.process.terminal import say
from trainer.run.failures.failure import Failure, write_error_file

POLL_SECONDS = 0.2
FAREWELL_SECONDS = 3.0  # how long a failed rank waits for the others to write their error files
SAVING_SECONDS = 120.0  # and for one that is writing a checkpoint, or is stuck in that


class Peers:
    """Watches for the failures of other ranks, from a thread, until it is closed."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._ending = threading.Lock()  # the first to take it ends the process
        self._finished = threading.Event()
        # Without torchrun's own store there is none yet: rank 0 opens it with the process group.
        shared = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        self._store = _connect() if size > 1 and shared else None
        if self._store:
            threading.Thread(target=self._watch, args=(_connect(),), daemon=True).start()

    def close(self) -> None:
        self._finished.set()

    def end_all(self, failure: Failure) -> None:
        """Tell the others, write this rank's error file, wait a little for theirs, and end the process."""
        store = self._store
        with self._ending:  # before the others are told: this rank's own watcher hears it as well
            if store:
                _quietly(lambda: store.compare_set("failure", "", failure.to_json()))
            self._end(failure, store)

    def _watch(self, store: dist.Store) -> None:
        while not self._finished.wait(POLL_SECONDS):
            try:
                announced = store.get("failure") if store.check(["failure"]) else None
            except RuntimeError:  # the store went with its owner
                return
            if announced:
                with self._ending:
                    self._end(Failure(**json.loads(announced)).seen_from(self.rank), store)

    def _end(self, failure: Failure, store: dist.Store | None) -> None:
        write_error_file(failure)
        text = f"rank {self.rank}: {failure.message}\n{failure.call_stack}"
        say(text.rstrip())
        if store:
            _quietly(lambda: store.add("saving", 1))
        SAVING.acquire(timeout=SAVING_SECONDS)  # and keep it, so that none is begun
        try:
            if store:
                _quietly(lambda: self._wait_for_the_others(store))
        finally:  # also where somebody interrupts that
            end_unsaved(FAILED)  # a normal exit would wait for a collective that no one joins

    def _wait_for_the_others(self, store: dist.Store) -> None:
        """Torchrun ends them when this rank has ended, also in the middle of a checkpoint."""
        store.add("saving", -1)
        store.add("ended", 1)
        started = time.monotonic()
        while store.add("ended", 0) < self.size:
            seconds = SAVING_SECONDS if store.add("saving", 0) else FAREWELL_SECONDS
            if time.monotonic() > started + seconds:
                return
            time.sleep(POLL_SECONDS / 4)


def _connect() -> dist.Store:
    """A connection of its own: the process group's may be blocked in a wait."""
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=False,
        timeout=timedelta(seconds=30),
    )
    attempt = (
        f"{os.environ.get('TORCHELASTIC_RUN_ID', '')}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    )
    return dist.PrefixStore(f"speedproof/{attempt}", store)


def _quietly(action: Callable[[], object]) -> None:
    """The store may be gone when a run is being stopped; the error file matters more."""
    try:
        action()
    except RuntimeError as error:
        say(f"peers: {error}")
