"""One thread, and the signal handlers as they were: scripts answer a termination by an exception."""

import signal
from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)  # on tiny tensors a second thread is only waited for


@pytest.fixture(autouse=True)
def own_termination() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
