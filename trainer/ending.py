"""How a process of ours ends when its work is done, or given up."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import NoReturn

SAVING = "saves a checkpoint"  # name of a thread that is waited for

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 128 + signal.SIGINT  # as shells have it
UNREAD = 128 + signal.SIGPIPE

POLL_SECONDS = 0.05


def end_at_once(code: int) -> NoReturn:
    """Without what extensions do at exit, and without waiting for what waits, such as a compiler's pools.

    HDF5 tries again what it could not write, and that has crashed; Triton reports each object that is left;
    one of seventy launches of two ranks was aborted by a thread of torch's, with all of its work done.
    """
    for child in multiprocessing.active_children():
        child.kill()
    # A checkpoint may be under way. Who interrupted its join has made Python take that thread for ended.
    while any(thread.name == SAVING for thread in threading.enumerate()):
        time.sleep(POLL_SECONDS)
    if sys.stdout:
        with contextlib.suppress(OSError):  # what could not be written was told
            sys.stdout.flush()
    os._exit(code)
