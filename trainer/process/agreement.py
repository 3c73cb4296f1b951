"""Compares what all ranks must have in common: the record of a run states only rank 0's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from trainer.errors import ConfigError
from trainer.process.world import World

Result = TypeVar("Result")

MOST_NAMED = 4  # keys in one error


def on_all_ranks(action: Callable[[], Result], world: World) -> Result:
    """Return the result of this rank's action; ConfigError on the other ranks if any rank raised an error.

    The rank that failed raises its own.
    """
    found, own = None, None
    try:
        found = action()
    except Exception as error:  # the others would wait for this rank until the timeout
        own = error
    problems = world.gather_text(_text(own))
    if own and (not isinstance(own, ConfigError) or len(set(problems)) == 1):
        raise own
    if any(problems):
        by_text = {text: _with(problems, text) for text in problems if text}
        raise ConfigError(*(f"{ranks_named(ranks)}: {text}" for text, ranks in by_text.items()))
    return found


def require_equal(mine: Mapping[str, object], world: World, remedy: str) -> None:
    """ConfigError on every rank if a value differs between ranks, or is missing on one."""
    texts = world.gather_text(json.dumps(mine))
    if len(set(texts)) == 1:
        return
    given = [json.loads(text) for text in texts]
    keys = dict.fromkeys(key for of_rank in given for key in of_rank)
    values = {key: [json.dumps(of_rank.get(key)) for of_rank in given] for key in keys}
    different = {key: of_ranks for key, of_ranks in values.items() if len(set(of_ranks)) > 1}
    raise ConfigError(
        *(
            f"{key}: {_listed(of_ranks)}, expected the same on every rank. {remedy}"
            for key, of_ranks in list(different.items())[:MOST_NAMED]
        )
    )


def _text(error: Exception | None) -> str:
    if error is None or isinstance(error, ConfigError):
        return str(error or "")
    return f"{type(error).__name__}: {error}"


def ranks_named(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _listed(values: Sequence[str]) -> str:
    return ", ".join(f"{ranks_named(_with(values, value))} got {value}" for value in dict.fromkeys(values))


def _with(values: Sequence[str], value: str) -> list[int]:
    return [rank for rank, of_rank in enumerate(values) if of_rank == value]
