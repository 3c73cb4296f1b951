"""What the start of a training waits for, begun by threads while it does something else.

Who needs it asks for it as ever and finds it done, or waits for the rest of it. A preparation that fails says
nothing: who needs it fails the same way, and says so. What is begun for its result raises what it raised.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")

DRIVER_SECONDS = 10.0  # the most that the end of a process waits for a driver that is still opening


def open_driver(device: int) -> threading.Thread:
    """Load CUDA's driver and make the context of a GPU, the one that torch uses then; most of a second.

    Without torch, whose import takes as long and may go on meanwhile.
    """
    # As torch sets it, which the driver reads when it opens: else older ones load every kernel of torch.
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    thread = _in_background(_make_context, device)
    atexit.register(thread.join, DRIVER_SECONDS)  # a process that ends while its driver opens could crash
    return thread


def hash_triton() -> threading.Thread:
    """Let Triton hash itself, by which it looks up what it compiled: libraries of half a gigabyte.

    Until it is joined nothing may import what belongs to Triton: it imports its parts as well, and two
    threads that do so wait for each other.
    """
    with suppress(ImportError):
        import triton  # noqa: F401 - whole, before there is a thread
    return _in_background(_hash_triton)


def begin(action: Callable[..., Result], *arguments: object) -> Future[Result]:
    """Let a thread work for a result, which is asked for later and raises then if the work did."""
    executor = ThreadPoolExecutor(1, action.__name__)
    future = executor.submit(action, *arguments)
    executor.shutdown(wait=False)
    return future


def _make_context(device: int) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(handle), device) == 0:
        # Never released: it is the context of the whole process, and ends with it.
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)


def _hash_triton() -> None:
    from triton.runtime.cache import triton_key

    triton_key()  # keeps what it returns


def _in_background(action: Callable[..., None], *arguments: object) -> threading.Thread:
    def quietly() -> None:
        with suppress(Exception):
            action(*arguments)

    # A daemon, since an interrupted training ends at once but for a checkpoint that is being written.
    thread = threading.Thread(target=quietly, name=action.__name__, daemon=True)
    thread.start()
    return thread
