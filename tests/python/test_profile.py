"""A few steps are traced and summed up, and what is wrong with a trace is a reason in the summary."""

import gzip
import json
from pathlib import Path

import pytest
from speedproof.profile.events import BadTrace, events_of
from speedproof.profile.gpu import EXPOSED, HOST, IDLE, operations_of, time_of_step
from speedproof.profile.memory import peak_of
from speedproof.profile.operators import gpu_time_by_operator
from speedproof.profile.summary import MOST_ROWS, REST, summarize

from tests.python.recorded import recorded

SCRIPT = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range({steps}):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
"""


def profiled(folder: Path, steps: int) -> dict:
    traces = folder / "profile"
    recorded(folder, SCRIPT.format(steps=steps), env={"SPEEDPROOF_PROFILE": str(traces)})
    return summarize(traces)


def test_the_steps_of_a_real_training_are_traced(tmp_path: Path) -> None:
    found = profiled(tmp_path, 30)
    assert found["problems"] == []
    assert found["traces"][0]["steps"] == 3
    assert sum(found["kinds"].values()) == pytest.approx(found["step_ms"])
    launches = {row["name"]: row["launches"] for row in found["operators"]}
    assert launches["aten::linear"] == launches["AddmmBackward0"] == 2
    assert launches["Optimizer.step#AdamW.step"] == 1


def test_a_training_that_is_too_short_says_so(tmp_path: Path) -> None:
    found = profiled(tmp_path, 10)
    assert "step_ms" not in found
    assert "take more" in found["problems"][0]


def test_a_folder_without_traces_says_so(tmp_path: Path) -> None:
    assert "nothing was traced" in summarize(tmp_path)["problems"][0]


def trace_of(path: Path, events: list[dict]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=2))
    return path


WHOLE = json.dumps({"traceEvents": [{"name": "first", "cat": "kernel"}, {"name": "second"}]})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no traceEvents"),
        ("{}", "no traceEvents"),
        ("\x00\x01", "no traceEvents"),
        (WHOLE[:-20], "ends in the middle"),
        (WHOLE.replace('"second"', "second"), "ends in the middle, or is damaged"),
        ('{"traceEvents": [' + "[" * 100_000, "ends in the middle"),
    ],
)
def test_a_damaged_trace_is_refused_with_a_reason(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(BadTrace, match=reason):
        list(events_of(path))


def test_a_compressed_trace_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(WHOLE.encode())[:-12])
    with pytest.raises(BadTrace):
        list(events_of(path))


def test_events_are_read_over_the_borders_of_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedproof.profile.events.CHUNK_CHARACTERS", 7)
    events = [{"name": f"[{index}] , }}", "args": {"deep": [index, {"a": "\\]"}]}} for index in range(50)]
    assert list(events_of(trace_of(tmp_path / "trace.json", events))) == events


def kernel(name: str, start: float, duration: float, correlation: int) -> dict:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "ts": start,
        "dur": duration,
        "args": {"correlation": correlation},
    }


def launch(start: float, correlation: int, name: str = "cudaLaunchKernel", thread: int = 1) -> dict:
    return {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": name,
        "ts": start,
        "dur": 1.0,
        "tid": thread,
        "args": {"correlation": correlation},
    }


def test_the_time_of_a_gpu_is_divided_once(tmp_path: Path) -> None:
    events = [
        launch(0, 1),
        kernel("sm90_gemm", 0, 100, 1),
        launch(1, 2),
        kernel("ncclDevKernel_AllReduce", 50, 150, 2),  # 100 of it alone
        launch(240, 3),  # 40 after the GPU has become idle
        kernel("vectorized_elementwise", 260, 40, 3),
        launch(10, 4),
        kernel("flash_fwd", 320, 80, 4),  # launched long ago
    ]
    found = time_of_step(operations_of(events_of(trace_of(tmp_path / "t.json", events))), steps=2)
    kinds = found["kinds"]
    assert kinds["matrix products"] == pytest.approx(0.05)
    assert kinds[EXPOSED] == pytest.approx(0.05)
    assert found["hidden_communication_ms"] == pytest.approx(0.025)
    assert kinds[HOST] == pytest.approx(0.02)
    assert kinds[IDLE] == pytest.approx(0.02)
    assert sum(kinds.values()) == pytest.approx(found["step_ms"]) == pytest.approx(0.2)
    assert found["kernels"][0] == {
        "name": "ncclDevKernel_AllReduce",
        "kind": "communication",
        "ms": pytest.approx(0.075),
        "launches": 0.5,
    }


def test_a_kernel_counts_for_the_outermost_operator_that_launched_it(tmp_path: Path) -> None:
    def operator(name: str, start: float, duration: float, category: str = "cpu_op", thread: int = 1) -> dict:
        return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "tid": thread}

    events = [
        operator("aten::scaled_dot_product_attention", 0, 100),
        operator("aten::bmm", 10, 20),
        launch(15, 1),
        kernel("gemm", 500, 30, 1),
        operator("autograd::engine::evaluate_function: BmmBackward0", 0, 50, thread=2),
        launch(20, 2, thread=2),
        kernel("gemm", 600, 10, 2),
        operator("Optimizer.step#AdamW.step", 200, 50, category="user_annotation"),
        launch(210, 3),
        kernel("multi_tensor", 700, 5, 3),
        launch(300, 4, name="cudaGraphLaunch"),
        kernel("gemm", 800, 2, 4),
        launch(400, 5),
        kernel("fill", 900, 1, 5),
    ]
    rows = gpu_time_by_operator(events_of(trace_of(tmp_path / "t.json", events)), steps=1)
    assert [(row["name"], row["ms"]) for row in rows] == [
        ("aten::scaled_dot_product_attention", 0.03),
        ("BmmBackward0", 0.01),
        ("Optimizer.step#AdamW.step", 0.005),
        ("CUDA graph", 0.002),
        ("outside of all operators", 0.001),
    ]


def test_a_summary_is_small_whatever_the_trace_holds(tmp_path: Path) -> None:
    events = [
        event
        for index in range(3 * MOST_ROWS)
        for event in (launch(index, index), kernel("k" * 10_000 + str(index), 10.0 * index, 5, index))
    ]
    trace_of(tmp_path / "gpu-trace.json", events)
    window = {"name": "gpu", "file": "../gpu-trace.json", "steps": 1}
    (tmp_path / "windows.json").write_text(json.dumps({"windows": [window]}))
    found = summarize(tmp_path)
    assert found["kernels"][-1]["name"] == REST
    assert sum(row["launches"] for row in found["kernels"]) == 3 * MOST_ROWS
    assert len(json.dumps(found)) < 200_000


def test_a_trace_that_is_too_large_for_an_artifact_is_summed_up_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speedproof.profile.summary.MOST_KEPT_BYTES", 100)
    path = trace_of(tmp_path / "gpu-trace.json", [launch(0, 1), kernel("gemm", 5, 5, 1)])
    (tmp_path / "windows.json").write_text(
        json.dumps({"windows": [{"name": "gpu", "file": path.name, "steps": 1}]})
    )
    found = summarize(tmp_path)
    assert found["step_ms"] == pytest.approx(0.005)
    assert "too many to keep" in found["problems"][0]
    assert not path.exists()


def test_the_largest_blocks_at_the_peak_of_memory_are_named() -> None:
    frames = [{"filename": "/x/torch/nn/linear.py", "line": 1, "name": "forward"}]
    own = [{"filename": "/home/me/train.py", "line": 7, "name": "step"}]
    snapshot = {
        "segments": [
            {
                "device": 0,
                "address": 1000,
                "blocks": [
                    {"size": 400, "state": "active_allocated", "frames": []},
                    {"size": 100, "state": "inactive"},
                ],
            }
        ],
        "device_traces": [
            [
                {"action": "alloc", "addr": 1400, "size": 100, "frames": frames + own},
                {"action": "free_requested", "addr": 1400, "size": 100, "frames": frames + own},
                {"action": "free_completed", "addr": 1400, "size": 100, "frames": frames + own},
            ]
        ],
    }
    found = peak_of(snapshot, 0)
    assert found == {
        "peak_bytes": 500,
        "categories": {"kept over the steps": 400, "made in the step": 100},
        "largest": [
            {"bytes": 400, "where": "kept over the steps"},
            {"bytes": 100, "where": "me/train.py:7 step"},
        ],
    }
