"""How the rows of all ranks come together on rank 0."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol

import torch
import torch.distributed as dist

Row = dict[str, Any]
PARTS = "speedproof-ranks"
# Other ranks may still write a checkpoint while rank 0 is at its end.
PATIENCE_SECONDS = float(os.environ.get("SPEEDPROOF_RANKS_TIMEOUT", "60"))


class Ranks(Protocol):
    """All ranks share the same kinds of rows in the same order: the start, windows of steps, the end."""

    rank: int
    size: int
    waits: bool  # for the other ranks, whenever a row is shared

    def share(self, row: Row) -> Row:
        """The row that all ranks go on by: rank 0's where they wait for each other, else the own one."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """Of all ranks, which have to call it together; None for a rank that cannot be asked."""
        ...

    def complete(self) -> Iterator[list[Row]]:
        """On rank 0: the rows that all ranks have shared since the last call, rank 0 first."""
        ...

    def finish(self) -> str | None:
        """Wait for the other ranks; the reason if one of them is missing."""
        ...


class OneProcess:
    rank, size, waits = 0, 1, False

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def share(self, row: Row) -> Row:
        self._rows.append(row)
        return row

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def complete(self) -> Iterator[list[Row]]:
        while self._rows:
            yield [self._rows.pop(0)]

    def finish(self) -> str | None:
        return None


class ByCollective:
    """Over torch.distributed, for a recorder whose calls stand at the same places on all ranks."""

    waits = True

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._device = device
        self._complete: list[list[Row]] = []

    def share(self, row: Row) -> Row:
        rows = self.gather(row)
        self._complete.append(rows)
        return rows[0]

    def gather(self, value: Any) -> list[Any]:
        if not dist.is_initialized():
            raise RuntimeError("Close the recorder before dist.destroy_process_group().")
        of_ranks: list[Any] = [None] * self.size
        if self._device.type == "cuda":
            with torch.cuda.device(self._device):  # NCCL takes objects through the current device
                dist.all_gather_object(of_ranks, value)
        else:
            dist.all_gather_object(of_ranks, value)
        return of_ranks

    def complete(self) -> Iterator[list[Row]]:
        while self._complete:
            rows = self._complete.pop(0)
            if self.rank == 0:
                yield rows

    def finish(self) -> str | None:
        return None


class ByFiles:
    """By a file of each rank, for processes in whose communication nothing may be put."""

    waits = False

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._folder = folder / PARTS
        self._folder.mkdir(parents=True, exist_ok=True)
        self._own: IO[str] | None = None
        self._queues: list[list[Row]] = [[] for _ in range(size)]
        self._others: dict[int, IO[str]] = {}
        self._ended: set[int] = set()
        self._cut: dict[int, str] = {}  # of each file: a last line that is not written to its end
        if rank > 0:
            self._own = (self._folder / f"{rank}.jsonl").open("x", encoding="utf-8")

    def gather(self, value: Any) -> list[Any]:
        return [value if rank == self.rank else None for rank in range(self.size)]

    def share(self, row: Row) -> Row:
        if self._own is None:
            self._queues[0].append(row)
        else:
            self._own.write(json.dumps(row) + "\n")
            self._own.flush()
        return row

    def complete(self) -> Iterator[list[Row]]:
        if self.rank > 0:
            return
        for rank in range(1, self.size):
            self._queues[rank] += self._read(rank)
        while all(self._queues):
            yield [queue.pop(0) for queue in self._queues]

    def finish(self) -> str | None:
        if self._own is not None:
            self._own.close()
            return None
        until = time.monotonic() + PATIENCE_SECONDS
        while missing := [r for r in range(1, self.size) if not self._has_ended(r)]:
            if time.monotonic() > until:
                return (
                    f"rank {missing[0]} did not end its record within {PATIENCE_SECONDS:g} s of rank 0's end"
                )
            time.sleep(0.02)
        return None

    def _has_ended(self, rank: int) -> bool:
        self._queues[rank] += self._read(rank)
        return rank in self._ended

    def _read(self, rank: int) -> list[Row]:
        if rank not in self._others:
            try:
                self._others[rank] = (self._folder / f"{rank}.jsonl").open(encoding="utf-8")
            except FileNotFoundError:
                return []
        *lines, self._cut[rank] = (self._cut.get(rank, "") + self._others[rank].read()).split("\n")
        rows = [json.loads(line) for line in lines]
        if any(row["kind"] == "end" for row in rows):
            self._ended.add(rank)
        return rows


def ranks_by_environment() -> tuple[int, int]:
    """Rank and number of processes, from torch.distributed or what torchrun puts into the environment."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
