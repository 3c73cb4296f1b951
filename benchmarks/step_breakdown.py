"""Where the GPU's time goes in one update: reads the traces of runs that had `speed.trace_updates`.

    python benchmarks/step_breakdown.py --updates 3 --json OUT.json --picture OUT.png out/*/trace-0.json

Prints a table with a column per trace, named by its folder, then the longest kernels of each. Kernels run on
several streams: what overlaps counts once, for the first of KINDS that is busy; communication is exposed
where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

# In order of precedence; the names are those of cuBLAS, cuDNN, NCCL, Inductor, torch and our kernels.
KINDS = {
    "attention": r"one_tile|flash|fmha|sdpa|attention|softmax|dot_do_o|convert_dq",
    "products": r"gemm|nvjet|cutlass|xmma|splitK|cublas|gemv",
    "optimizer": r"multi_tensor|FusedAdam|foreach|lerp",
    "copies": r"^Memcpy|^Memset",
    "pointwise and sums": r".",
}
COMMUNICATION = re.compile("nccl", re.IGNORECASE)
ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset"}


@dataclass(frozen=True)
class Busy:
    """One operation of the GPU, in microseconds of the trace's clock."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Breakdown:
    """Milliseconds of one update; the kinds, hidden communication left out, add up to `update`."""

    update: float
    kinds: dict[str, float]
    communication_hidden: float
    kernels: dict[str, float]  # by name, overlap counted twice
    launches: dict[str, float]  # by name


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--updates", type=int, required=True, help="in each trace: its speed.trace_updates")
    parser.add_argument("--kernels", type=int, default=20, help="how many of the longest to print")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="PNG; needs matplotlib")
    options = parser.parse_args()
    found = {str(path): breakdown(operations(path), options.updates) for path in options.traces}
    print(table(found))
    for path, part in found.items():
        print(f"\n{path}: {sum(part.launches.values()):.0f} kernels an update; the longest, in ms:")
        for name, milliseconds in list(part.kernels.items())[: options.kernels]:
            print(f"{milliseconds:9.3f} in {part.launches[name]:5.0f}  {name[:140]}")
    if options.json:
        options.json.write_text(json.dumps({path: asdict(part) for path, part in found.items()}, indent=1))
    if options.picture:
        draw(found, options.picture)
    return 0


def operations(path: Path) -> list[Busy]:
    events = json.loads(path.read_text())["traceEvents"]
    found = [
        Busy(event["name"], event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("cat") in ON_GPU
    ]
    if not found:
        raise SystemExit(f"{path}: no kernel in this trace; was it made on a GPU?")
    return sorted(found, key=lambda operation: operation.start)


def kind_of(name: str) -> str:
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, name))


def breakdown(found: list[Busy], updates: int) -> Breakdown:
    """Divide the time from the first operation to the end of the last among the kinds."""
    start, end = found[0].start, max(operation.end for operation in found)
    taken: list[tuple[float, float]] = []
    kinds: dict[str, float] = {}
    parts = {
        kind: [o for o in found if not COMMUNICATION.search(o.name) and kind_of(o.name) == kind]
        for kind in KINDS
    }
    communication = [operation for operation in found if COMMUNICATION.search(operation.name)]
    for kind, operations_of_kind in [*parts.items(), ("communication exposed", communication)]:
        before = total(taken)
        taken = union([*taken, *((operation.start, operation.end) for operation in operations_of_kind)])
        kinds[kind] = total(taken) - before
    kinds["idle"] = (end - start) - total(taken)
    by_name, launches = Counter(), Counter()
    for operation in found:
        launches[operation.name] += 1
        by_name[operation.name] += operation.end - operation.start
    spent = total(union([(operation.start, operation.end) for operation in communication]))
    scale = 1e-3 / updates
    return Breakdown(
        update=(end - start) * scale,
        kinds={kind: microseconds * scale for kind, microseconds in kinds.items()},
        communication_hidden=(spent - kinds["communication exposed"]) * scale,
        kernels={name: microseconds * scale for name, microseconds in by_name.most_common()},
        launches={name: launched / updates for name, launched in launches.items()},
    )


def union(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def total(intervals: list[tuple[float, float]]) -> float:
    return sum(end - start for start, end in intervals)


def table(found: dict[str, Breakdown]) -> str:
    rows = [("ms of an update", [f"{part.update:.2f}" for part in found.values()])]
    for kind in [*KINDS, "communication exposed", "idle"]:
        cells = [f"{part.kinds[kind]:.2f} ({part.kinds[kind] / part.update:.0%})" for part in found.values()]
        rows.append((kind, cells))
    rows.append(("communication hidden", [f"{part.communication_hidden:.2f}" for part in found.values()]))
    header = ("", [Path(path).parent.name for path in found])
    return "\n".join(
        f"{name:22}" + "".join(f"{cell:>18}" for cell in cells) for name, cells in [header, *rows]
    )


def draw(found: dict[str, Breakdown], path: Path) -> None:
    """A bar per trace, cut into the kinds."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.7 * len(found)), layout="constrained")
    names = [Path(trace).parent.name for trace in found]
    left = [0.0] * len(found)
    for kind in [*KINDS, "communication exposed", "idle"]:
        widths = [part.kinds[kind] for part in found.values()]
        axes.barh(names, widths, left=left, label=kind)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("ms of an update")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35), frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    raise SystemExit(main())
