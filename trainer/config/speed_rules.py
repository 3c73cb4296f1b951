"""Speed switches that cannot work together, or not on this device; each message gives the reason."""

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
            'got "every-micro-step", expected last-micro-step: speed.accumulation_steps 1 has one micro-step',
        )
    if speed.muon != "loop" and config.optimizer.matrices == "adamw":
        yield Problem(
            "speed.muon",
            f'got "{speed.muon}", expected loop: optimizer.matrices is adamw, so Muon is not used',
        )
    if speed.muon == "sharded" and speed.wrapper == "none":
        yield Problem(
            "speed.muon",
            'got "sharded", expected loop or batched: speed.wrapper none trains on a single rank, '
            "so there is no other rank to share the matrices with",
        )


def require_device_fits(speed: SpeedConfig, device: Literal["cpu", "cuda"], world_size: int) -> None:
    """The device is known only at the start of a training."""
    if device == "cpu" and speed.cuda_graph:
        raise ConfigError("speed.cuda_graph: got true, but there is no GPU. Set it to false")
    if device == "cpu" and speed.compile_mode == "reduce-overhead":
        raise ConfigError(
            'speed.compile_mode: got "reduce-overhead", which captures CUDA graphs, but there is no GPU. '
            "Set it to default"
        )
    for switch in MODEL_SWITCHES if device == "cpu" else ():
        if remedy := switch.without_gpu(speed):
            value = show(getattr(speed, switch.name))
            raise ConfigError(f"speed.{switch.name}: got {value}, but there is no GPU. {remedy}")
    if speed.cuda_graph and world_size > 1 and speed.wrapper != "flat":
        raise ConfigError(
            f'speed.wrapper: got "{speed.wrapper}", expected flat: a CUDA graph over {world_size} ranks '
            "needs gradients at fixed addresses"
        )


def _cuda_graph(speed: SpeedConfig, matrices: str) -> Iterator[Problem]:
    if not speed.cuda_graph:
        return
    if speed.data_path != "resident":
        yield Problem(
            "speed.data_path",
            'got "loader", expected resident: speed.cuda_graph reads its batches on the GPU',
        )
    if speed.precision == "fp16" and not speed.fused_adamw:
        yield Problem(
            "speed.fused_adamw",
            "got false, expected true with speed.cuda_graph: only fused AdamW can skip an fp16 update inside "
            "a CUDA graph",
        )
    if matrices == "muon" and speed.muon == "loop":
        yield Problem(
            "speed.muon",
            'got "loop", expected batched or sharded with speed.cuda_graph: loop reads its learning rate on '
            "the host",
        )
    if speed.compile_mode == "reduce-overhead":
        yield Problem(
            "speed.compile_mode",
            'got "reduce-overhead", expected another mode with speed.cuda_graph: this one captures its own '
            "CUDA graphs",
        )


def _anomalies(speed: SpeedConfig) -> Iterator[Problem]:
    """Of train.detect_anomaly."""
    if speed.cuda_graph:
        yield Problem(
            "train.detect_anomaly",
            "got true, expected false with speed.cuda_graph: a CUDA graph replays its operations unchecked",
        )
    if speed.precision == "fp16":
        yield Problem(
            "train.detect_anomaly",
            "got true, expected false, or speed.precision fp32 or bf16: fp16 gradients overflow until the "
            "loss scale has settled",
        )
    if speed.compile != "off":
        yield Problem(
            "train.detect_anomaly",
            "got true, expected false, or speed.compile off: the backward pass of compiled code is a single "
            "operation",
        )


def _nccl(settings: tuple[str, ...]) -> Iterator[Problem]:
    for index, setting in enumerate(settings):
        if not re.fullmatch(r"NCCL_[A-Z0-9_]+=\S+", setting):
            yield Problem(
                f"speed.nccl[{index}]",
                f'got "{setting}", expected an NCCL variable and its value, such as NCCL_DEBUG=WARN',
            )


def _offloading(speed: SpeedConfig) -> Iterator[Problem]:
    if speed.offload_adamw and speed.cuda_graph:
        yield Problem(
            "speed.offload_adamw",
            "got true, expected false with speed.cuda_graph: it steps on the host, outside any CUDA graph",
        )
    if speed.offload_adamw and speed.fused_adamw:
        yield Problem(
            "speed.fused_adamw",
            "got true, expected false: speed.offload_adamw steps on the host and is already fused",
        )
    if speed.offload_adamw and speed.wrapper == "fsdp2":
        yield Problem(
            "speed.offload_adamw",
            "got true, expected false with fsdp2: it copies whole tensors, which fsdp2 shards",
        )


def _trace(traced: int, steps: int) -> Iterator[Problem]:
    if traced and UNTRACED_UPDATES + traced > steps:
        yield Problem(
            "speed.trace_updates",
            f"got {traced}, expected at most {max(0, steps - UNTRACED_UPDATES)} of {steps} steps: the first "
            f"{UNTRACED_UPDATES} are not traced. Lower it, or train {UNTRACED_UPDATES + traced} steps",
        )
