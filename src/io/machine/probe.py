"""Times a matrix product and a copy on the first COUNT visible GPUs and prints one JSON line for each.

    python probe.py COUNT

All GPUs work at once, as in a training, and for seconds before they are timed: until then a GPU is neither
warm nor at its power limit, and two measurements of the same one differ by over 10%. The data is random: on
zeros a GPU draws less power and is over 10% faster than it can be in a training.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable

import torch

MATRIX_SIZE = 8192  # fills an H200 and takes 0.4 GB
COPY_BYTES = 1 << 30
WARM_UP_SECONDS = 2.0
WARM_UP_CHUNK = 20
TIMED_REPEATS = 100

Work = Callable[[], object]


def main(arguments: list[str]) -> int:
    count = min(int(arguments[0]), torch.cuda.device_count())
    if count == 0:
        return 0
    devices = [torch.device("cuda", index) for index in range(count)]
    product_seconds = median_seconds(devices, [product(device) for device in devices])
    copy_seconds = median_seconds(devices, [copy(device) for device in devices])
    for device, seconds_a_product, seconds_a_copy in zip(devices, product_seconds, copy_seconds, strict=True):
        report = {
            "uuid": f"GPU-{torch.cuda.get_device_properties(device).uuid}",
            "productTflops": 2 * MATRIX_SIZE**3 / seconds_a_product / 1e12,
            # Every byte is read and written.
            "copyGigabytesPerSecond": 2 * COPY_BYTES / seconds_a_copy / 1e9,
        }
        print(json.dumps(report), flush=True)
    return 0


def product(device: torch.device) -> Work:
    shape = (MATRIX_SIZE, MATRIX_SIZE)
    left, right, result = (torch.randn(shape, device=device, dtype=torch.bfloat16) for _ in range(3))
    return lambda: torch.mm(left, right, out=result)


def copy(device: torch.device) -> Work:
    source = torch.randint(0, 256, (COPY_BYTES,), device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def median_seconds(devices: list[torch.device], works: list[Work]) -> list[float]:
    """Medians over the repeats, one per device."""
    deadline = time.monotonic() + WARM_UP_SECONDS
    while time.monotonic() < deadline:
        repeat(devices, works, WARM_UP_CHUNK)
    return [median_interval(events) for events in repeat(devices, works, TIMED_REPEATS)]


def repeat(devices: list[torch.device], works: list[Work], times: int) -> list[list[torch.cuda.Event]]:
    """Gives every device its work in turn and returns the events before, between and after."""
    events: list[list[torch.cuda.Event]] = [[] for _ in devices]
    for turn in range(times + 1):
        for device, work, recorded in zip(devices, works, events, strict=True):
            with torch.cuda.device(device):
                if turn > 0:
                    work()
                event = torch.cuda.Event(enable_timing=True)
                event.record()
                recorded.append(event)
    for device in devices:
        torch.cuda.synchronize(device)
    return events


def median_interval(events: list[torch.cuda.Event]) -> float:
    milliseconds = sorted(before.elapsed_time(after) for before, after in itertools.pairwise(events))
    return milliseconds[len(milliseconds) // 2] / 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
