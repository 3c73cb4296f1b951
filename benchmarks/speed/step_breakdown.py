"""Where the GPU's time goes in one update: reads the traces of runs that had `speed.trace_updates`.

    python -m benchmarks.speed.step_breakdown --updates 3 --json OUT.json --picture OUT.png out/*/trace-0.json
    python -m benchmarks.speed.step_breakdown --recorded OUT.json --picture OUT.png \\
        --devices "2 x NVIDIA H200" --untraced 362.7 118.4 --untraced-of "the gate on the same host"

Prints a table with a column per trace, named by its folder, then the longest kernels of each. Kernels run on
several streams: what overlaps counts once, for the first of KINDS that is busy; communication is exposed
where nothing else runs.

The profiler slows the host, so a traced update is idle for longer than others. The time of an update
without the profiler is read from another such training, in FOLDER-untraced next to a trace's folder, or
from --untraced.

Waiting for the host: no kernel runs, and the next one had not been launched yet. Waiting for data: the part
of it that the host spends in the DataLoader. Data: copies from the host. The optimizer has the kernels with
its name and those that its ranges in the trace launch; a CUDA graph has no ranges, so there it has all from
the first kernel of AdamW on. A trace cannot identify the gathers of resident data; they count as pointwise
work.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import textwrap
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import mean

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.records import unpacked
from trainer.errors import ConfigError
from trainer.process.folders import refusal_told
from trainer.process.terminal import answer, say

# In order of precedence; the names are those of cuBLAS, cuDNN, NCCL, Inductor, torch and our kernels.
KINDS = {
    "attention": r"one_tile|flash|fmha|sdpa|attention|softmax|dot_do_o|convert_dq",
    "products": r"gemm|nvjet|cutlass|xmma|splitK|cublas|gemv",
    "optimizer": r"multi_tensor|FusedAdam|foreach|lerp",
    "data": r"^Memcpy HtoD",
    "copies": r"^Memcpy|^Memset",
    "pointwise and sums": r".",
}
COMMUNICATION = re.compile("nccl", re.IGNORECASE)
# Where no kernel but NCCL's runs. "idle" alone is of older records, and of traces without launches.
WAITS = ["communication exposed", "waiting for data", "waiting for the host", "idle otherwise", "idle"]
ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
ON_HOST = {"cuda_runtime", "cuda_driver"}
IN_OPTIMIZER = re.compile(r"^Optimizer\.step#|^(AdamW|Muon)\.step$")  # torch's ranges, and ours
IN_LOADER = re.compile(r"^enumerate\(DataLoader\)#")
# The first part of Hybrid. In a graph of another AdamW, Muon's products count as products.
ADAMW_IN_GRAPH = "FusedAdam"
UNTRACED = "-untraced"  # of a folder
TRACED = "Traced: the profiler slows the host, so idle time is longer than in a training that is not traced"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Busy:
    """One operation of the GPU, in microseconds of the trace's clock."""

    name: str
    start: float
    end: float
    launched: float | None = None  # when the host began to; None where the trace does not say
    in_optimizer: bool = False


@dataclass(frozen=True)
class Trace:
    operations: list[Busy]  # by start
    loading: list[Interval]  # the host in the DataLoader


@dataclass(frozen=True)
class Breakdown:
    """Milliseconds of one update; the kinds, hidden communication left out, add up to `update`."""

    update: float
    kinds: dict[str, float]
    communication_hidden: float
    kernels: dict[str, float]  # by name, overlap counted twice
    launches: dict[str, float]  # by name
    untraced: float | None = None  # an update without the profiler

    @property
    def work(self) -> float:
        return sum(self.kinds.get(kind, 0.0) for kind in KINDS)

    @property
    def rest(self) -> float | None:
        return None if self.untraced is None else self.untraced - self.work

    @property
    def is_old(self) -> bool:
        """Without data and the host's waits as kinds, and with an optimizer of what it is named by."""
        return "data" not in self.kinds


def main() -> int:
    options = _options()
    if options.recorded:
        found = recorded(unpacked(options.recorded))
    else:
        found = {
            str(path): replace(breakdown(read_trace(path), options.updates), untraced=untraced_of(path))
            for path in options.traces
        }
    untraced_by = options.untraced_of or "mean of the later half of another such training, right after"
    if options.untraced:
        if len(options.untraced) != len(found):
            raise ConfigError(
                f"--untraced: got {len(options.untraced)} times, expected {len(found)}, one per trace"
            )
        found = {
            path: replace(part, untraced=milliseconds)
            for (path, part), milliseconds in zip(found.items(), options.untraced, strict=True)
        }
    if options.json:  # first: a reader may have enough of the tables
        record = json.dumps({path: asdict(part) for path, part in found.items()}, indent=1)
        with refusal_told(options.json):
            options.json.write_text(record)
    answer(table(found, untraced_by))
    for path, part in found.items():
        answer(f"\n{path}: {sum(part.launches.values()):.0f} kernels an update; the longest, in ms:")
        for name, milliseconds in list(part.kernels.items())[: options.kernels]:
            answer(f"{milliseconds:9.3f} in {part.launches[name]:5.0f}  {name[:140]}")
    if options.picture:
        return draw(found, options.picture, options.devices or devices_of(next(iter(found))), untraced_by)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, nargs="*")
    parser.add_argument("--updates", type=int, help="updates in each trace, its speed.trace_updates")
    parser.add_argument("--recorded", type=Path, help="the --json file of an earlier call, instead of traces")
    parser.add_argument("--kernels", type=int, default=20, help="how many of the longest kernels to print")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="PNG file to draw; needs matplotlib")
    parser.add_argument(
        "--devices",
        help="devices in the picture's title (default: from metrics.jsonl next to the first trace)",
    )
    parser.add_argument(
        "--untraced",
        type=float,
        nargs="+",
        metavar="MS",
        help="time of an update without the profiler, one per trace",
    )
    parser.add_argument(
        "--untraced-of", help="name of the training of --untraced, with the same code and host"
    )
    options = parser.parse_args()
    if bool(options.traces) == bool(options.recorded):
        parser.error("expected either traces or --recorded; name one of them")
    if options.traces and (options.updates or 0) < 1:
        parser.error(
            f"--updates: got {options.updates}, expected the number of updates in each trace, 1 or more"
        )
    if options.untraced and not all(0 < value < math.inf for value in options.untraced):
        parser.error(f"--untraced: got {options.untraced}, expected milliseconds above 0")
    if bool(options.untraced) != bool(options.untraced_of):
        parser.error("got one of --untraced and --untraced-of, expected both or neither; add the other")
    for path in filter(None, (options.json, options.picture)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"{path}: its folder cannot be created ({error.strerror}); name another one")
        if path.is_dir():
            parser.error(f"{path}: is a folder; name a file")
    return options


def read_trace(path: Path) -> Trace:
    try:
        events = json.loads(path.read_text())["traceEvents"]
        launches = {_correlation(event): event for event in events if event.get("cat") in ON_HOST}
        on_gpu = [event for event in events if event.get("cat") in ON_GPU]
        ranges = [event for event in events if event.get("cat") == "user_annotation"]
        in_optimizer = _in_optimizer(on_gpu, launches, ranges)
        operations = [
            Busy(event["name"], *_span(event), launches.get(_correlation(event), {}).get("ts"), inside)
            for event, inside in zip(on_gpu, in_optimizer, strict=True)
        ]
        loading = [_span(event) for event in ranges if IN_LOADER.search(event["name"])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"{path}: cannot be read as a trace ({error!r}); name the trace-RANK.json of a training"
        ) from error
    if not operations:
        raise SystemExit(f"{path}: has no kernels, expected the trace of a GPU; name another trace")
    return Trace(sorted(operations, key=lambda operation: operation.start), union(loading))


def _correlation(event: Mapping) -> object:
    """What an operation and its launch have in common: a number; of neither where there is none."""
    return event.get("args", {}).get("correlation", id(event))


def _span(event: Mapping) -> Interval:
    return event["ts"], event["ts"] + event["dur"]


def _in_optimizer(on_gpu: list[dict], launches: Mapping, ranges: list[dict]) -> list[bool]:
    by_thread: dict[object, list[Interval]] = {}
    for event in ranges:
        if IN_OPTIMIZER.search(event["name"]):
            by_thread.setdefault(event.get("tid"), []).append(_span(event))
    by_thread = {thread: union(spans) for thread, spans in by_thread.items()}
    adamw: dict[object, float] = {}  # its start, by launch of a graph
    for event in on_gpu:
        if ADAMW_IN_GRAPH in event["name"]:
            launch = _correlation(event)
            adamw[launch] = min(adamw.get(launch, math.inf), event["ts"])

    def is_inside(event: dict) -> bool:
        launch = launches.get(_correlation(event))
        if launch is None:
            return False
        if "GraphLaunch" in launch["name"]:
            return event["ts"] >= adamw.get(_correlation(event), math.inf)
        spans = by_thread.get(launch.get("tid"), [])
        before = bisect_right(spans, (launch["ts"], math.inf)) - 1
        return before >= 0 and launch["ts"] <= spans[before][1]

    return [is_inside(event) for event in on_gpu]


def recorded(path: Path) -> dict[str, Breakdown]:
    try:
        found = {trace: Breakdown(**part) for trace, part in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SystemExit(
            f"--recorded: {path}: cannot be read ({error!r}); name a file that --json wrote"
        ) from error
    if not found:
        raise SystemExit(f"--recorded: {path}: has no trace in it; name a file that --json wrote")
    return found


def devices_of(trace: str) -> str | None:
    """As the training that was traced names them, such as 4 x NVIDIA H200; None where its events are gone."""
    try:
        with Path(trace).with_name("metrics.jsonl").open() as events:
            names = json.loads(next(events))["device_names"]
    except (OSError, ValueError, KeyError, StopIteration):
        return None
    return f"{len(names)} x {names[0]}"


def untraced_of(path: Path) -> float | None:
    """Milliseconds of an update of the same training without a trace, in FOLDER-untraced beside the trace's.

    The mean of its later half, in whole periods; None without one. Not of the traced process: its first
    updates are faster, since a GPU's clock falls only as it gets hot, and its later ones slower.
    """
    folder = path.resolve().parent
    try:
        lines = (folder.with_name(f"{folder.name}{UNTRACED}") / "metrics.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        started = next(event for event in events if event["event"] == "run_start")
        seconds = [s for event in events if event["event"] == "steps" for s in event["step_seconds"]]
        timed = len(seconds) // 2 // started["period_steps"] * started["period_steps"]
        milliseconds = mean(seconds[-timed:]) * 1e3 if timed else math.nan
    except (OSError, ValueError, KeyError, TypeError, StopIteration, ZeroDivisionError):
        return None
    return milliseconds if 0 < milliseconds < math.inf else None


def kind_of(operation: Busy) -> str:
    if operation.in_optimizer:
        return "optimizer"
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, operation.name))


def breakdown(trace: Trace, updates: int) -> Breakdown:
    """Divide the time from the first operation to the end of the last among the kinds."""
    found = trace.operations
    start, end = found[0].start, max(operation.end for operation in found)
    taken: list[Interval] = []
    kinds: dict[str, float] = {}
    parts = {
        kind: [o for o in found if not COMMUNICATION.search(o.name) and kind_of(o) == kind] for kind in KINDS
    }
    communication = [operation for operation in found if COMMUNICATION.search(operation.name)]
    for kind, operations_of_kind in [*parts.items(), ("communication exposed", communication)]:
        before = total(taken)
        taken = union([*taken, *((operation.start, operation.end) for operation in operations_of_kind)])
        kinds[kind] = total(taken) - before
    kinds |= waits(trace, taken)
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


def waits(trace: Trace, taken: list[Interval]) -> dict[str, float]:
    """Microseconds between what is taken, by what the next operation waited for."""
    gaps = [(before[1], after[0]) for before, after in pairwise(taken)]
    if all(operation.launched is None for operation in trace.operations):
        return {"idle": total(gaps)}
    launched = {operation.start: operation.launched for operation in reversed(trace.operations)}
    absent = [(start, min(end, launched[end])) for start, end in gaps if (launched[end] or 0) > start]
    for_data = total(absent) + total(trace.loading) - total(union([*absent, *trace.loading]))
    return {
        "waiting for data": for_data,
        "waiting for the host": total(absent) - for_data,
        "idle otherwise": total(gaps) - total(absent),
    }


def union(intervals: Iterable[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def total(intervals: list[Interval]) -> float:
    return sum(end - start for start, end in intervals)


def rows_of(found: Mapping[str, Breakdown]) -> list[str]:
    """The kinds that any of them has, in order."""
    return [kind for kind in [*KINDS, *WAITS] if any(kind in part.kinds for part in found.values())]


def notes(found: Mapping[str, Breakdown], untraced_by: str) -> list[str]:
    """What a reader of the table or the picture has to know."""
    said = []
    if any(part.untraced is not None for part in found.values()):
        said.append(
            f"Not traced: {untraced_by}. Its rest is what the update takes beyond the work as traced: idle"
            " time, exposed communication, and what the work takes longer at another clock."
        )
    if any(part.is_old for part in found.values()):
        said.append(
            "An older record: products and pointwise work have Muon's, copies have the data, and idle time"
            " has the waiting for data and for the host."
        )
    return said


def table(found: Mapping[str, Breakdown], untraced_by: str) -> str:
    parts = found.values()
    rows = [("ms of an update", [f"{part.update:.2f}" for part in parts])]
    for kind in rows_of(found):
        cells = [
            f"{part.kinds[kind]:.2f} ({part.kinds[kind] / part.update:.0%})" if kind in part.kinds else "-"
            for part in parts
        ]
        rows.append((kind, cells))
    rows.append(("communication hidden", [f"{part.communication_hidden:.2f}" for part in parts]))
    if any(part.untraced is not None for part in parts):
        rows.append(("ms, not traced", [_or_dash(part.untraced) for part in parts]))
        rows.append(("its rest", [_or_dash(part.rest) for part in parts]))
    header = ("", [Path(path).parent.name for path in found])
    lines = [f"{name:22}" + "".join(f"{cell:>18}" for cell in cells) for name, cells in [header, *rows]]
    for note in notes(found, untraced_by):
        lines += ["", *textwrap.wrap(note, 100)]
    return "\n".join(lines)


def _or_dash(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.2f}"


@dataclass(frozen=True)
class Bar:
    label: str
    milliseconds: float
    pieces: dict[str, float]


REST = "not traced, the rest"


def bars_of(found: Mapping[str, Breakdown]) -> list[Bar]:
    """Of each trace its kinds, and below them its work beside an update that was not traced."""
    bars = []
    for path, part in found.items():
        name = Path(path).parent.name
        bars.append(Bar(f"{name}, traced", part.update, dict(part.kinds)))
        if part.untraced is not None:
            work = {kind: part.kinds[kind] for kind in KINDS if kind in part.kinds}
            bars.append(Bar(f"{name}, not traced", part.untraced, {**work, REST: max(0.0, part.rest)}))
    return bars


def draw(found: Mapping[str, Breakdown], path: Path, devices: str | None, untraced_by: str) -> int:
    """Pieces have their ms in the legend: some are too narrow to be seen. Returns an exit code."""
    if find_spec("matplotlib") is None:
        say(
            f"{path} is not drawn: matplotlib is not installed. Install it, then use --recorded with the "
            "file of --json"
        )
        return 1
    import matplotlib.pyplot as plt

    bars, kinds = bars_of(found), rows_of(found)
    columns = {kind: [_or_dash(part.kinds.get(kind)) for part in found.values()] for kind in kinds}
    if any(REST in bar.pieces for bar in bars):
        columns[REST] = [_or_dash(part.rest) for part in found.values()]
    said = [line for note in notes(found, untraced_by) for line in textwrap.wrap(note, 105)]
    if any(part.communication_hidden for part in found.values()):
        hidden = " | ".join(f"{part.communication_hidden:.2f}" for part in found.values())
        said.append(f"Communication behind other work, in no bar: {hidden} ms.")
    # Inches: of titles and axis, a bar, a row of the legend, and a line of notes.
    height = 1.7 + 0.5 * len(bars) + 0.23 * math.ceil(len(columns) / 2) + 0.2 * len(said)
    figure, axes = plt.subplots(figsize=(9, height), layout="constrained")
    places, left = range(len(bars)), [0.0] * len(bars)
    for number, (kind, cells) in enumerate(columns.items()):
        widths = [bar.pieces.get(kind, 0.0) for bar in bars]
        style = {"color": f"C{number}"}
        if kind == REST:
            style = {"color": "white", "edgecolor": "gray", "hatch": "////", "linewidth": 0}
        drawn = axes.barh(places, widths, left=left, label=f"{kind}: {' | '.join(cells)}", **style)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.bar_label(drawn, [f"{bar.milliseconds:.2f} ms" for bar in bars], padding=4)
    axes.set_xlim(0, 1.14 * max(bar.milliseconds for bar in bars))
    axes.set_yticks(places, [bar.label for bar in bars])
    axes.invert_yaxis()
    # Within the axes' margin: a label of the figure would lie on the legend.
    axes.set_xlabel("\n".join(["ms of an update", *said]), fontsize="small")
    figure.suptitle(" on ".join(filter(None, ("Where one GPU's time goes in an update", devices))))
    axes.set_title(TRACED, fontsize="small")
    names = " | ".join(Path(trace).parent.name for trace in found)
    figure.legend(title=f"ms of {names}", ncols=2, loc="outside lower center", frameon=False)
    with refusal_told(path):
        figure.savefig(path, dpi=150)
    return 0


if __name__ == "__main__":
    with refused_in_words():
        raise SystemExit(main())
