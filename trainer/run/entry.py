"""One rank of a training, from start to exit code."""

from __future__ import annotations

import sys
from pathlib import Path

from trainer.config import Config
from trainer.errors import ConfigError
from trainer.process.folders import make_folder
from trainer.process.ranks import rank_from_environment
from trainer.run.checkpoint.files import LAST
from trainer.run.failures.failure import Failure, write_error_file
from trainer.run.failures.peers import Peers
from trainer.run.training import Progress, run_training


def train_one_rank(config: Config, out: Path, seed: int, *, resume: bool) -> int:
    """Train; a failure leaves a typed error file on every rank and ends them all."""
    rank, size, _ = rank_from_environment()
    progress = Progress()
    peers = Peers(rank, size)
    try:
        make_folder(out, "--out")
        run_training(config, out, seed, progress, resume=resume)
    except ConfigError as error:  # every rank has the same config and fails the same way
        write_error_file(Failure.of(error, progress.step, rank))
        raise
    except KeyboardInterrupt:
        is_own = resume or progress.step > 0  # before that the folder may hold another run's
        saved = f"; --resume continues from {out / LAST}" if is_own and (out / LAST).is_file() else ""
        raise KeyboardInterrupt(f" at step {progress.step}{saved}") from None
    except Exception as error:
        peers.end_all(Failure.of(error, progress.step, rank))
    peers.close()
    if sys.stdout:
        sys.stdout.flush()
    return 0
