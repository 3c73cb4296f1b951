"""The verdict of the GPU check, on what it recorded and on what it must not let pass."""

import errno
import itertools
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tiny import ROOT

from benchmarks.in_words import refused_in_words
from trainer.build import build_choices, build_model, build_objective, build_rates
from trainer.config import load_config
from trainer.errors import ConfigError
from trainer.losses.read_back import read_back_recipe

sys.path.insert(0, str(ROOT / "benchmarks"))

import gpu_check
import gpu_check_cases
from gpu_check_cases import EIGHT_BITS, PLAIN, Case, Tolerance, cases
from gpu_check_verdict import (
    _last_loss,
    _loss_deviations,
    _of_gradients,
    expected_read_backs,
    largest,
    loss_deviation,
    of_old,
    since_resumed,
    wrong,
    wrong_kernels,
)
from gpu_check_worker import SYNCHRONIZES, _most, _noted_waits

RECORDS = ROOT / "benchmarks/gpu-check"
CASES = {case.name: case for case in cases("cuda")}
NOT_RECORDED = {"attention-flash3"}  # its package is not there
NOT_SHOWN = "not compared with plain-fp32"  # by `plain` of the older records


def recorded(file: Path) -> dict[str, dict]:
    records = map(json.loads, file.read_text().splitlines())
    return {record["case"]: of_old(record) for record in records if "step_seconds" in record}


def verdict(case: str, records: dict[str, dict]) -> list[str]:
    return wrong(records[case], CASES[case], records.get(CASES[case].against))


def test_what_every_case_sets_can_be_seen():
    for case in CASES.values():
        assert expected_read_backs(case), case.name


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_what_is_recorded_was_on_and_kept_the_numbers(file):
    records = recorded(file)
    assert {record.get("device", "cuda") for record in records.values()} == {"cuda"}
    assert [text for name in records for text in verdict(name, records) if text != NOT_SHOWN] == []


def test_every_case_that_can_run_is_recorded():
    found = {name for file in RECORDS.glob("*.jsonl") for name in recorded(file)}
    assert set(CASES) - found == NOT_RECORDED


@pytest.mark.parametrize(
    ("case", "times"), [("plain-fp32", 4), ("plain", 3), ("recipe", 3), ("plain-of-two", 5), ("ddp", 4)]
)
def test_what_was_recorded_again_had_the_same_reference(case, times):
    found = [records for file in RECORDS.glob("h100-*.jsonl") if case in (records := recorded(file))]
    assert len(found) == times
    assert len({tuple(records[case]["losses"]) for records in found}) == 1


# As the README's table has them.
TOLERANCES = (
    "SAME",
    "REORDERED",
    "STEPPED",
    "ROUNDING",
    "FLOAT",
    "HALVED",
    "EIGHT_BITS",
    "RECOMPILED",
    "SKIPPING",
)
COLUMNS = ("losses", "weights", "gradients", "gradient")


def furthest() -> dict[Tolerance, list[float]]:
    """Of all records, by column."""
    seen = {getattr(gpu_check_cases, name): [0.0] * len(COLUMNS) for name in TOLERANCES}
    for records in OF_FILES:
        for name, record in records.items():
            case = CASES[name]
            if case.against not in records:
                continue
            of = since_resumed(records[case.against], record)
            losses = [one["losses"] for one in (record, of)]
            if case.tolerance.skipped_updates:
                losses = [[one["losses"][0], _last_loss(one)] for one in (record, of)]
            found = [_loss_deviations(*losses), [], [], []]
            if "weight_deviation" in record:  # else one of NOT_SHOWN
                found[1] = [record["weight_deviation"], record["average_deviation"]]
                of_first = [] if case.resumes else _of_gradients(record, of, case)
                for column, (_, values, _) in zip((2, 2, 3), of_first, strict=False):
                    found[column] += values
            most = seen[case.tolerance]
            seen[case.tolerance] = [max([old, *new]) for old, new in zip(most, found, strict=True)]
    return seen


def test_the_table_has_the_bounds_and_what_all_records_show():
    _, table = (RECORDS / "README.md").read_text().split("| | losses, relative | seen |")
    rows = [line.strip("| ").split(" | ")[1:] for line in table.splitlines()[2 : 2 + len(TOLERANCES)]]
    for row, (tolerance, seen) in zip(rows, furthest().items(), strict=True):
        bounds = [getattr(tolerance, column) for column in COLUMNS]
        assert list(map(float, row[::2])) == bounds
        assert list(map(float, row[1::2])) == [float(f"{value:.1e}") for value in seen]
        is_narrow = [1.8 * value > most for value, most in zip(seen, bounds, strict=True)]
        assert is_narrow == [
            tolerance == EIGHT_BITS and column in ("losses", "gradients") for column in COLUMNS
        ]


def kernel_errors() -> dict[str, dict[str, dict[str, float]]]:
    files = {"float32": "float32", "bfloat16": "bf16", "float16": "fp16"}
    return {
        dtype: json.loads((RECORDS / f"h200-kernel-errors-{name}.json").read_text())
        for dtype, name in files.items()
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_our_kernels_are_off_by_their_rounding_alone(dtype):
    assert wrong_kernels(kernel_errors()[dtype], dtype) == []


def test_what_an_older_record_of_our_kernels_lacks_is_named():
    lines = (RECORDS / "kernel-errors.txt").read_text().splitlines()
    texts = dict(line.removeprefix("errors of our kernels, ").split(": ", 1) for line in lines)
    assert wrong_kernels(json.loads(texts["float32"]), "float32") == [
        "one-tile attention in float32: 4 parts were compared, expected 5",
        "first norm in float32: 0 parts were compared, expected 7",
        "last norm in float32: 0 parts were compared, expected 8",
    ]


@pytest.mark.parametrize(
    ("kernel", "part", "error"),
    [
        ("feed-forward", "x", 0.03),
        ("feed-forward", "x", float("nan")),
        ("FP8 products", "out", 0.2),
        ("FP8 products", "x", 0.004),  # as in bf16
        ("gate, sum and norm", "total", 0.004),  # a stream that is rounded to bf16
        ("first norm", "total", 0.004),
        ("decoder tail and head", "layer.feed_forward_norm.bias", 0.006),  # a head that reads in bf16
    ],
)
def test_a_kernel_that_is_further_off_is_named(kernel, part, error):
    errors = kernel_errors()["bfloat16"]
    errors[kernel][part] = error
    (text,) = wrong_kernels(errors, "bfloat16")
    assert text.startswith(f"{kernel}, {part}, in bfloat16: {error} off, expected ")


def test_a_kernel_that_is_new_is_named():
    errors = kernel_errors()["bfloat16"] | {"sum": {"out": 0.0}}
    assert wrong_kernels(errors, "bfloat16") == [
        "sum in bfloat16: nothing here says what it has to be off by at most"
    ]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_kernel_without_all_its_figures_is_named(dtype):
    known = kernel_errors()[dtype]
    for kernel, parts in known.items():
        some = dict(list(parts.items())[1:])
        for less in ({name: known[name] for name in known if name != kernel}, {**known, kernel: some}):
            assert wrong_kernels(less, dtype)
            assert all(text.startswith(kernel) for text in wrong_kernels(less, dtype))
        if kernel != "FP8 products":
            assert wrong_kernels({**known, kernel: None}, dtype)


def test_a_gpu_without_fp8_is_not_asked_for_it():
    errors = {**kernel_errors()["bfloat16"], "FP8 products": None}
    assert wrong_kernels(errors, "bfloat16") == []


def off(place: int, factor: float) -> Callable[[list[float]], list[float]]:
    """One of the values is that many times the reference's."""
    return lambda values: [value * (factor if n == place else 1) for n, value in enumerate(values)]


OF_FILES = [recorded(file) for file in sorted(RECORDS.glob("*.jsonl"))]
ALL = {name: records for records in OF_FILES for name in records}


@pytest.mark.parametrize(
    ("case", "change", "expected"),
    [
        ("one-tile", {"effective": {"attention": "cudnn"}}, "attention reads back cudnn, asked for one-tile"),
        ("fused-pointwise", {"effective": {"fused_layers": 0}}, "fused_layers reads back 0, asked for 15"),
        ("flat-nccl", {"effective": {"nccl": "default"}}, "nccl reads back default"),
        ("flat-nccl", {"effective": {"nccl": "NCCL_ALGO=Ring"}}, "nccl reads back NCCL_ALGO=Ring"),
        (
            "fp16",
            {"effective": {"precision": "bfloat16"}},
            "precision reads back bfloat16, asked for float16",
        ),
        ("attention-flash", {"effective": {"attention": "flash3"}}, "attention reads back flash3"),
        (
            "plain-fp32",
            {"effective": {"optimizer": "AdamW foreach + Muon batched over 2 ranks"}},
            "muon reads back Muon batched over 2 ranks, asked for Muon batched",
        ),
        (
            "ddp-one-tile",
            {"effective": {"wrapper": "none"}},
            "wrapper reads back none, asked for DistributedDataPar",
        ),
        ("ddp-one-tile", {"processes": 1}, "ran in 1 processes, expected 2"),
        ("plain-fp32", {"effective": {"compile": "blocks"}}, "compile reads back blocks, asked for off"),
        ("one-tile", {"effective": {"hoisted_tasks": 2}}, "hoisted_tasks reads back 2, asked for 0"),
        ("one-tile", {"effective": {"fallback/attention": "no Triton"}}, "which nothing asks for"),
        ("fp8-products", {"effective": {"fp8_layers": 1}}, "fp8_layers reads back 1, asked for 48"),
        (
            "checkpointing-every-other",
            {"effective": {"checkpointed_blocks": 12}},
            "checkpointed_blocks reads back 12, asked for 6",
        ),
        (
            "offload-adamw",
            {"effective": {"optimizer": "AdamW offloaded, 0 bytes + Muon batched"}},
            "adamw reads back AdamW offloaded, 0 bytes, asked for AdamW offloaded, [1-9]",
        ),
        ("cuda-graph", {"effective": {"cuda_graph": 1}}, "cuda_graph reads back 1, asked for True"),
        ("one-tile", {"step_seconds": 0}, "step_seconds is 0, expected more than 0"),
        ("one-tile", {"peak_memory_reserved_bytes": None}, "peak_memory_reserved_bytes is None, expected"),
        ("metric-reads", {"updates_read": 0}, "the losses of 0 updates were read, expected 24"),
        ("one-tile", {"updates_read": None}, "the losses of None updates were read, expected 0"),
        ("metric-reads", {"host_waits": "none"}, "the host waits 0 times, not 2: none"),
        ("fp16", {"host_waits": "none"}, "the host waits 0 times, not 1: none"),
        ("offload-adamw", {"host_waits": "a.py:1; b.py:2"}, "the host waits 2 times, not 1: a.py:1; b.py:2"),
        ("cuda-graph", {"weight_deviation": 0.3}, "its weights are 3.0e-01 from plain's, over 0.2"),
        (
            "cuda-graph-fp32",
            {"average_deviation": 0.03},
            "its averaged weights are 3.0e-02 from plain-fp32's",
        ),
        ("cuda-graph", {"average_deviation": 1.0}, "its averaged weights are 1.0e+00 from plain's"),
        ("fp16", {"weight_deviation": 1.0}, "its weights are 1.0e+00 from plain's"),
        ("foreach-ema", {"average_deviation": 1e-7}, "its averaged weights are 1.0e-07 from plain's"),
        ("one-tile", {"average_deviation": float("nan")}, "its averaged weights are nan from plain's"),
        ("one-tile", {"weight_deviation": 0}, "its weights are plain's to the last bit, which other kernels"),
        ("flat", {"gradient_norms": off(0, 2.0)}, "their norm is 1.0e+00 from ddp's, over 1e-06"),
        (
            "muon-loop",
            {"gradient_deviation": 1e-5},
            "its first gradients are 1.0e-05 from plain's, over 1e-06",
        ),
        ("one-tile", {"gradient_norms": off(0, float("nan"))}, "their norm is nan from plain's"),
        ("one-tile", {"gradient_norms": off(7, 1.3)}, "the norm of a later gradient is 3.0e-01"),
        ("trace", {"gradient_norms": off(23, 1.001)}, "the norm of a later gradient is 1.0e-03"),
        ("one-tile", {"gradient_deviation": 0.1}, "its first gradients are 1.0e-01 from plain's"),
        (
            "fused-pointwise",
            {"worst_gradients": {"decoder.head.bias": [1.0, 0.1], "a.bias": [0.02, 1e-5]}},
            "the first gradient of decoder.head.bias is 1.0e+00 from plain's",
        ),
        (
            "muon-loop",
            {"weight_stood_still": ["operator.embed.weight"]},
            "1 weights are where they started, operator.embed.weight among them",
        ),
        (
            "checkpointing-all",
            {"peak_memory_allocated_bytes": 38_700_000_000},
            "peak_memory_allocated_bytes is 38700000000, expected less than plain's",
        ),
        ("compile-reduce-overhead", {"recorded_graphs": 0}, "torch.compile captured 0 graphs"),
        ("fp16", {"losses": off(12, 9.0)}, "a loss is 8.0e+00 from plain's, over 0.2"),
        ("cuda-graph", {"replay_average_deviation": 1e-6}, "replayed steps are 1.0e-06 from eager ones"),
        ("flat", {"ranks_disagree": "the ranks hold different values"}, "the ranks hold different values"),
        ("cuda-graph", {"replay_deviation": 1e-6}, "replayed steps are 1.0e-06 from eager ones"),
        ("cuda-graph", {"losses": off(3, float("nan"))}, "losses are not finite"),
        ("one-tile", {"losses": off(5, 1.04)}, "a loss is 4.0e-02 from plain's, over 0.01"),
        ("fp16", {"losses": off(0, 1.04)}, "its loss before the first step is 4.0e-02 from plain's"),
        ("fused-pointwise-fp32", {"losses": off(3, float("inf"))}, "losses are not finite"),
        ("cuda-graph-fp32", {"losses": off(9, 1.002)}, "a loss is 2.0e-03 from plain-fp32's, over 0.0001"),
        ("trace", {"weight_deviation": 1e-7}, "its weights are 1.0e-07 from plain's"),
        ("fp16", {"weight_deviation": float("nan")}, "its weights are nan from plain's"),
        ("fp16", {"skipped_updates": 24}, "24 updates were skipped"),
        ("one-tile", {"skipped_updates": 1}, "1 updates were skipped"),
        ("one-tile", {"losses": off(15, 1.1)}, "a loss is 1.0e-01 from plain's"),
        ("cuda-graph", {"replay_deviation": float("nan")}, "replayed steps are nan from eager ones"),
        (
            "graph-accumulation-3",
            {"effective": {"micro_steps": 13}},
            "micro_steps reads back 13, asked for 3",
        ),
        (
            "one-tile",
            {"host_waits": "called a synchronizing operation"},
            "the host waits 1 times, not 0: called",
        ),
    ],
)
def test_what_is_off_or_far_is_named(case, change, expected):
    records = ALL[case]
    record = records[case]
    changed = {**record, **change, "effective": {**record["effective"], **change.get("effective", {})}}
    for key, made in change.items():
        if callable(made):
            changed[key] = made(records[CASES[case].against][key])
    (text,) = verdict(case, {**records, case: changed})
    assert expected in text


@pytest.mark.parametrize(
    ("case", "absent", "expected"),
    [
        ("one-tile", "host_waits", "waits of the host were not noted"),
        ("one-tile", "average_deviation", "its averaged weights are nan from plain's"),
        ("one-tile", "updates_read", "the losses of None updates were read, expected 0"),
        ("cuda-graph", "replay_deviation", "replayed steps are nan from eager ones"),
        ("cuda-graph", "gradient_deviation", "its first gradients are nan from plain's"),
        ("cuda-graph", "worst_gradients", "the first gradient of a tensor is nan from plain's"),
        ("compile-reduce-overhead", "recorded_graphs", "torch.compile captured None graphs, expected some"),
    ],
)
def test_what_is_not_recorded_does_not_pass(case, absent, expected):
    records = ALL[case]
    changed = {key: value for key, value in records[case].items() if key != absent}
    (text,) = verdict(case, {**records, case: changed})
    assert text.startswith(expected)


def test_gradients_without_norms_do_not_pass():
    records = ALL["one-tile"]
    changed = {key: value for key, value in records["one-tile"].items() if key != "gradient_norms"}
    assert verdict("one-tile", {**records, "one-tile": changed}) == [
        "their norm is nan from plain's, over 0.01",
        "the norm of a later gradient is nan from plain's, over 0.25",
    ]


def test_a_record_without_all_its_norms_does_not_pass():
    records = ALL["one-tile"]
    changed = {**records["one-tile"], "gradient_norms": records["one-tile"]["gradient_norms"][:9]}
    assert verdict("one-tile", {**records, "one-tile": changed}) == [
        "the norm of a later gradient is nan from plain's, over 0.25"
    ]


@pytest.mark.parametrize("share", [0.1, 0.04])
def test_on_a_cpu_a_gradient_that_is_missing_is_still_named(share):
    records = ALL["one-tile"]
    worst = {"a.bias": [1.2, 0.001], "decoder.head.bias": [1.0, share]}
    changed = {**records["one-tile"], "device": "cpu", "worst_gradients": worst}
    assert verdict("one-tile", {**records, "one-tile": changed}) == [
        "the first gradient of decoder.head.bias is 1.0e+00 from plain's, over 0.97"
    ]


def test_on_a_cpu_rounding_alone_may_turn_a_small_gradient_round():
    records = ALL["one-tile"]
    changed = {**records["one-tile"], "device": "cpu", "worst_gradients": {"decoder.head.bias": [1.2, 0.04]}}
    assert verdict("one-tile", {**records, "one-tile": changed}) == []


def test_waits_of_the_host_are_not_asked_of_a_cpu():
    records = {**ALL["trace"]}
    records["trace"] = {**records["trace"], "device": "cpu"}
    del records["trace"]["host_waits"]
    assert verdict("trace", records) == []


def test_waits_of_the_host_are_noted_with_their_places(monkeypatch):
    modes = []
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with _noted_waits(torch.device("cuda")) as places:
        warnings.warn(SYNCHRONIZES, stacklevel=1)  # as torch does in that mode
        warnings.warn("anything else", stacklevel=1)
    (place,) = places
    assert place.startswith("tests/trainer/test_gpu_check.py:")
    assert modes == ["warn", "default"]


def test_a_wait_is_named_by_the_innermost_line_of_the_trainer(monkeypatch):
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", lambda _: None)
    text = f"def waits():\n    warnings.warn({SYNCHRONIZES!r}, stacklevel=1)\n"
    within = {"warnings": warnings}
    exec(compile(text, "/site-packages/torch/cuda/streams.py", "exec"), within)
    exec(compile("def step():\n    waits()\n", f"{ROOT}/trainer/optimizer/some.py", "exec"), within)
    with _noted_waits(torch.device("cuda")) as places:
        within["step"]()
    assert places == ["trainer/optimizer/some.py:2"]


def test_a_rank_that_waits_more_is_the_one_that_is_recorded():
    class TwoRanks:
        def gather_text(self, text: str) -> list[str]:
            return [text, "a.py:1; b.py:2"]

    assert _most(["a.py:1"], TwoRanks()) == "a.py:1; b.py:2"
    assert _most(["a.py:1", "b.py:2", "c.py:3"], TwoRanks()) == "a.py:1; b.py:2; c.py:3"


def test_a_deviation_that_is_no_number_is_the_largest():
    assert math.isnan(largest([0.1, float("nan"), 0.2]))
    assert largest(iter([0.1, 0.3, 0.2])) == 0.3


def test_one_that_was_not_compared_says_so():
    records = ALL["one-tile"]
    assert verdict("one-tile", {"one-tile": records["one-tile"]}) == ["not compared with plain"]


def test_without_a_gpu_it_says_so_and_records_nothing(tmp_path):
    command = [sys.executable, "benchmarks/gpu_check.py", "--out", str(tmp_path / "out"), "--only", "plain"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--device: got cuda, but torch sees no GPU here; --device cpu tries the script" in done.stderr
    assert not (tmp_path / "out").exists()


def of_shards(count: int) -> list[list[str]]:
    possible = cases("cuda")
    return [
        [case.name for case in gpu_check._of_shard(possible, number, count)] for number in range(1, count + 1)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shards_have_every_case_once(count):
    names = [name for shard in of_shards(count) for name in shard]
    assert sorted(names) == sorted(CASES)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_last_shard_has_what_takes_long_and_the_others_as_much_as_each_other(count):
    *others, last = of_shards(count)
    assert last == ["compile-max-autotune"]
    first = [[name for name in shard if not CASES[name].resumes] for shard in others]
    assert max(map(len, first)) - min(map(len, first)) <= 1


def test_a_case_is_resumed_in_the_shard_that_measures_it():
    for shard in of_shards(5):
        assert {CASES[name].against for name in shard if CASES[name].resumes} <= {*shard}


@pytest.mark.parametrize(
    ("arguments", "checks_kernels"),
    [([], True), (["--shard", "2/2"], False), (["--processes", "2"], False), (["--only", "plain"], False)],
)
def test_our_kernels_are_checked_once(arguments, checks_kernels, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys,
        "argv",
        ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path), "--seconds", "1e-9", *arguments],
    )
    checked = []
    monkeypatch.setattr(gpu_check, "_wrong_kernels", lambda options: checked.append(options) or [])
    assert gpu_check.main() == 1  # nothing was measured
    assert bool(checked) == checks_kernels


def test_a_shard_has_no_cases_that_are_named(monkeypatch, capsys):
    arguments = ["--out", "out", "--device", "cpu", "--shard", "1/2", "--only", "plain"]
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", *arguments])
    with pytest.raises(SystemExit):
        gpu_check._options()
    assert "--shard: shares out all cases, so --only cannot be beside it" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/2/3"])
def test_a_shard_that_is_none_is_refused(text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--out", "out", "--device", "cpu", "--shard", text])
    with pytest.raises(SystemExit):
        gpu_check._options()
    assert f"--shard: got {text}, expected NUMBER/COUNT such as 1/4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seconds", "-1", "got -1, expected a number of seconds more than 0"),
        ("--seconds", "0", "got 0, expected a number of seconds more than 0"),
        ("--seconds", "nan", "got nan, expected a number of seconds more than 0"),
        ("--seconds", "ten", "got ten, expected a number of seconds more than 0"),
        ("--pairs", "0", "got 0, expected a whole number at least 1"),
    ],
)
def test_an_option_with_which_nothing_would_be_measured_is_refused(option, value, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--out", "out", "--device", "cpu", option, value])
    with pytest.raises(SystemExit, match="2"):
        gpu_check._options()
    assert f"{option}: {said}" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["file", "file/below"])
@pytest.mark.parametrize("arguments", [[], ["--resume"]], ids=["new", "resumed"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch, out, arguments):
    (tmp_path / "file").write_text("")
    command = ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path / out), *arguments]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(ConfigError, match=rf"^--out: {tmp_path / out} cannot be used \(.*\); name a folder"):
        gpu_check.main()


def no_space(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_refused_with_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path)])
    monkeypatch.setattr(Path, "write_text", no_space)
    said = rf"^--out: {tmp_path} cannot be used \({tmp_path}: No space left on device\); name a folder"
    with pytest.raises(ConfigError, match=said):
        gpu_check.main()


@pytest.mark.parametrize("arguments", [[], ["--resume"]], ids=["new", "resumed"])
@pytest.mark.parametrize(
    ("text", "sets", "said"),
    [
        ("data: [", [], "config.yaml: "),
        (None, ["nonsense=1"], "--set: nonsense: unknown key; known here: data, model"),
        (None, ["train.updates=many"], "--set: train.updates: got "),
    ],
)
def test_a_config_that_is_none_is_refused_before_anything_is_launched(
    tmp_path, monkeypatch, capsys, text, sets, said, arguments
):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
        arguments = [*arguments, "--config", str(tmp_path / "config.yaml")]
    settings = [part for setting in sets for part in ("--set", setting)]
    command = ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path / "out"), *arguments, *settings]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit, match="2"), refused_in_words():
        gpu_check.main()
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_config_that_cannot_be_read_is_not_laid_on_the_folder(tmp_path, monkeypatch):
    def unreadable(options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(options.config))

    monkeypatch.setattr(gpu_check, "_made_of", unreadable)
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path / "out")])
    with pytest.raises(PermissionError, match="two-task-1gpu-baseline"):
        gpu_check.main()


@pytest.mark.parametrize("line", [b"{}", b"[1]", b'{"case": "plain", "step', b"\0\0\0\0", b"\xff"])
def test_records_that_are_damaged_are_refused_with_the_line(cut_off, monkeypatch, line):
    options, _ = cut_off
    path = options.out / "gpu-check.jsonl"
    damaged = b'{"case": "plain", "started": true}\n' + line + b"\n"
    path.write_bytes(damaged)
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--resume"])
    with pytest.raises(ConfigError, match=f"^--out: line 2 of {path} is no record of a case; delete it"):
        gpu_check.main()
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    ("file", "cut_off"), [("h200-1gpu.jsonl", ["compile-max-autotune"]), ("h100-2gpu.jsonl", [])]
)
def test_a_record_is_shown_with_its_verdict_where_there_is_no_gpu(file, cut_off, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--show", str(RECORDS / file)])
    assert gpu_check.main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == str(RECORDS / file)
    cases_of_it = list(recorded(RECORDS / file))
    assert [line.split()[0] for line in shown[2 : 2 + len(cases_of_it)]] == cases_of_it
    assert shown[2 + len(cases_of_it) : -1] == [f"{name}: cut off, and not judged" for name in cut_off]
    ended = f"of {len(cases_of_it)} cases, " if cut_off else ""
    assert shown[-1] == f"{ended}each was on as asked, and kept the numbers"
    assert not any("learning_rate_schedule" in line for line in shown)  # which is newer than they are


def test_the_check_tries_itself_on_the_cpu(tmp_path, monkeypatch, capsys):
    command = ["gpu_check.py", "--device", "cpu", "--processes", "1", "--updates", "16"]
    only = ["--only", "fused-adamw-fp32", "plain-resumed"]
    monkeypatch.setattr(sys, "argv", [*command, *only, "--out", str(tmp_path)])
    assert gpu_check.main() == 0
    assert "learning_rate_schedule=lowest from update 16 of 16" in capsys.readouterr().out
    records = [json.loads(line) for line in (tmp_path / "gpu-check.jsonl").read_text().splitlines()]
    measured = [record for record in records if "step_seconds" in record]
    assert [record["case"] for record in measured] == [
        *("plain-fp32", "plain", "fused-adamw-fp32", "plain-resumed")
    ]
    assert all(of_old(record) is record for record in measured)
    plain = measured[1]["effective"]
    assert {*plain, "adamw", "muon"} == {*expected_read_backs(CASES["plain"]), "optimizer"}
    resumed = measured[-1]
    assert (resumed["resumed_at"], len(resumed["losses"])) == (8, 8)
    assert (resumed["weight_deviation"], resumed["average_deviation"]) == (0, 0)


def test_a_record_that_is_not_as_it_must_be_ends_with_1_and_says_so(tmp_path, monkeypatch, capsys):
    lines = (RECORDS / "h200-1gpu.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        if record["case"] == "one-tile" and "losses" in record:
            record["losses"][3] *= 1.5
    wrong_one, right_one = tmp_path / "wrong.jsonl", RECORDS / "h100-2gpu.jsonl"
    wrong_one.write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--show", str(wrong_one), str(right_one)])
    assert gpu_check.main() == 1
    shown = capsys.readouterr().out
    assert "\none-tile: " in shown and str(right_one) in shown
    said = f"1 of 2 records are not as they must be, as said above: {wrong_one}: one-tile"
    assert shown.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"case": "plain", "error": "no result: ended"}'], "plain: has failed\nno case has a result\n"),
        (['{"case": "plain", "started": true}'], "plain: cut off, and not judged\nno case has a result\n"),
        (['{"case": "gone", "error": "x"}'], "gone: has failed\n"),
        ([], "no case has a result\n"),
    ],
)
def test_a_record_without_results_is_not_as_it_must_be(tmp_path, monkeypatch, capsys, lines, said):
    (tmp_path / "record.jsonl").write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--show", str(tmp_path / "record.jsonl")])
    assert gpu_check.main() == 1
    shown = capsys.readouterr().out
    assert said in shown and gpu_check.AS_IT_MUST_BE not in shown


def test_a_record_that_is_not_there_or_damaged_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--show", str(tmp_path / "none.jsonl")])
    with pytest.raises(SystemExit, match="2"):
        gpu_check.main()
    assert f"--show: {tmp_path / 'none.jsonl'} is no file; name a gpu-check.jsonl" in capsys.readouterr().err
    (tmp_path / "damaged.jsonl").write_text("nothing\n")
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--show", str(tmp_path / "damaged.jsonl")])
    with pytest.raises(ConfigError, match=r"^--show: line 1 of .* is no record of a case"):
        gpu_check.main()


@pytest.mark.parametrize("text", [b"", b'{"torch": ', b"[]", b"\xff"])
def test_settings_that_are_damaged_are_refused(cut_off, monkeypatch, text):
    options, _ = cut_off
    (options.out / "made-of.json").write_bytes(text)
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--resume"])
    with pytest.raises(ConfigError, match=f"^--resume: {options.out}/made-of.json is damaged; name another"):
        gpu_check.main()


@cache  # each case is held against all others
def read_back(case: Case, pairs: int, updates: int) -> tuple[dict[str, str], int]:
    """What the trainer reads back of the recipe of a case of the check, and its number of steps."""
    sets = [f"train.updates={updates}", "optimizer.warmup_updates=5", f"train.pairs_per_update={pairs}"]
    config = load_config(ROOT / "configs/train/two-task-1gpu-baseline.yaml", [*sets, *PLAIN, *case.overrides])
    with torch.device("meta"):
        objective = build_objective(build_model(config), config)
    of_steps = read_back_recipe(
        objective, build_choices(config, 0), config.cut, config.train.pairs_per_update
    )
    averaged = config.recipe.average_updates  # as a learner has it, which needs a whole model
    of_average = {"ema": f"for-loop, evaluated, over {averaged:g} updates"} if averaged else {}
    return {**of_steps, **build_rates(config).effective(), **of_average}, config.cut.steps


def of_recipe_alone(case: Case) -> Case:
    return replace(case, overrides=tuple(one for one in case.overrides if not one.startswith("speed.")))


OF_RECIPE = {
    case: None for case in map(of_recipe_alone, CASES.values()) if case.overrides and not case.resumes
}


def resumed_from(whole: dict, processes: int = 2) -> dict:
    """As a case is recorded that resumes this one half-way and ends as it does."""
    half = len(whole["losses"]) // 2
    ends = {"weight_deviation": 0.0, "average_deviation": 0.0}
    kept = {key: value for key, value in whole.items() if "gradient_dev" not in key and "replay" not in key}
    later = {key: whole[key][half:] for key in ("losses", "gradient_norms")}
    return {**kept, **later, **ends, "resumed_at": half, "processes": processes}


RESUMED = CASES["flat-muon-sharded-resumed"]
WHOLE = ALL[RESUMED.against][RESUMED.against]


def test_a_resumed_training_is_held_against_the_later_half_of_the_one_that_was_not_interrupted():
    assert wrong(resumed_from(WHOLE), RESUMED, WHOLE) == []
    optimized = CASES["optimized-2gpu-resumed"]
    fast = ALL["flat-fast-muon-sharded"]["flat-fast-muon-sharded"]
    assert wrong(resumed_from(fast), optimized, fast) == []
    assert loss_deviation(resumed_from(fast), fast) == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"resumed_at": 0}, ["went on from step 0, expected 12", "has 12 losses, flat-muon-sharded 24"]),
        (
            {"losses": off(0, 1 + 1e-9)},
            ["its loss before the first step is 1.0e-09 from"],
        ),
        ({"losses": off(11, 1 + 1e-9)}, ["a loss is 1.0e-09 from", "its last 4 losses are on average"]),
        ({"gradient_norms": off(0, 1 + 1e-9)}, ["the norm of a later gradient is 1.0e-09 from"]),
        ({"weight_deviation": 1e-9}, ["its weights are 1.0e-09 from flat-muon-sharded's, over 0"]),
        ({"average_deviation": 1e-9}, ["its averaged weights are 1.0e-09 from"]),
        ({"ranks_disagree": "the ranks hold different values"}, ["the ranks hold different values"]),
    ],
)
def test_a_resumed_training_that_is_another_one_is_named(change, expected):
    record = resumed_from(WHOLE)
    changed = {key: made(record[key]) if callable(made) else made for key, made in change.items()}
    found = wrong({**record, **changed}, RESUMED, WHOLE)
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(start)


def test_a_case_that_resumes_none_and_says_it_did_is_named():
    records = ALL["flat-muon-sharded"]
    name = "flat-muon-sharded"
    changed = {**records, name: {**resumed_from(WHOLE), **{"gradient_deviation": 0.0}}}
    assert verdict(name, changed)[:2] == [
        "went on from step 12, expected 0",
        "12 losses were noted, expected 24",
    ]


def test_replays_are_held_against_eager_steps_where_nothing_else_is_compared():
    fast = ALL["flat-fast-muon-sharded"]["flat-fast-muon-sharded"]
    case = CASES["optimized-2gpu"]
    assert (case.against, wrong(fast, case, None)) == (None, [])
    assert wrong({**fast, "replay_weight_deviation": 1e-9}, case, None) == [
        "replayed steps are 1.0e-09 from eager ones, over 0"
    ]
    without = {key: value for key, value in fast.items() if key != "replay_deviation"}
    assert wrong(without, case, None) == ["replayed steps are nan from eager ones, over 0"]


def test_four_ranks_share_the_matrices_that_two_do():
    four = expected_read_backs(CASES["optimized-4gpu"])
    two = expected_read_backs(CASES["optimized-2gpu"])
    assert {key: value for key, value in four.items() if value != two[key]} == {
        "muon": "Muon batched over 4 ranks"
    }


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_all_fast_paths_of_the_two_task_configs_are_resumed(processes):
    loader = {"loader_workers": 0, "loader_prefetch": 0}  # there is none
    for form in ("optimized", "recipe"):
        case = CASES[f"{form}-{processes}gpu-resumed"]
        own = load_config(ROOT / f"configs/train/two-task-{processes}gpu-{form}.yaml", [])
        sets = [*PLAIN, *case.overrides, "optimizer.warmup_updates=5"]
        of_check = load_config(ROOT / "configs/train/two-task-1gpu-baseline.yaml", sets)
        assert replace(of_check.speed, **loader) == replace(own.speed, **loader)
        assert of_check.judged_weights == own.judged_weights
        assert (case.resumes, case.tolerance) == (True, gpu_check_cases.SAME)


def test_what_is_resumed_has_left_its_checkpoint_in_an_earlier_launch():
    for case in CASES.values():
        if case.resumes:
            whole = CASES[case.against]
            assert (whole.overrides, whole.processes, whole.shares) == (
                case.overrides,
                case.processes,
                case.shares,
            )
            assert whole.launch < case.launch


def test_losses_that_stand_still_are_named():
    still = {**ALL["fp16"]["fp16"], "losses": ALL["fp16"]["plain"]["losses"][:1] * 24}
    assert verdict("fp16", {**ALL["fp16"], "fp16": still}) == [
        "a loss is 6.9e-01 from plain's, over 0.2",
        "its last 4 losses are on average 6.3e-01 from plain's, over 0.02",
    ]


def test_a_record_without_all_its_losses_is_named():
    records = {name: {**record, "losses": record["losses"][:2]} for name, record in ALL["trace"].items()}
    assert verdict("trace", records) == ["2 losses were noted, expected 24"]
    assert verdict("trace", {**ALL["trace"], "trace": records["trace"]}) == [
        "2 losses were noted, expected 24",
        "has 2 losses, plain 24",
    ]


@pytest.mark.parametrize("case", [CASES["plain"], *OF_RECIPE], ids=lambda case: case.name)
def test_a_recipe_is_asked_for_what_it_does_and_nothing_else(case):
    pairs, updates = 192 * case.processes, 16
    name = "plain" if case.processes == 1 else "ddp"
    plain, alone = ALL[name][name], replace(case, against=None)
    of_recipe, steps = read_back(case, pairs, updates)
    effective = {**plain["effective"], **of_recipe}
    record = {**plain, "updates": updates, "update_pairs": pairs, "losses": [1.0] * steps}
    record["processes"] = case.processes
    assert wrong({**record, "effective": effective}, alone, None) == []
    for other in (CASES["plain"], *OF_RECIPE):
        if set(other.overrides) != set(case.overrides):
            others = {**effective, **read_back(other, pairs, updates)[0]}
            assert wrong({**record, "effective": others}, alone, None), other.name


def test_the_last_of_two_settings_is_the_one_that_counts():
    case = Case("two", ("speed.compile=model", "speed.compile=blocks"))
    assert expected_read_backs(case)["compile"] == "blocks"


def test_records_of_an_earlier_call_are_not_taken_for_those_of_this(tmp_path):
    (tmp_path / "gpu-check.jsonl").write_text("{}\n")
    command = [sys.executable, "benchmarks/gpu_check.py", "--device", "cpu", "--out", str(tmp_path)]
    done = subprocess.run([*command, "--only", "plain"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"--out: {tmp_path} has the records of an earlier call; name another folder")
    assert [file.name for file in tmp_path.iterdir()] == ["gpu-check.jsonl"]


@pytest.fixture
def cut_off(tmp_path, monkeypatch):
    """Arguments of a check that ended half-way, with one case wrong, one failed and one half written."""
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path)])
    options = gpu_check._options()
    gpu_check._require_new(options.out, gpu_check._made_of(options))
    right, off = (ALL["trace"][name] for name in ("plain", "trace"))
    records = [
        {"case": "plain", "started": True},
        right,
        {**off, "losses": off["losses"][:2]},
        {"case": "fused-adamw", "error": "no result: ended with exit code -15"},
    ]
    lines = [json.dumps(record) for record in records]
    (tmp_path / "gpu-check.jsonl").write_text("\n".join([*lines, '{"case": "fu']))
    return options, records


def test_a_check_that_was_cut_off_goes_on_and_what_is_wrong_stays_so(cut_off):
    options, (_, right, off, failed) = cut_off
    gpu_check._keep_what_ended(options.out, gpu_check._made_of(options))
    assert gpu_check._records(options.out) == [right, off]
    assert json.loads((options.out / "failed.jsonl").read_text()) == failed
    wanted = [replace(CASES[name], against=None) for name in ("plain", "trace", "fused-adamw")]
    assert [case.name for case in gpu_check._still_to_run(wanted, set(), options.out)] == ["fused-adamw"]
    assert any(text.startswith("trace: ") for text in gpu_check._complaints([right, off], wanted))


@pytest.fixture
def check_with(tmp_path, monkeypatch):
    """A check of `plain-fp32` whose worker is this program; returns the record of its failure."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    monkeypatch.setattr(gpu_check, "HERE", scripts)

    def check(program: str, *arguments: str) -> dict:
        (scripts / "gpu_check_worker.py").write_text(program)
        command = ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path), "--only", "plain-fp32"]
        monkeypatch.setattr(sys, "argv", [*command, *arguments])
        assert gpu_check.main() == 1
        (record,) = gpu_check._records(tmp_path)
        assert record["case"] == "plain-fp32"
        return record

    return check


def test_what_a_worker_said_that_ended_at_once_is_recorded_and_printed(tmp_path, check_with, capsys):
    (tmp_path / "worker-1.log").write_text("of an earlier call\n")
    said = "no worker here"
    record = check_with(f"import sys\nsys.stderr.write({said!r})\nsys.exit(2)\n")
    assert record["error"] == "no result: ended with exit code 2"
    assert record["last_lines"] == [said]
    printed = capsys.readouterr().err
    reason = "no result: ended with exit code 2; the worker's last lines:"
    assert printed.splitlines() == [f"plain-fp32: {reason}", said]


@pytest.mark.parametrize(
    ("seconds", "reason"), [(5400, "nothing new for 300 s, so it was ended"), (200, "cut off by --seconds")]
)
def test_a_worker_that_hangs_is_recorded_with_why_it_was_ended(check_with, monkeypatch, seconds, reason):
    clock = SimpleNamespace(monotonic=itertools.count(0, 10).__next__, sleep=lambda _seconds: None)
    monkeypatch.setattr(gpu_check, "time", clock)
    record = check_with("import time\ntime.sleep(600)\n", "--seconds", str(seconds))
    assert record["error"] == f"no result: {reason}"


@pytest.fixture
def failing_launches(tmp_path, monkeypatch):
    """A check of some cases, each launch of which records one failure; and what was launched."""
    launched = []

    def fail(remaining, options, deadline):
        launched.append([case.name for case in remaining])
        gpu_check._record_a_failure(tmp_path, remaining[0].name, "RuntimeError: unsupported")

    monkeypatch.setattr(gpu_check, "_run_worker", fail)

    def check(only: list[str], *arguments: str) -> dict[str, str]:
        command = ["gpu_check.py", "--device", "cpu", "--out", str(tmp_path), *arguments]
        monkeypatch.setattr(sys, "argv", [*command, "--only", *only])
        assert gpu_check.main() == 1
        return {record["case"]: record["error"] for record in gpu_check._records(tmp_path)}

    return launched, check


def test_a_case_whose_reference_failed_is_not_run_but_what_others_are_compared_with(failing_launches, capsys):
    launched, check = failing_launches
    failed, not_run = "RuntimeError: unsupported", "not run: {}, which it is compared with, has failed"
    assert check(["trace", "fused-adamw-fp32"]) == {
        "plain-fp32": failed,
        "fused-adamw-fp32": not_run.format("plain-fp32"),
        "plain": failed,
        "trace": not_run.format("plain"),
    }
    assert launched == [["plain-fp32", "plain", "fused-adamw-fp32", "trace"], ["plain", "trace"]]
    assert f"trace: {not_run.format('plain')}" in capsys.readouterr().out


def test_a_reference_is_run_though_its_own_has_failed_in_an_earlier_launch(failing_launches):
    launched, check = failing_launches
    assert check(["flat-nccl"])["flat-nccl"].startswith("not run: ddp")
    assert launched == [["plain-of-two"], ["ddp"]]


@pytest.mark.parametrize(
    ("only", "cut_off"), [(["trace", "fused-adamw-fp32"], "plain-fp32"), (["ddp"], "plain-of-two")]
)
def test_what_time_cut_off_fails_no_other_case(failing_launches, monkeypatch, only, cut_off):
    launched, check = failing_launches
    clock = SimpleNamespace(monotonic=lambda: 99 if launched else 0)
    monkeypatch.setattr(gpu_check, "time", clock)
    assert list(check(only, "--seconds", "10")) == [cut_off]
    assert len(launched) == 1


@pytest.mark.parametrize(
    ("key", "value"), [("code and config", "0" * 64), ("torch", "2.0"), ("--pairs", 12), ("--data", "/other")]
)
def test_a_check_does_not_go_on_with_what_other_code_or_settings_measured(cut_off, key, value):
    options, _ = cut_off
    before = (options.out / "gpu-check.jsonl").read_bytes()
    made_of = json.loads((options.out / "made-of.json").read_text())
    (options.out / "made-of.json").write_text(json.dumps(made_of | {key: value}))
    with pytest.raises(ConfigError, match=f"was measured with another {key}, {value}, now"):
        gpu_check._keep_what_ended(options.out, gpu_check._made_of(options))
    (options.out / "made-of.json").unlink()
    with pytest.raises(ConfigError, match="was measured with another code and config, unknown, now"):
        gpu_check._keep_what_ended(options.out, gpu_check._made_of(options))
    assert (options.out / "gpu-check.jsonl").read_bytes() == before


@pytest.mark.parametrize("key", ["joint_decodes", "learning_rate_warm_up", "learning_rate_schedule"])
def test_only_what_is_older_than_a_read_back_may_lack_it(key):
    record = ALL["trace"]["plain"]
    old = {**record, "effective": {name: on for name, on in record["effective"].items() if name != key}}
    assert wrong(of_old(old), CASES["plain"], None) == [NOT_SHOWN]
    assert any(key in text for text in wrong(of_old({**old, "version": 2}), CASES["plain"], None))
    since = 2 if key == "learning_rate_warm_up" else 1  # the version that has it
    assert any(key in text for text in wrong(of_old({**old, "version": since}), CASES["plain"], None))
