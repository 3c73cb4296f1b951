"""Which of several processes this is; read where torch may not be loaded."""

import os

from trainer.errors import ConfigError


def rank_from_environment() -> tuple[int, int, int]:
    """Return rank, world size and local rank as torchrun sets them; 0, 1, 0 in a plain process."""
    if "RANK" not in os.environ:
        return 0, 1, 0
    try:
        rank, size, local_rank = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"environment: {error}; start with torchrun, or unset RANK for a single process"
        ) from error
    return rank, size, local_rank


def is_first_rank() -> bool:
    """Under torchrun every rank does the same in some commands, and one of them says it."""
    return rank_from_environment()[0] == 0
