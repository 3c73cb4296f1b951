"""Where the GPU's time goes in one update: reads the traces of runs that had `speed.trace_updates`.

    python -m benchmarks.step_breakdown --updates 3 --json OUT.json --picture OUT.png out/*/trace-0.json
    python -m benchmarks.step_breakdown --recorded OUT.json --picture OUT.png --devices "4 x NVIDIA H200"

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
from importlib.util import find_spec
from pathlib import Path

from benchmarks.in_words import refused_in_words
from trainer.folders import refusal_told
from trainer.terminal import answer, say

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
    options = _options()
    if options.recorded:
        found = recorded(options.recorded)
    else:
        found = {str(path): breakdown(operations(path), options.updates) for path in options.traces}
    if options.json:  # first: a reader may have enough of the tables
        record = json.dumps({path: asdict(part) for path, part in found.items()}, indent=1)
        with refusal_told(options.json):
            options.json.write_text(record)
    answer(table(found))
    for path, part in found.items():
        answer(f"\n{path}: {sum(part.launches.values()):.0f} kernels an update; the longest, in ms:")
        for name, milliseconds in list(part.kernels.items())[: options.kernels]:
            answer(f"{milliseconds:9.3f} in {part.launches[name]:5.0f}  {name[:140]}")
    if options.picture:
        return draw(found, options.picture, options.devices or devices_of(next(iter(found))))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, nargs="*")
    parser.add_argument("--updates", type=int, help="in each trace: its speed.trace_updates")
    parser.add_argument("--recorded", type=Path, help="the --json of an earlier call, in place of traces")
    parser.add_argument("--kernels", type=int, default=20, help="how many of the longest to print")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="PNG; needs matplotlib")
    parser.add_argument(
        "--devices", help="for its title, if not those of metrics.jsonl beside the first trace"
    )
    options = parser.parse_args()
    if bool(options.traces) == bool(options.recorded):
        parser.error("name either traces or, with --recorded, the --json of an earlier call")
    if options.traces and (options.updates or 0) < 1:
        parser.error(f"--updates: got {options.updates}, expected how many updates each trace has, 1 or more")
    for path in filter(None, (options.json, options.picture)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"{path}: its folder cannot be made ({error.strerror}); name another")
        if path.is_dir():
            parser.error(f"{path}: is a folder; name a file")
    return options


def operations(path: Path) -> list[Busy]:
    try:
        found = [
            Busy(event["name"], event["ts"], event["ts"] + event["dur"])
            for event in json.loads(path.read_text())["traceEvents"]
            if event.get("cat") in ON_GPU
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"{path}: cannot be read as a trace ({error!r}); name the trace-RANK.json of a training"
        ) from error
    if not found:
        raise SystemExit(f"{path}: no kernel in this trace; was it made on a GPU?")
    return sorted(found, key=lambda operation: operation.start)


def recorded(path: Path) -> dict[str, Breakdown]:
    try:
        found = {trace: Breakdown(**part) for trace, part in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SystemExit(f"--recorded: {path}: cannot be read ({error!r}); name what --json wrote") from error
    if not found:
        raise SystemExit(f"--recorded: {path}: has no trace in it; name what --json wrote")
    return found


def devices_of(trace: str) -> str | None:
    """As the training that was traced names them, such as 4 x NVIDIA H200; None where its events are gone."""
    try:
        with Path(trace).with_name("metrics.jsonl").open() as events:
            names = json.loads(next(events))["device_names"]
    except (OSError, ValueError, KeyError, StopIteration):
        return None
    return f"{len(names)} x {names[0]}"


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


def draw(found: dict[str, Breakdown], path: Path, devices: str | None) -> int:
    """A bar per trace, cut into the kinds, whose ms stand in the legend: some are too narrow to be seen.

    Returns an exit code.
    """
    if find_spec("matplotlib") is None:
        say(f"no {path}: matplotlib is not installed; with it, --recorded draws that from the --json")
        return 1
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 2.4 + 0.7 * len(found)), layout="constrained")
    names = [Path(trace).parent.name for trace in found]
    left = [0.0] * len(found)
    for kind in [*KINDS, "communication exposed", "idle"]:
        widths = [part.kinds[kind] for part in found.values()]
        label = f"{kind}: {' | '.join(f'{width:.2f}' for width in widths)}"
        bars = axes.barh(names, widths, left=left, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.bar_label(bars, [f"{part.update:.2f} ms" for part in found.values()], padding=4)
    axes.margins(x=0.14)
    axes.invert_yaxis()
    axes.set_xlabel("ms of a traced update")
    axes.set_title(" on ".join(filter(None, ("Where one GPU's time goes in a traced update", devices))))
    figure.legend(title=f"ms of {' | '.join(names)}", ncols=3, loc="outside lower center", frameon=False)
    with refusal_told(path):
        figure.savefig(path, dpi=150)
    return 0


if __name__ == "__main__":
    with refused_in_words():
        raise SystemExit(main())
