"""Combinations that cannot work, each refused with its reason."""

from collections.abc import Iterator

from trainer.config.loss_rules import broken_loss_rules
from trainer.config.schema import Config, DataConfig
from trainer.config.speed_rules import broken_speed_rules
from trainer.contracts.sections import (
    LEAST_PAIRS,
    AnySpeed,
    ModelConfig,
    OptimizerConfig,
    RecipeConfig,
    TrainConfig,
)
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError, Problem
from trainer.model.token_grid import Grids, token_grid


def broken_rules(config: Config) -> Iterator[Problem]:
    """Yield what is wrong with a config whose single values are all in range."""
    data, recipe, train = config.data, config.recipe, config.train
    yield from _root(data.root)
    yield from _grid(data, config.grids, config.model.tokens)
    yield from _tasks(data, recipe.task_shares)
    yield from _model(config.model)
    yield from broken_loss_rules(config.loss, recipe, config.model, config.grids)
    yield from _pairs(train, config.speed, recipe, config.task_shares)
    yield from _frames(data)
    yield from _schedule(config.optimizer, recipe, config.warmup_updates, train.updates)
    yield from _optimizer(config.optimizer, config.speed, train.checksum_every_updates)
    yield from broken_speed_rules(config)


def _root(root: str) -> Iterator[Problem]:
    if root.startswith("~"):
        yield Problem("data.root", f'got "{root}", but ~ is not expanded here; write the path in full')


def require_world_fits(config: Config, world_size: int) -> None:
    """The world size is known only at the start of a training."""
    if world_size > 1 and config.speed.wrapper == "none":
        raise ConfigError(
            f'speed.wrapper: got "none", expected ddp, flat or fsdp2: {world_size} ranks must average '
            "their gradients"
        )
    if text := _uneven_pairs(config.train, config.speed, config.recipe, config.task_shares, world_size):
        raise ConfigError(f"train.pairs_per_update: {text}")


def _uneven_pairs(
    train: TrainConfig, speed: AnySpeed, recipe: RecipeConfig, task_shares: tuple[int, ...], world_size: int
) -> str:
    pairs, micro_steps = train.pairs_per_update, speed.accumulation_steps
    shares, nth, cut = sum(task_shares), recipe.inverse_every_nth_pair, recipe.batch_cut_into
    parts = [
        f"world size {world_size}",
        f"speed.accumulation_steps {micro_steps}",
        *([f"recipe.batch_cut_into {cut}"] if cut > 1 else []),
        *([f"task shares {shares}"] if shares > 1 else []),
        *([f"recipe.inverse_every_nth_pair {nth}"] if nth > 1 else []),
    ]
    unit = world_size * micro_steps * cut * shares * nth
    return f"got {pairs}, expected a multiple of {' x '.join(parts)} = {unit}" if pairs % unit else ""


def _grid(data: DataConfig, grids: Grids, tokens: int) -> Iterator[Problem]:
    for task in data.tasks:
        grid = getattr(data, task).grid
        key = "reduced_resolution" if len(grid) == 1 else "reduced_resolution_2d"
        every = getattr(data, key)
        if any(points % every for points in grid):
            yield Problem(
                f"data.{key}", f"got {every}, expected a divisor of the {grid[0]} grid points of {task}"
            )
        elif not token_grid(tokens, grids[task]):
            reduced = " x ".join(map(str, grids[task]))
            yield Problem(
                "model.tokens",
                f"got {tokens}, expected a number that splits the {reduced} grid of {task} evenly",
            )


def _tasks(data: DataConfig, shares: tuple[int, ...]) -> Iterator[Problem]:
    if len(set(data.tasks)) < len(data.tasks):
        yield Problem("data.tasks", f"got {list(data.tasks)}, expected each task only once")
    if shares and len(shares) != len(data.tasks):
        yield Problem(
            "recipe.task_shares",
            f"got {list(shares)}, expected one share for each of {list(data.tasks)}, or an empty list",
        )
    for task in data.tasks:
        settings = getattr(data, task)
        for key, text in settings.problems():
            yield Problem(f"data.{task}.{key}", text)
        if not settings.cases:
            yield Problem(f"data.{task}", "got no case, expected at least one: each case is a data file")
        for case in sorted({case for case in settings.cases if settings.cases.count(case) > 1}):
            yield Problem(f"data.{task}", f"got {_named(task, case)} twice, expected each case only once")
        for case in settings.cases:
            if min(case, default=1) <= 0:
                text = f"got {_named(task, case)}, expected more than 0: the model takes its logarithm"
                yield Problem(f"data.{task}", text)


def _named(task: str, case: tuple[float, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(TASKS[task].parameters, case, strict=True))


def _model(model: ModelConfig) -> Iterator[Problem]:
    for dim_key, dim, heads_key, heads in (
        ("hidden_dim", model.hidden_dim, "heads", model.heads),
        ("decoder_hidden_dim", model.decoder_hidden_dim, "decoder_heads", model.decoder_heads),
    ):
        if dim % heads:
            yield Problem(f"model.{heads_key}", f"got {heads}, expected a divisor of model.{dim_key} ({dim})")


def _pairs(
    train: TrainConfig, speed: AnySpeed, recipe: RecipeConfig, task_shares: tuple[int, ...]
) -> Iterator[Problem]:
    pairs, micro_steps, cut = train.pairs_per_update, speed.accumulation_steps, recipe.batch_cut_into
    if pairs % micro_steps:
        yield Problem(
            "speed.accumulation_steps",
            f"got {micro_steps}, expected a divisor of train.pairs_per_update ({pairs})",
        )
    elif pairs % (micro_steps * cut):
        yield Problem(
            "recipe.batch_cut_into",
            f"got {cut}, expected a divisor of train.pairs_per_update ({pairs}) in {micro_steps} micro-steps",
        )
    elif text := _uneven_pairs(train, speed, recipe, task_shares, world_size=1):
        yield Problem("train.pairs_per_update", text)
    if pairs // cut < LEAST_PAIRS <= pairs:
        yield Problem(
            "recipe.batch_cut_into",
            f"got {cut}, expected at most {pairs // LEAST_PAIRS}: train.pairs_per_update {pairs} must leave "
            f"at least {LEAST_PAIRS} pairs per step",
        )


def _frames(data: DataConfig) -> Iterator[Problem]:
    strides = {"data.frame_strides": data.frame_strides}
    for task in data.tasks:
        if hasattr(getattr(data, task), "frame_strides"):
            strides[f"data.{task}.frame_strides"] = getattr(data, task).frame_strides
    for key, asked in strides.items():
        if len(set(asked)) < len(asked):
            yield Problem(key, f"got {list(asked)}, expected each stride only once")
    for task in data.tasks:
        frames, own = getattr(data, task).frames, f"data.{task}.frame_strides"
        for stride in data.strides_of(task):
            if stride >= frames and not TASKS[task].steady:
                key = own if own in strides else "data.frame_strides"
                yield Problem(key, f"got {stride}, expected less than the {frames} frames of {task}")
        every = data.held_out_every_nth_frame
        if every >= frames and not TASKS[task].steady:
            yield Problem(
                "data.held_out_every_nth_frame",
                f"got {every}, expected less than the {frames} frames of {task}",
            )


def _schedule(
    optimizer: OptimizerConfig, recipe: RecipeConfig, warm_up: int, updates: int
) -> Iterator[Problem]:
    """A schedule may end after the training: a short launch to warm caches up has a whole one's settings."""
    shared, end = optimizer.warmup_updates, recipe.schedule_updates
    if shared >= updates:
        yield Problem("optimizer.warmup_updates", f"got {shared}, expected less than the {updates} updates")
    if end is None and recipe.warmup_updates is not None and warm_up >= updates:
        yield Problem("recipe.warmup_updates", f"got {warm_up}, expected less than the {updates} updates")
    if end is not None and end <= warm_up:
        yield Problem(
            "recipe.schedule_updates", f"got {end}, expected more than the {warm_up} updates of the warm-up"
        )


def _optimizer(optimizer: OptimizerConfig, speed: AnySpeed, checksum_every_updates: int) -> Iterator[Problem]:
    if checksum_every_updates and speed.wrapper == "fsdp2":
        yield Problem(
            "train.checksum_every_updates",
            f"got {checksum_every_updates}, expected 0: fsdp2 keeps no copies that could be compared",
        )
    uses_loop = optimizer.matrices == "muon" and speed.muon == "loop"
    if uses_loop and speed.wrapper == "fsdp2":
        yield Problem(
            "speed.muon",
            'got "loop", expected batched or sharded, which gather each matrix: '
            "fsdp2 shards matrices, and torch's Muon sees only one part",
        )
