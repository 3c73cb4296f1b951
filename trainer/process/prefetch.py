"""What the start of a training waits for, begun by threads while it does something else.

Who needs it asks for it as ever and finds it done, or waits for the rest of it. A failure here says nothing:
who needs it fails the same way, and says so.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

Result = TypeVar("Result")

DRIVER_SECONDS = 10.0  # the most that the end of a process waits for a driver that is still opening


class BackgroundTask(Generic[Result]):
    """An action at work in a thread of its own.

    A daemon, since an interrupted training ends at once but for a checkpoint that is being written.
    """

    def __init__(self, action: Callable[..., Result], *arguments: object, **options: object) -> None:
        def quietly() -> None:
            with suppress(Exception):
                self._result = action(*arguments, **options)

        self._result: Result | None = None
        self._thread = threading.Thread(target=quietly, name=action.__name__, daemon=True)
        self._thread.start()

    def wait(self, seconds: float | None = None) -> Result | None:
        """Return what it returned, once it has; None where it failed, or is not done after so long."""
        self._thread.join(seconds)
        return self._result


def open_driver(device: int) -> BackgroundTask[None]:
    """Load CUDA's driver and make the context of a GPU, the one that torch uses then; most of a second.

    Without torch, whose import takes as long and may go on meanwhile.
    """
    # As torch sets it, which the driver reads when it opens: else older ones load every kernel of torch.
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    opening = BackgroundTask(_make_context, device)
    atexit.register(opening.wait, DRIVER_SECONDS)  # a process that ends while its driver opens could crash
    return opening


def hash_triton() -> BackgroundTask[None]:
    """Let Triton hash itself, by which it looks up what it compiled: libraries of half a gigabyte.

    Until it is done nothing may import what belongs to Triton: it imports its parts as well, and two
    threads that do so wait for each other.
    """
    with suppress(ImportError):
        import triton  # noqa: F401 - whole, before there is a thread
    return BackgroundTask(_hash_triton)


def _make_context(device: int) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(handle), device) == 0:
        # Never released: it is the context of the whole process, and ends with it.
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)


def _hash_triton() -> None:
    from triton.runtime.cache import triton_key

    triton_key()  # keeps what it returns
