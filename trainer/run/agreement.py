"""Checks that all ranks of a run have the same config, software and data."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch

from trainer.config import Config, to_plain
from trainer.data.splits import Data
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError
from trainer.process.agreement import on_all_ranks, ranks_named, require_equal
from trainer.process.folders import LAST
from trainer.process.world import World
from trainer.run.checkpoint.resume import Earlier, earlier_part

# Where the data lie; their content is compared.
MAY_DIFFER = ("data.root", *(f"data.{task}.files" for task in TASKS))


def require_same_start(config: Config, seed: int, world: World, *, resume: bool = False) -> None:
    """ConfigError on every rank if seed, config or versions differ between ranks."""
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    settings = {key: value for key, value in _settings(to_plain(config)) if key not in MAY_DIFFER}
    require_equal(
        {"--seed": seed, "--resume": resume, **versions, **settings},
        world,
        "Start all ranks with the same command, config file and Python environment",
    )


def same_earlier_part(out: Path, config: Config, seed: int, world: World) -> Earlier:
    """Return what `out` holds of this run; ConfigError on every rank if they find different states."""
    _require_seen_by_all(out / LAST, world)
    earlier = on_all_ranks(lambda: earlier_part(out, config, seed), world)
    require_equal(
        {f"--out: step of {LAST}": earlier.step, "--out: has ended": earlier.ended},
        world,
        "Name a folder that all ranks share",
    )
    return earlier


def _require_seen_by_all(checkpoint: Path, world: World) -> None:
    """ConfigError on every rank if some nodes see the checkpoint and others do not."""
    own = [checkpoint.is_file(), platform.node(), str(checkpoint.resolve())]
    found = [json.loads(text) for text in world.gather_text(json.dumps(own))]
    seeing = [rank for rank, (is_there, *_) in enumerate(found) if is_there]
    if 0 < len(seeing) < world.size:
        missing = [rank for rank in range(world.size) if rank not in seeing]
        _, host, path = found[missing[0]]
        raise ConfigError(
            f"{ranks_named(missing)}: --resume: {path} does not exist on {host}, and {ranks_named(seeing)} "
            "found one; name a folder that all nodes see, or start without --resume"
        )


def open_same_data(open_own: Callable[[], Data], root: str, world: World) -> Data:
    """Return this rank's data; ConfigError on every rank if they read different data.

    The `data_hash` that rank 0 records is therefore the hash of all ranks.
    """
    data = on_all_ranks(open_own, world)
    told = {"hash": data.content_hash, "host": platform.node(), "root": str(Path(root).resolve())}
    files = [
        [str(file.path.resolve()), content_hash]
        for pairs in data.train.tasks
        for file, content_hash in zip(pairs.files, data.content_hashes[pairs.task.name], strict=True)
    ]
    by_rank = [json.loads(text) for text in world.gather_text(json.dumps({**told, "files": files}))]
    by_hash: dict[str, list[int]] = {}
    for rank, of_rank in enumerate(by_rank):
        by_hash.setdefault(of_rank["hash"], []).append(rank)
    if len(by_hash) > 1:
        found = "; ".join(_described(by_rank, list(by_hash.values())))
        raise ConfigError(
            f"data.root: the ranks read different data: {found}. Expected the same on every rank. "
            "Put the same files in each folder, or set data.root to the full path of one that all ranks share"
        )
    return data


def _settings(plain: Mapping[str, object], section: str = "") -> Iterator[tuple[str, object]]:
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{section}{name}.")
        else:
            yield f"{section}{name}", value


def _described(by_rank: list[dict], groups: list[list[int]]) -> Iterator[str]:
    """Yield what each group of ranks reads: the first file that differs."""
    several_hosts = len({of_rank["host"] for of_rank in by_rank}) > 1
    representatives = [by_rank[ranks[0]] for ranks in groups]
    contents = zip(*([content for _, content in one["files"]] for one in representatives), strict=False)
    different = [place for place, of_groups in enumerate(contents) if len(set(of_groups)) > 1]
    for ranks, one in zip(groups, representatives, strict=True):
        who = f"{ranks_named(ranks)}{' on ' + one['host'] if several_hosts else ''}"
        if different:
            path, content = one["files"][different[0]]
            more = f" and {len(different) - 1} more that differ" if len(different) > 1 else ""
            yield f"{who} {path} (content {content[:12]}){more}"
        else:  # the fields are the same
            yield f"{who} {one['root']} (same fields, different coordinates or attributes)"
