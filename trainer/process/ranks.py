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
            f"environment: {error}. Start with torchrun, or unset RANK for a single process"
        ) from error
    if not 0 <= rank < size or local_rank < 0:  # it would wait for ranks that never come
        raise ConfigError(
            f"environment: got RANK {rank}, WORLD_SIZE {size} and LOCAL_RANK {local_rank}, expected RANK "
            "below WORLD_SIZE and no negative value. Start with torchrun, or unset RANK for a single process"
        )
    return rank, size, local_rank


def is_first_rank() -> bool:
    """Under torchrun every rank does the same in some commands, and one of them says it."""
    return rank_from_environment()[0] == 0
