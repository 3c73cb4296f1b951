"""Speed switches that cannot work together, or not on this device, each refused with its reason."""

import re
from collections.abc import Iterator
from typing import Literal

from trainer.config.reader import Problem
from trainer.config.schema import Config
from trainer.errors import ConfigError
from trainer.kernels.head_parts import head_parts

ONE_TILE_TOKENS = 128  # scores of more do not fit the registers of one program
UNTRACED_UPDATES = 10  # at the start: trainer/switches/trace.py lets everything warm up
FP8_MULTIPLE = 16  # what torch._scaled_mm asks of the widths of its factors
GPU_ATTENTION = ("efficient", "flash3", "cudnn", "flex", "one-tile")


def broken_speed_rules(config: Config) -> Iterator[Problem]:
    """Yield what is wrong whatever the device."""
    yield from _cuda_graph(config)
    yield from _compile(config)
    yield from _fp8_products(config)
    yield from _attention(config)
    yield from _cross_attention(config)
    yield from _fused_pointwise(config)
    yield from _nccl(config)
    yield from _offloading(config)
    yield from _trace(config)


def require_device_fits(config: Config, device: Literal["cpu", "cuda"], world_size: int) -> None:
    """The device is known only at the start of a training."""
    speed = config.speed
    if device == "cpu" and speed.cuda_graph:
        raise ConfigError("speed.cuda_graph: got true, but there is no GPU: make it false")
    if device == "cpu" and speed.attention in GPU_ATTENTION:
        raise ConfigError(
            f'speed.attention: got "{speed.attention}", but there is no GPU: expected auto, math or flash'
        )
    if device == "cpu" and speed.cross_attention != "auto":
        raise ConfigError(
            f'speed.cross_attention: got "{speed.cross_attention}", but there is no GPU: expected auto'
        )
    if device == "cpu" and speed.fused_pointwise:
        raise ConfigError("speed.fused_pointwise: got true, but there is no GPU: make it false")
    if speed.cuda_graph and world_size > 1 and speed.wrapper != "flat":
        raise ConfigError(
            f'speed.wrapper: got "{speed.wrapper}", but a CUDA graph over {world_size} ranks needs gradients '
            "that keep their place: expected flat"
        )


def _cuda_graph(config: Config) -> Iterator[Problem]:
    speed = config.speed
    if not speed.cuda_graph:
        return
    if speed.data_path != "resident":
        yield Problem(
            "speed.data_path", 'got "loader", but speed.cuda_graph reads on the GPU: expected resident'
        )
    if speed.precision == "fp16":
        yield Problem(
            "speed.precision",
            'got "fp16", whose scaler asks the GPU in every step whether to skip it, which a graph cannot: '
            "expected bf16 or fp32 with speed.cuda_graph",
        )
    if config.optimizer.matrices == "muon" and speed.muon == "loop":
        yield Problem(
            "speed.muon",
            'got "loop", which reads its learning rate on the host: expected batched or sharded with '
            "speed.cuda_graph",
        )
    if config.recipe.batch_doubles_after:
        yield Problem(
            "recipe.batch_doubles_after",
            f"got {list(config.recipe.batch_doubles_after)}, but a CUDA graph has batches of one size: "
            "expected none with speed.cuda_graph",
        )
    if speed.compile_mode == "reduce-overhead":
        yield Problem(
            "speed.compile_mode",
            'got "reduce-overhead", which captures graphs of its own: expected another with speed.cuda_graph',
        )


def _compile(config: Config) -> Iterator[Problem]:
    speed = config.speed
    if speed.compile_mode != "default" and speed.compile == "off":
        yield Problem("speed.compile_mode", f'got "{speed.compile_mode}", but speed.compile is off')
    if speed.compile_mode == "reduce-overhead" and speed.accumulation_steps > 1:
        yield Problem(
            "speed.compile_mode",
            'got "reduce-overhead", whose graphs overwrite gradients that speed.accumulation_steps '
            f"{speed.accumulation_steps} adds up (pytorch issue 169545): expected default",
        )
    if speed.compile == "model" and speed.wrapper == "fsdp2":
        yield Problem(
            "speed.compile", 'got "model", but fsdp2 gathers weights between blocks: expected blocks'
        )


def _fp8_products(config: Config) -> Iterator[Problem]:
    speed, width = config.speed, config.model.hidden_dim
    if not speed.fp8_products:
        return
    if speed.precision != "bf16":
        yield Problem(
            "speed.precision",
            f'got "{speed.precision}", but what speed.fp8_products gives is bf16: expected bf16',
        )
    if speed.fused_pointwise:
        yield Problem(
            "speed.fp8_products",
            "got true, but speed.fused_pointwise multiplies in kernels of its own: expected false",
        )
    if width % FP8_MULTIPLE:
        yield Problem(
            "model.hidden_dim",
            f"got {width}, but speed.fp8_products takes multiples of {FP8_MULTIPLE} alone",
        )


def _attention(config: Config) -> Iterator[Problem]:
    speed = config.speed
    if speed.attention == "flex" and speed.compile == "off":
        yield Problem(
            "speed.attention",
            'got "flex", which is slow unless compiled: expected speed.compile blocks',
        )
    if speed.attention in ("flash", "flash3", "cudnn") and speed.precision == "fp32":
        yield Problem(
            "speed.attention",
            f'got "{speed.attention}", which takes 16-bit numbers: expected speed.precision bf16 or fp16',
        )
    if speed.attention == "one-tile" and config.model.tokens > ONE_TILE_TOKENS:
        yield Problem(
            "speed.attention",
            f'got "one-tile", but {config.model.tokens} tokens are more than its tile of {ONE_TILE_TOKENS}: '
            "expected auto",
        )


def _cross_attention(config: Config) -> Iterator[Problem]:
    if config.speed.cross_attention == "auto":
        return
    tokens, model = config.model.tokens, config.model
    width = model.decoder_hidden_dim // model.decoder_heads
    if tokens > ONE_TILE_TOKENS:
        yield Problem(
            "speed.cross_attention",
            f'got "one-tile", but {tokens} tokens are more than its tile of {ONE_TILE_TOKENS}: expected auto',
        )
    if config.speed.precision == "fp32":
        yield Problem(
            "speed.cross_attention",
            'got "one-tile", whose forward pass takes 16-bit numbers: expected speed.precision bf16 or fp16',
        )
    if head_parts(width) is None:
        yield Problem(
            "speed.cross_attention",
            f'got "one-tile", but a head of {width} is no sum of two powers of two from 16: expected auto',
        )


def _fused_pointwise(config: Config) -> Iterator[Problem]:
    """Its kernels join the end of a block or layer with the start of the next: none can be run by itself."""
    speed = config.speed
    if not speed.fused_pointwise:
        return
    if speed.compile == "blocks":
        yield Problem(
            "speed.compile",
            'got "blocks", but speed.fused_pointwise works across them: expected model or off',
        )
    if speed.activation_checkpointing != "off":
        yield Problem(
            "speed.activation_checkpointing",
            f'got "{speed.activation_checkpointing}", but speed.fused_pointwise works across blocks: '
            "expected off",
        )
    if speed.checkpoint_encoder_decoder:
        yield Problem(
            "speed.checkpoint_encoder_decoder",
            "got true, but speed.fused_pointwise works across the decoder's layers: expected false",
        )
    if speed.wrapper == "fsdp2":
        yield Problem(
            "speed.wrapper",
            'got "fsdp2", which gathers the weights of a block, but speed.fused_pointwise works across '
            "blocks: expected ddp or flat",
        )


def _nccl(config: Config) -> Iterator[Problem]:
    for index, setting in enumerate(config.speed.nccl):
        if not re.fullmatch(r"NCCL_[A-Z0-9_]+=\S+", setting):
            yield Problem(
                f"speed.nccl[{index}]", f'got "{setting}", expected NAME=value such as NCCL_DEBUG=WARN'
            )


def _offloading(config: Config) -> Iterator[Problem]:
    speed = config.speed
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


def _trace(config: Config) -> Iterator[Problem]:
    traced, steps = config.speed.trace_updates, config.growth.steps
    if traced and UNTRACED_UPDATES + traced > steps:
        yield Problem(
            "speed.trace_updates",
            f"got {traced}, but of {steps} steps the first {UNTRACED_UPDATES} are not traced: "
            f"expected at most {max(0, steps - UNTRACED_UPDATES)}",
        )
