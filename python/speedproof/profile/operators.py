"""The time of a step by operator: from a trace that has the names of the operators.

Each kernel counts for the outermost operator that launched it, such as aten::scaled_dot_product_attention,
whatever kernels that chose. Without a GPU an operator has its own time on the host.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from speedproof.profile.gpu import ON_GPU, ON_HOST, correlation_of
from speedproof.profile.intervals import Interval, total, union

IN_OPTIMIZER = re.compile(r"^Optimizer\.step#")
GRAPH, OUTSIDE = "CUDA graph", "outside of all operators"
_BACKWARD = "autograd::engine::evaluate_function: "

Span = tuple[float, float, str]


class _Operators:
    """The outermost operators of each thread of the host."""

    def __init__(self) -> None:
        self._of_thread: dict[object, list[Span]] = {}

    def add(self, event: dict[str, Any]) -> None:
        start = float(event["ts"])
        span = (start, start + float(event["dur"]), _name_of(str(event["name"])))
        self._of_thread.setdefault(event.get("tid"), []).append(span)

    def close(self) -> None:
        for thread, spans in self._of_thread.items():
            outermost: list[Span] = []
            for span in sorted(spans, key=lambda span: (span[0], -span[1])):
                if not outermost or span[0] >= outermost[-1][1]:
                    outermost.append(span)
            self._of_thread[thread] = outermost

    def at(self, thread: object, time: float) -> str:
        spans = self._of_thread.get(thread, [])
        place = bisect_right(spans, (time, float("inf"), "")) - 1
        return spans[place][2] if place >= 0 and time <= spans[place][1] else OUTSIDE

    def all(self) -> list[Span]:
        return [span for spans in self._of_thread.values() for span in spans]


def _name_of(name: str) -> str:
    return name.removeprefix(_BACKWARD)


def is_operator(event: dict[str, Any]) -> bool:
    category = event.get("cat")
    is_optimizer = category == "user_annotation" and IN_OPTIMIZER.search(str(event.get("name")))
    return "dur" in event and (category == "cpu_op" or bool(is_optimizer))


def gpu_time_by_operator(events: Iterable[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    operators, launches, kernels = _Operators(), {}, []
    for event in events:
        category = event.get("cat")
        if category in ON_GPU:
            kernels.append((correlation_of(event), float(event["dur"])))
        elif category in ON_HOST:
            launches[correlation_of(event)] = (event.get("tid"), float(event["ts"]), str(event["name"]))
        elif is_operator(event):
            operators.add(event)
    operators.close()
    spent: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for correlation, microseconds in kernels:
        thread, time, call = launches.get(correlation, (None, 0.0, ""))
        name = GRAPH if "GraphLaunch" in call else operators.at(thread, time)
        spent[name] += microseconds
        count[name] += 1
    return _rows(spent, count, steps)


def host_time_of_step(events: Iterable[dict[str, Any]], steps: int) -> dict[str, Any]:
    """The same as of a GPU for a training on the CPU: its operators are its kernels."""
    operators = _Operators()
    for event in events:
        if is_operator(event):
            operators.add(event)
    operators.close()
    spans = operators.all()
    if not spans:
        return {}
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    busy: list[Interval] = union((span[0], span[1]) for span in spans)
    spent: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for first, last, name in spans:
        spent[name] += last - first
        count[name] += 1
    scale = 1e-3 / steps
    inside = total(busy) * scale
    return {
        "step_ms": (end - start) * scale,
        "kinds": {"operators": inside, OUTSIDE: (end - start) * scale - inside},
        "hidden_communication_ms": 0.0,
        "kernels": [],
        "operators": _rows(spent, count, steps),
    }


def _rows(spent: Counter[str], count: Counter[str], steps: int) -> list[dict[str, Any]]:
    return [
        {"name": name, "ms": microseconds * 1e-3 / steps, "launches": count[name] / steps}
        for name, microseconds in spent.most_common()
    ]
