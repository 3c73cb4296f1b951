"""The failures that the trainer names: bad input that the user can fix, and how a training can fail."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """What is wrong with one key of a config; one ConfigError reports all of them."""

    key: str
    text: str


class ConfigError(Exception):
    """Input that the user can fix; one message per problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Diverged(Exception):
    """The training loss, the held-out one, a gradient or a weight is no longer a finite number."""

    def __init__(self, step: int, found: str) -> None:
        super().__init__(f"{found}; lower optimizer.learning_rate, or set or lower optimizer.clip_norm")
        self.step = step


class RanksDisagree(Exception):
    """The ranks no longer hold the same weights."""

    def __init__(self, step: int, parameter: str) -> None:
        super().__init__(
            f"after step {step} the ranks hold different values of {parameter}; expected equal weights. "
            "Check for code that depends on the rank, or for faulty memory"
        )
        self.step = step


def refusal_of_system(error: BaseException | None) -> OSError | None:
    """What the system said: torch.save and h5py put errors of their own in front."""
    while error and not (isinstance(error, OSError) and error.errno):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error


class CannotWrite(OSError):
    """The system refuses to write a file of a training, or of its data."""

    def __init__(self, name: str, folder: Path, refusal: OSError, *, resumable: bool) -> None:
        is_full = refusal.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free space there" if is_full else "fix the cause"
        restart = "continue with --resume" if resumable else "start again"
        super().__init__(
            f"{name} cannot be written to {folder}: {os.strerror(refusal.errno)}; {remedy}, then {restart}"
        )
