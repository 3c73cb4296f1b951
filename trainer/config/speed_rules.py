"""Speed switches that cannot work together, or not on this device, each refused with its reason."""

import re
from collections.abc import Iterator
from typing import Literal

from trainer.config.reader import show
from trainer.config.schema import Config, SpeedConfig
from trainer.errors import ConfigError, Problem
from trainer.switches.model import MODEL_SWITCHES

UNTRACED_UPDATES = 10  # at the start of a process, while everything warms up


def broken_speed_rules(config: Config) -> Iterator[Problem]:
    """Yield what is wrong whatever the device."""
    speed = config.speed
    yield from _cuda_graph(speed, config.optimizer.matrices)
    if config.train.detect_anomaly:
        yield from _anomalies(speed)
    for switch in MODEL_SWITCHES:
        yield from switch.broken_rules(speed, config.model)
    yield from _nccl(speed.nccl)
    yield from _offloading(speed)
    yield from _trace(speed.trace_updates, config.cut.steps)
    if speed.reduce_gradients == "every-micro-step" and speed.accumulation_steps == 1:
        yield Problem(
            "speed.reduce_gradients",
            'got "every-micro-step", but speed.accumulation_steps of 1 leaves one: expected last-micro-step',
        )
    if speed.muon != "loop" and config.optimizer.matrices == "adamw":
        yield Problem(
            "speed.muon",
            f'got "{speed.muon}", but optimizer.matrices is adamw, so Muon has none: expected loop',
        )
    if speed.muon == "sharded" and speed.wrapper == "none":
        yield Problem(
            "speed.muon",
            'got "sharded", but speed.wrapper none is of one rank, which has no other to share the matrices '
            "with: expected loop or batched",
        )


def require_device_fits(speed: SpeedConfig, device: Literal["cpu", "cuda"], world_size: int) -> None:
    """The device is known only at the start of a training."""
    if device == "cpu" and speed.cuda_graph:
        raise ConfigError("speed.cuda_graph: got true, but there is no GPU: make it false")
    if device == "cpu" and speed.compile_mode == "reduce-overhead":
        raise ConfigError(
            'speed.compile_mode: got "reduce-overhead", which captures graphs, but there is no GPU: '
            "expected default"
        )
    for switch in MODEL_SWITCHES if device == "cpu" else ():
        if remedy := switch.without_gpu(speed):
            value = show(getattr(speed, switch.name))
            raise ConfigError(f"speed.{switch.name}: got {value}, but there is no GPU: {remedy}")
    if speed.cuda_graph and world_size > 1 and speed.wrapper != "flat":
        raise ConfigError(
            f'speed.wrapper: got "{speed.wrapper}", but a CUDA graph over {world_size} ranks needs gradients '
            "that keep their place: expected flat"
        )


def _cuda_graph(speed: SpeedConfig, matrices: str) -> Iterator[Problem]:
    if not speed.cuda_graph:
        return
    if speed.data_path != "resident":
        yield Problem(
            "speed.data_path", 'got "loader", but speed.cuda_graph reads on the GPU: expected resident'
        )
    if speed.precision == "fp16" and not speed.fused_adamw:
        yield Problem(
            "speed.fused_adamw",
            "got false, but only fused AdamW can skip an update of fp16 inside a CUDA graph: expected true "
            "with speed.cuda_graph",
        )
    if matrices == "muon" and speed.muon == "loop":
        yield Problem(
            "speed.muon",
            'got "loop", which reads its learning rate on the host: expected batched or sharded with '
            "speed.cuda_graph",
        )
    if speed.compile_mode == "reduce-overhead":
        yield Problem(
            "speed.compile_mode",
            'got "reduce-overhead", which captures graphs of its own: expected another with speed.cuda_graph',
        )


def _anomalies(speed: SpeedConfig) -> Iterator[Problem]:
    """Of train.detect_anomaly."""
    if speed.cuda_graph:
        yield Problem(
            "train.detect_anomaly",
            "got true, but a CUDA graph replays its operations without a look: expected false with "
            "speed.cuda_graph",
        )
    if speed.precision == "fp16":
        yield Problem(
            "train.detect_anomaly",
            "got true, but the gradients of fp16 overflow until its scaler has found its place: expected "
            "false, or speed.precision fp32 or bf16",
        )
    if speed.compile != "off":
        yield Problem(
            "train.detect_anomaly",
            "got true, but the backward pass of compiled code is one operation: expected false, or "
            "speed.compile off",
        )


def _nccl(settings: tuple[str, ...]) -> Iterator[Problem]:
    for index, setting in enumerate(settings):
        if not re.fullmatch(r"NCCL_[A-Z0-9_]+=\S+", setting):
            yield Problem(
                f"speed.nccl[{index}]",
                f'got "{setting}", expected a variable of NCCL and its value, such as NCCL_DEBUG=WARN',
            )


def _offloading(speed: SpeedConfig) -> Iterator[Problem]:
    if speed.offload_adamw and speed.cuda_graph:
        yield Problem(
            "speed.offload_adamw", "got true, but no CUDA graph holds a step of the host: expected false"
        )
    if speed.offload_adamw and speed.fused_adamw:
        yield Problem(
            "speed.fused_adamw",
            "got true, but speed.offload_adamw steps on the host, fused as it is: expected false",
        )
    if speed.offload_adamw and speed.wrapper == "fsdp2":
        yield Problem(
            "speed.offload_adamw", "got true, but fsdp2 shards what it would copy whole: expected false"
        )


def _trace(traced: int, steps: int) -> Iterator[Problem]:
    if traced and UNTRACED_UPDATES + traced > steps:
        yield Problem(
            "speed.trace_updates",
            f"got {traced}, but of {steps} steps the first {UNTRACED_UPDATES} are not traced: "
            f"expected at most {max(0, steps - UNTRACED_UPDATES)}, or {UNTRACED_UPDATES + traced} steps",
        )
