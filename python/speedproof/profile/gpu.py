"""Where the time of a GPU goes in a step: from a trace of the GPU alone.

Kernels run on several streams. What overlaps counts once, for the first kind that is busy; communication is
exposed where nothing else runs. The host is waited for where no kernel runs and the next one has not been
launched yet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from speedproof.profile.intervals import Interval, total, union

# In order of precedence; the names are those of cuBLAS, cuDNN, NCCL, Inductor and torch.
_KINDS = {
    "attention": r"flash|fmha|sdpa|attention|softmax|attn",
    "matrix products": r"gemm|nvjet|cutlass|xmma|splitk|cublas|gemv",
    "optimizer": r"multi_tensor|fusedadam|foreach|lerp",
    "copies": r"^memcpy|^memset",
    "other computation": r".",
}
KINDS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
COMMUNICATION = re.compile("nccl", re.IGNORECASE)
EXPOSED, HOST, IDLE = "exposed communication", "waiting for the host", "idle otherwise"
ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
ON_HOST = {"cuda_runtime", "cuda_driver"}


@dataclass(frozen=True)
class Busy:
    """One operation of the GPU, in microseconds of the trace's clock."""

    name: str
    start: float
    end: float
    correlation: object
    launched: float | None = None  # when the host launched it; None where the trace does not say


def operations_of(events: Iterable[dict[str, Any]]) -> list[Busy]:
    found: list[tuple[str, float, float, object]] = []
    launches: dict[object, float] = {}
    for event in events:
        category = event.get("cat")
        if category in ON_GPU:
            start = float(event["ts"])
            found.append((str(event["name"]), start, start + float(event["dur"]), correlation_of(event)))
        elif category in ON_HOST:
            launches[correlation_of(event)] = float(event["ts"])
    found.sort(key=lambda operation: operation[1])
    return [Busy(name, start, end, key, launches.get(key)) for name, start, end, key in found]


def correlation_of(event: dict[str, Any]) -> object:
    """What an operation and its launch have in common; None of it for neither."""
    arguments = event.get("args")
    return arguments.get("correlation") if isinstance(arguments, dict) else None


def kind_of(name: str) -> str:
    return next(kind for kind, pattern in KINDS.items() if pattern.search(name))


def time_of_step(operations: list[Busy], steps: int) -> dict[str, Any]:
    """Milliseconds of a step. `kinds` add up to `step_ms`; `kernels` count an overlap twice."""
    start, end = operations[0].start, max(operation.end for operation in operations)
    scale = 1e-3 / steps
    by_kind: dict[str, list[Interval]] = {kind: [] for kind in KINDS}
    kind_by_name: dict[str, str] = {}
    communication: list[Interval] = []
    milliseconds: Counter[str] = Counter()
    launches: Counter[str] = Counter()
    for operation in operations:
        milliseconds[operation.name] += operation.end - operation.start
        launches[operation.name] += 1
        if COMMUNICATION.search(operation.name):
            kind_by_name[operation.name] = "communication"
            communication.append((operation.start, operation.end))
        else:
            kind = kind_by_name.setdefault(operation.name, kind_of(operation.name))
            by_kind[kind].append((operation.start, operation.end))
    kinds: dict[str, float] = {}
    taken: list[Interval] = []
    for kind, intervals in [*by_kind.items(), (EXPOSED, communication)]:
        before = total(taken)
        taken = union([*taken, *intervals])
        kinds[kind] = total(taken) - before
    hidden = total(union(communication)) - kinds[EXPOSED]
    kinds |= _waits(operations, taken)
    return {
        "step_ms": (end - start) * scale,
        "kinds": {kind: spent * scale for kind, spent in kinds.items()},
        "hidden_communication_ms": hidden * scale,
        "kernels": [
            {
                "name": name,
                "kind": kind_by_name[name],
                "ms": spent * scale,
                "launches": launches[name] / steps,
            }
            for name, spent in milliseconds.most_common()
        ],
    }


def _waits(operations: list[Busy], taken: list[Interval]) -> dict[str, float]:
    """Microseconds in which nothing runs, by what the next operation waited for."""
    gaps = [(before[1], after[0]) for before, after in pairwise(taken)]
    launched = {operation.start: operation.launched for operation in reversed(operations)}
    for_host = sum(max(0.0, min(end, launched.get(end) or start) - start) for start, end in gaps)
    return {HOST: for_host, IDLE: total(gaps) - for_host}
