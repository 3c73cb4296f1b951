"""What the start of a training waits for, begun by threads beside what else it does.

Whoever needs it asks for it as ever and finds it done, or waits for what is left of it. What fails here is
not told: it fails again there.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules


def open_driver(device: int) -> threading.Thread:
    """Load CUDA's driver and make the context of a GPU, the one that torch uses then; most of a second.

    Without torch, whose import takes as long and may go on meanwhile.
    """
    return _begun(_make_context, device)


def hash_triton() -> threading.Thread:
    """Let Triton hash itself, by which it looks up what it compiled: libraries of half a gigabyte.

    Once torch is imported: what imports it beside this could meet it half made.
    """
    return _begun(_hash_triton)


def load_kernels() -> threading.Thread:
    """Import our kernels and hash their sources; half a second of Python.

    Beside what does not run Python, such as the drawing of weights: threads that read data wait for it.
    """
    return _begun(_load_kernels)


def _make_context(device: int) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(handle), device) == 0:
        # Never released: it is the context of the whole process, and ends with it.
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)


def _hash_triton() -> None:
    from triton.runtime.cache import triton_key

    triton_key()  # keeps what it returns


def _load_kernels() -> None:
    from triton.runtime.jit import JITFunction

    import trainer.kernels

    for found in iter_modules(trainer.kernels.__path__, f"{trainer.kernels.__name__}."):
        for member in vars(import_module(found.name)).values():
            if isinstance(member, JITFunction):
                _ = member.cache_key  # keeps it


def _begun(action: Callable[..., None], *arguments: object) -> threading.Thread:
    def quietly() -> None:
        with suppress(Exception):
            action(*arguments)

    # No daemon: a process that ends while its driver starts could crash.
    thread = threading.Thread(target=quietly, name=action.__name__)
    thread.start()
    return thread
