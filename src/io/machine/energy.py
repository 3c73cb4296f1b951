"""Prints the energy counters of GPUs twice a second, since nvidia-smi does not show them.

    python -I -S energy.py UUID ...

Each line is `index joules`, the index being that of the UUID among the arguments. The counter counts since
the driver was loaded. Where the library or the counter is missing there are no lines.
"""

import ctypes
import sys
import time

PERIOD_SECONDS = 0.5
NVML_SUCCESS = 0


def main(uuids: list[str]) -> int:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    if nvml.nvmlInit_v2() != NVML_SUCCESS:
        return 0
    handles = {index: handle_of(nvml, uuid) for index, uuid in enumerate(uuids)}
    while True:
        for index, handle in handles.items():
            joules = energy_joules(nvml, handle)
            if joules is not None:
                print(index, joules, flush=True)
        time.sleep(PERIOD_SECONDS)


def handle_of(nvml: ctypes.CDLL, uuid: str) -> ctypes.c_void_p | None:
    handle = ctypes.c_void_p()
    status = nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle))
    return handle if status == NVML_SUCCESS else None


def energy_joules(nvml: ctypes.CDLL, handle: ctypes.c_void_p | None) -> float | None:
    """NVML counts in millijoules."""
    counter = ctypes.c_ulonglong()
    if handle is None:
        return None
    status = nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(counter))
    return counter.value / 1000 if status == NVML_SUCCESS else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
