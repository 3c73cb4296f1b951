"""Seconds of steps on a GPU are between its own marks, read without waiting within a step."""

import torch

from trainer.run.record.step_clock import CudaClock, HostClock, step_clock


class Stream:
    """Counts milliseconds as a device would, and what waited for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits = 0


def test_a_step_on_a_gpu_takes_what_lies_between_its_start_and_its_end(monkeypatch):
    stream = Stream()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = stream.now

        def synchronize(self) -> None:
            stream.waits += 1

        def elapsed_time(self, later: "Event") -> float:
            return later.at - self.at

    monkeypatch.setattr(torch.cuda, "Event", Event)
    clock = CudaClock()
    for milliseconds in (30.0, 50.0):
        stream.now += 7.0  # between steps
        clock.start()
        stream.now += milliseconds
        clock.stop()
    assert stream.waits == 0
    assert clock.drain() == [0.03, 0.05]
    assert stream.waits == 1
    assert clock.drain() == []


def test_each_device_has_its_clock():
    assert isinstance(step_clock(torch.device("cpu")), HostClock)
    assert isinstance(step_clock(torch.device("cuda")), CudaClock)
