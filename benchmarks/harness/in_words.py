"""Ends a script as the trainer ends: in words, whether its input is wrong or its answer finds no room."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from trainer.errors import CannotWrite, ConfigError
from trainer.process.exit import BAD_INPUT, FAILED, UNREAD, end_at_once
from trainer.process.terminal import leave_unread, say


@contextmanager
def refused_in_words() -> Iterator[None]:
    """Turn a ConfigError into its text and exit code 2, an answer without room into 1, without reader 141."""
    try:
        yield
    except ConfigError as error:
        sys.stderr.write(
            "".join(f"{problem}\n" for problem in error.problems)
        )  # in one write: other ranks write too
        raise SystemExit(BAD_INPUT) from None
    except CannotWrite as error:
        say(str(error))
        end_at_once(FAILED)
    except BrokenPipeError:
        if not leave_unread():  # but another pipe broke
            raise
        raise SystemExit(UNREAD) from None


def require_package(name: str) -> None:
    if find_spec(name) is None:
        raise ConfigError(f"{name}: is not installed; run pip install {name}")
