"""What a trace says of where the GPU's time goes, and what its table and picture say beside it."""

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from tiny import ROOT

from benchmarks.speed import step_breakdown
from benchmarks.speed.step_breakdown import (
    REST,
    WAITS,
    bars_of,
    breakdown,
    kind_of,
    read_trace,
    recorded,
    untraced_of,
)
from scripts import run

GEMM, ADAMW, SUM = "nvjet_sm90_hsh", "multi_tensor_apply_kernel<FusedAdamMathFunctor>", "reduce_kernel"
ALL_REDUCE, FROM_HOST = "ncclDevKernel_AllReduce", "Memcpy HtoD (Pinned -> Device)"
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
RECORDED = ROOT / "out/records/step-breakdown"


def launch(correlation: int, at: float, name: str = "cudaLaunchKernel", thread: int = 1) -> dict:
    arguments = {"correlation": correlation}
    return {"cat": "cuda_runtime", "name": name, "ts": at, "dur": 1.0, "tid": thread, "args": arguments}


def on_gpu(name: str, start: float, end: float, correlation: int | None = None) -> dict:
    arguments = {} if correlation is None else {"correlation": correlation}
    cat = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
    return {"cat": cat, "name": name, "ts": start, "dur": end - start, "tid": 7, "args": arguments}


def annotation(name: str, start: float, end: float, thread: int = 1) -> dict:
    return {"cat": "user_annotation", "name": name, "ts": start, "dur": end - start, "tid": thread}


def written(folder: Path, *events: dict) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "trace-0.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def microseconds(path: Path, updates: int = 1) -> dict[str, float]:
    """Of an update, by kind, where there are any."""
    found = breakdown(read_trace(path), updates)
    assert sum(found.kinds.values()) == pytest.approx(found.update)
    return {kind: pytest.approx(1e3 * spent) for kind, spent in found.kinds.items() if spent}


def test_idle_time_is_the_hosts_until_it_launches_what_runs_next(tmp_path):
    path = written(
        tmp_path,
        *(launch(1, 0), on_gpu(GEMM, 10, 20, 1)),
        *(launch(2, 50), on_gpu(GEMM, 55, 60, 2)),  # 30 of 35 too late
        *(launch(3, 51), on_gpu(GEMM, 62, 70, 3)),  # in time
        on_gpu(GEMM, 80, 90, 99),  # whose launch is not in the trace
    )
    assert microseconds(path) == {"products": 33, "waiting for the host": 30, "idle otherwise": 5 + 2 + 10}


def test_a_launch_that_its_clock_has_behind_the_kernel_takes_no_more_than_the_gap(tmp_path):
    path = written(tmp_path, launch(1, 0), on_gpu(GEMM, 0, 10, 1), launch(2, 33), on_gpu(GEMM, 30, 40, 2))
    assert microseconds(path) == {"products": 20, "waiting for the host": 20}


def test_the_host_in_the_loader_while_nothing_runs_is_waiting_for_data(tmp_path):
    path = written(
        tmp_path,
        *(launch(1, 0), on_gpu(GEMM, 10, 20, 1)),
        annotation(LOADER, 12, 32),  # of which 8 are behind the kernel
        *(launch(2, 40), on_gpu(FROM_HOST, 44, 48, 2)),
        *(launch(3, 41), on_gpu("Memcpy DtoD (Device -> Device)", 48, 50, 3)),
    )
    assert microseconds(path) == {
        "products": 10,
        "data": 4,
        "copies": 2,
        "waiting for data": 12,
        "waiting for the host": 8,
        "idle otherwise": 4,
    }


def test_a_trace_without_launches_does_not_say_what_idle_time_waits_for(tmp_path):
    found = microseconds(written(tmp_path, on_gpu(GEMM, 0, 10), on_gpu(GEMM, 30, 40)))
    assert found == {"products": 20, "idle": 20}


def test_communication_is_exposed_where_nothing_else_runs(tmp_path):
    path = written(tmp_path, on_gpu(GEMM, 0, 10), on_gpu(ALL_REDUCE, 4, 18), on_gpu(GEMM, 18, 20))
    found = breakdown(read_trace(path), updates=2)
    assert found.kinds["communication exposed"] == pytest.approx(8e-3 / 2)
    assert found.communication_hidden == pytest.approx(6e-3 / 2)


@pytest.mark.parametrize("muon", ["Optimizer.step#Muon.step", "Muon.step"])
def test_what_the_optimizers_ranges_launch_is_the_optimizers(tmp_path, muon):
    path = written(
        tmp_path,
        annotation(muon, 10, 20),
        annotation("AdamW.step", 30, 40),
        *(launch(1, 5), on_gpu(GEMM, 50, 51, 1)),
        *(launch(2, 12), on_gpu(GEMM, 51, 53, 2)),
        *(launch(3, 15, thread=2), on_gpu(GEMM, 53, 57, 3)),  # of a backward pass, say
        *(launch(4, 25), on_gpu(SUM, 57, 65, 4)),
        *(launch(5, 33), on_gpu(SUM, 65, 81, 5)),
        *(launch(6, 17), on_gpu(ALL_REDUCE, 81, 113, 6)),
    )
    assert microseconds(path) == {
        "products": 1 + 4,
        "optimizer": 2 + 16,
        "pointwise and sums": 8,
        "communication exposed": 32,
    }


def test_in_a_graph_all_from_adamw_on_is_the_optimizers(tmp_path):
    updates = []
    for number, at in enumerate((0, 100), 1):
        updates += [launch(number, at, "cudaGraphLaunch")]
        updates += [on_gpu(GEMM, at + 10, at + 20, number), on_gpu(ADAMW, at + 20, at + 24, number)]
        updates += [on_gpu(GEMM, at + 24, at + 30, number), on_gpu(ALL_REDUCE, at + 30, at + 32, number)]
    found = microseconds(written(tmp_path, *updates), updates=2)
    assert found == {
        "products": 10,
        "optimizer": 10,
        "communication exposed": 2,
        "waiting for the host": 68 / 2,
        "idle otherwise": 10 / 2,
    }


def test_adamw_outside_of_a_graph_takes_nothing_with_it(tmp_path):
    path = written(
        tmp_path,
        *(launch(1, 0), on_gpu(ADAMW, 10, 20, 1)),
        *(launch(2, 1), on_gpu(GEMM, 20, 24, 2)),
    )
    assert [kind_of(operation) for operation in read_trace(path).operations] == ["optimizer", "products"]


def events_of(path: Path, *events: dict) -> None:
    """Of the same training without a trace."""
    folder = path.parent.with_name(f"{path.parent.name}-untraced")
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))


def steps(*seconds: float) -> dict:
    return {"event": "steps", "step_seconds": seconds}


START = {"event": "run_start", "period_steps": 1}


def test_an_update_without_the_profiler_is_one_of_the_training_beside_it(tmp_path):
    path = written(tmp_path / "baseline", on_gpu(GEMM, 0, 10))
    assert untraced_of(path) is None
    events_of(path, START, steps(5, *[0.9] * 5), steps(*[0.4] * 3, *[0.3] * 3))
    assert untraced_of(path) == pytest.approx(350)
    events_of(path, {**START, "period_steps": 4}, steps(*[0.4] * 8, 0.1, 0.3, 0.1, 0.1))
    assert untraced_of(path) == pytest.approx(150)  # the last period, and not half of the one before
    for start, seconds in (
        (START, [5]),
        (START, [0.4, math.nan]),
        ({**START, "period_steps": 0}, [0.4] * 4),
        ({"event": "run_start"}, [0.4] * 4),
    ):
        events_of(path, start, steps(*seconds))
        assert untraced_of(path) is None


def test_the_rest_of_an_update_that_was_not_traced_is_beyond_the_traced_work(tmp_path, monkeypatch, capsys):
    path = written(tmp_path / "baseline", on_gpu(GEMM, 0, 4000), on_gpu(ALL_REDUCE, 6000, 9000))
    events_of(path, START, steps(5, *[0.005] * 9))
    assert run(monkeypatch, step_breakdown, "--updates", 1, path) == 0
    said = capsys.readouterr().out
    assert row(said, "ms of an update") == ["9.00"]
    assert row(said, "ms, not traced") == ["5.00"]
    assert row(said, "its rest") == ["1.00"]
    assert "Not traced: mean of the later half of another such training, right after. " in said
    given = ["--untraced", "4.5", "--untraced-of", "the gate"]
    assert run(monkeypatch, step_breakdown, path, "--updates", 1, *given) == 0
    said = capsys.readouterr().out
    assert row(said, "its rest") == ["0.50"]
    assert "Not traced: the gate. " in said


def row(table: str, name: str) -> list[str]:
    return next(line for line in table.splitlines() if line.startswith(f"{name} "))[len(name) :].split()


@pytest.mark.parametrize("name", ["h200-1gpu-a1e8f85", "h200-2gpu", "h100-4gpu"])
def test_an_older_record_prints_what_it_has_and_says_what_it_lacks(monkeypatch, capsys, name):
    path = RECORDED / f"{name}.json"
    assert run(monkeypatch, step_breakdown, "--recorded", path) == 0
    said = capsys.readouterr().out
    hidden = [f"{part.communication_hidden:.2f}" for part in recorded(path).values()]
    assert row(said, "communication hidden") == hidden
    assert not any(line.startswith(("data", "waiting")) for line in said.splitlines()[:12])
    assert "An older record: products and pointwise work have Muon's" in said
    assert "Not traced" not in said


@pytest.mark.parametrize("name", ["h200-4gpu", "h200-4gpu-baseline-ranks"])
def test_a_record_of_now_tells_what_idle_time_waits_for(monkeypatch, capsys, name):
    path = RECORDED / f"{name}.json"
    assert run(monkeypatch, step_breakdown, "--recorded", path) == 0
    said = capsys.readouterr().out
    assert "An older record" not in said
    assert said.split("\n\n")[0] in (ROOT / "benchmarks/records/step-breakdown/h200-4gpu.txt").read_text()
    for part in recorded(path).values():
        assert sum(part.kinds.values()) == pytest.approx(part.update)
        assert {"data", "waiting for data", "waiting for the host"} <= set(part.kinds)


def test_a_picture_has_a_bar_beside_each_traced_one_and_says_what_the_profiler_does(tmp_path, monkeypatch):
    # As if matplotlib, which tests do not need, were there.
    figure, axes = MagicMock(), MagicMock()
    pyplot = SimpleNamespace(subplots=lambda **_: (figure, axes))
    monkeypatch.setitem(sys.modules, "matplotlib", SimpleNamespace(pyplot=pyplot))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.setattr(step_breakdown, "find_spec", lambda _: True)
    given = ["--untraced", 362.7, 118.4, "--untraced-of", "the gate", "--devices", "2 x NVIDIA H200"]
    picture = ["--picture", tmp_path / "all.png"]
    assert run(monkeypatch, step_breakdown, "--recorded", RECORDED / "h200-2gpu.json", *given, *picture) == 0
    ends = [sum(call.args[1][bar] for call in axes.barh.call_args_list) for bar in range(4)]
    assert ends == pytest.approx([521.59, 362.7, 115.93, 118.4], abs=0.01)
    labels = [call.kwargs["label"] for call in axes.barh.call_args_list]
    assert "communication exposed: 59.53 | 1.47" in labels
    assert labels[-1] == f"{REST}: 51.31 | 6.40"
    assert "the profiler slows the host" in axes.set_title.call_args.args[0]
    below = axes.set_xlabel.call_args.args[0]
    assert "Not traced: the gate. " in below
    assert "Communication behind other work, in no bar: 26.67 | 0.17 ms." in below
    assert figure.suptitle.call_args.args[0].endswith("in an update on 2 x NVIDIA H200")
    figure.savefig.assert_called_once_with(tmp_path / "all.png", dpi=150)


def test_a_bar_that_was_not_traced_has_no_wait_of_the_trace():
    found = recorded(RECORDED / "h100-4gpu.json")
    traced, *_ = bars_of(found)
    assert traced.pieces["idle"] > 200
    slower = {path: replace(part, untraced=100.0) for path, part in found.items()}
    for bar in bars_of(slower)[1::2]:
        assert not set(WAITS) & set(bar.pieces)
        assert bar.pieces[REST] == 0.0  # less than the work as traced has no bar, and a negative number


def test_a_recorded_breakdown_prints_the_same_table(tmp_path, monkeypatch, capsys):
    trace, record = tmp_path / "baseline/trace-0.json", tmp_path / "new/folder/all.json"
    trace.parent.mkdir()
    trace.write_text(json.dumps({"traceEvents": [on_gpu(GEMM, 10, 2010)]}))
    trace.with_name("metrics.jsonl").write_text('{"device_names": ["NVIDIA H200", "NVIDIA H200"]}\n')
    assert run(monkeypatch, step_breakdown, "--updates", "2", "--json", record, trace) == 0
    printed = capsys.readouterr().out
    assert run(monkeypatch, step_breakdown, "--recorded", record) == 0
    assert capsys.readouterr().out == printed
    assert step_breakdown.devices_of(str(trace)) == "2 x NVIDIA H200"
    assert step_breakdown.devices_of(str(record)) is None
    monkeypatch.setattr(step_breakdown, "find_spec", lambda _: None)
    assert run(monkeypatch, step_breakdown, "--recorded", record, "--picture", tmp_path / "all.png") == 1
    said = capsys.readouterr()
    assert said.out == printed  # all that it can
    assert re.search(r"all\.png .*matplotlib is not installed.* --recorded", said.err)
