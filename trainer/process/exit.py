"""How a process of ours ends when its work is done, or given up."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from typing import NoReturn

# Held while a checkpoint is written, in a thread or not. Who ends the process takes it first.
SAVING = threading.Lock()

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 128 + signal.SIGINT  # as shells have it
UNREAD = 128 + signal.SIGPIPE


def end_at_once(code: int) -> NoReturn:
    """Without what extensions do at exit, and without waiting for what waits, such as a compiler's pools.

    HDF5 tries again what it could not write, and that has crashed; Triton reports each object that is left;
    one of seventy launches of two ranks was aborted by a thread of torch's, with all of its work done.
    """
    SAVING.acquire()
    end_unsaved(code)


def end_unsaved(code: int) -> NoReturn:
    """The same in the middle of a checkpoint, where one is under way."""
    for child in multiprocessing.active_children():
        child.kill()
    if sys.stdout:
        with contextlib.suppress(OSError):  # the failed write was already reported
            sys.stdout.flush()
    os._exit(code)
