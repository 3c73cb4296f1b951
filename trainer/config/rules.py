"""Combinations that cannot work, each refused with its reason."""

from collections.abc import Iterator

from trainer.config.reader import Problem
from trainer.config.schema import Config
from trainer.errors import ConfigError


def broken_rules(config: Config) -> Iterator[Problem]:
    """Yield what is wrong with a config whose single values are all in range."""
    yield from _grid(config)
    yield from _betas(config)
    yield from _model(config)
    yield from _losses(config)
    yield from _pairs(config)
    yield from _optimizer(config)


def require_world_fits(config: Config, world_size: int) -> None:
    """The world size is known only at the start of a training."""
    if world_size > 1 and config.speed.wrapper == "none":
        raise ConfigError(
            f'speed.wrapper: got "none", but {world_size} ranks must average their gradients: expected one of '
            "ddp, flat, fsdp2"
        )
    pairs, micro_steps = config.train.pairs_per_update, config.speed.accumulation_steps
    if pairs % (world_size * micro_steps):
        raise ConfigError(
            f"train.pairs_per_update: got {pairs}, expected a multiple of world size {world_size} x "
            f"speed.accumulation_steps {micro_steps} = {world_size * micro_steps}"
        )


def _grid(config: Config) -> Iterator[Problem]:
    points, factor = config.data.advection1d.grid_points, config.data.reduced_resolution
    if points % factor:
        yield Problem(
            "data.reduced_resolution", f"got {factor}, expected a divisor of the {points} grid points"
        )
    elif config.reduced_points % config.model.patch_points:
        yield Problem(
            "model.patch_points",
            f"got {config.model.patch_points}, expected a divisor of the reduced {config.reduced_points}",
        )
    if config.data.advection1d.max_wave_number > points // 2:
        yield Problem(
            "data.advection1d.max_wave_number",
            f"got {config.data.advection1d.max_wave_number}, expected at most half of the {points} points",
        )


def _betas(config: Config) -> Iterator[Problem]:
    betas = config.data.advection1d.betas
    if len(set(betas)) < len(betas):
        yield Problem("data.advection1d.betas", f"got {list(betas)}, expected each beta once")


def _model(config: Config) -> Iterator[Problem]:
    model = config.model
    for dim_key, dim, heads_key, heads in (
        ("hidden_dim", model.hidden_dim, "heads", model.heads),
        ("decoder_hidden_dim", model.decoder_hidden_dim, "decoder_heads", model.decoder_heads),
    ):
        if dim % heads:
            yield Problem(f"model.{heads_key}", f"got {heads}, expected a divisor of model.{dim_key} ({dim})")


def _losses(config: Config) -> Iterator[Problem]:
    loss, points = config.loss, config.reduced_points
    decodes_prediction = loss.forward > 0 or loss.spectral > 0
    if not decodes_prediction and not (loss.latent > 0 and loss.inverse_encoding > 0):
        yield Problem(
            "loss",
            "no term trains the operator and the decoder; give loss.forward, or both loss.latent and "
            "loss.inverse_encoding, a weight above 0",
        )
    if config.query_points > points:
        yield Problem(
            "loss.query_points", f"got {config.query_points}, expected at most the {points} grid points"
        )
    if loss.spectral > 0 and config.query_points < points:
        yield Problem(
            "loss.spectral",
            f"got {loss.spectral}, but a spectrum needs the whole grid: make it 0 or loss.query_points null",
        )


def _pairs(config: Config) -> Iterator[Problem]:
    pairs, micro_steps = config.train.pairs_per_update, config.speed.accumulation_steps
    if pairs % micro_steps:
        yield Problem(
            "speed.accumulation_steps",
            f"got {micro_steps}, expected a divisor of train.pairs_per_update ({pairs})",
        )
    frames = config.data.advection1d.frames
    for stride in config.data.frame_strides:
        if stride >= frames:
            yield Problem(
                "data.frame_strides", f"got {stride}, expected less than the {frames} frames of a trajectory"
            )
    if config.optimizer.warmup_updates >= config.train.updates:
        yield Problem(
            "optimizer.warmup_updates",
            f"got {config.optimizer.warmup_updates}, expected less than the {config.train.updates} updates",
        )


def _optimizer(config: Config) -> Iterator[Problem]:
    uses_loop = config.optimizer.matrices == "muon" and config.speed.muon == "loop"
    if uses_loop and config.speed.wrapper == "fsdp2":
        yield Problem(
            "speed.muon",
            'got "loop", but torch\'s Muon sees only a rank\'s part of a matrix that fsdp2 shards: expected '
            "batched or sharded, which gather it",
        )
