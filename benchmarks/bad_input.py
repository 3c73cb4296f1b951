"""Ends a script with what is wrong with its input, in words alone, as the trainer ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from trainer.cli import BAD_INPUT
from trainer.errors import ConfigError


@contextmanager
def refused_in_words() -> Iterator[None]:
    """Turn a ConfigError into its text and exit code 2."""
    try:
        yield
    except ConfigError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))  # whole, beside other ranks
        raise SystemExit(BAD_INPUT) from None


def require_package(name: str) -> None:
    if find_spec(name) is None:
        raise ConfigError(f"{name}: is not installed; pip install {name}")
