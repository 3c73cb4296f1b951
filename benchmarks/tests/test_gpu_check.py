"""The verdict of the GPU check, on what it recorded and on what it must not let pass."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import ROOT

from benchmarks.gpu_check import cases as gpu_check_cases
from benchmarks.gpu_check import run as gpu_check
from benchmarks.gpu_check.cases import EIGHT_BITS, Case, Tolerance, cases
from benchmarks.gpu_check.verdict import (
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
from trainer.errors import ConfigError

RECORDS = ROOT / "out/records/gpu-check"
PAGES = ROOT / "benchmarks/records/gpu-check"
CASES = {case.name: case for case in cases("cuda")}
NOT_RECORDED = {"attention-flash3"}  # its package is not there
NOT_SHOWN = "not compared with plain-fp32"  # by `plain` of the older records


def recorded(file: Path) -> dict[str, dict]:
    records = map(json.loads, file.read_text().splitlines())
    return {record["case"]: of_old(record) for record in records if "step_seconds" in record}


def verdict(case: str, records: dict[str, dict]) -> list[str]:
    return wrong(records[case], CASES[case], records.get(CASES[case].against))


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
    _, table = (PAGES / "README.md").read_text().split("| | losses, relative | seen |")
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
    lines = (PAGES / "kernel-errors.txt").read_text().splitlines()
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
        "sum in bfloat16: no limit is defined for its error; add one to this file"
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
        (
            "one-tile",
            {"effective": {"fallback/attention": "no Triton"}},
            "reads back no Triton, which was not requested",
        ),
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
            "1 weights did not change, such as operator.embed.weight",
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


def test_a_deviation_that_is_no_number_is_the_largest():
    assert math.isnan(largest([0.1, float("nan"), 0.2]))
    assert largest(iter([0.1, 0.3, 0.2])) == 0.3


def test_one_that_was_not_compared_says_so():
    records = ALL["one-tile"]
    assert verdict("one-tile", {"one-tile": records["one-tile"]}) == ["not compared with plain"]


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
    assert shown[-1] == f"{ended}{gpu_check.AS_IT_MUST_BE}"
    assert not any("learning_rate_schedule" in line for line in shown)  # which is newer than they are


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
    said = f"1 of 2 records have failures, listed above: {wrong_one}: one-tile"
    assert shown.splitlines()[-1] == said


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
        ({"resumed_at": 0}, ["resumed from step 0, expected 12", "has 12 losses, flat-muon-sharded 24"]),
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
        "resumed from step 12, expected 0",
        "12 losses were recorded, expected 24",
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
    assert verdict("trace", records) == ["2 losses were recorded, expected 24"]
    assert verdict("trace", {**ALL["trace"], "trace": records["trace"]}) == [
        "2 losses were recorded, expected 24",
        "has 2 losses, plain 24",
    ]


def test_the_last_of_two_settings_is_the_one_that_counts():
    case = Case("two", ("speed.compile=model", "speed.compile=blocks"))
    assert expected_read_backs(case)["compile"] == "blocks"


@pytest.mark.parametrize("key", ["joint_decodes", "learning_rate_warm_up", "learning_rate_schedule"])
def test_only_what_is_older_than_a_read_back_may_lack_it(key):
    record = ALL["trace"]["plain"]
    old = {**record, "effective": {name: on for name, on in record["effective"].items() if name != key}}
    assert wrong(of_old(old), CASES["plain"], None) == [NOT_SHOWN]
    assert any(key in text for text in wrong(of_old({**old, "version": 2}), CASES["plain"], None))
    since = 2 if key == "learning_rate_warm_up" else 1  # the version that has it
    assert any(key in text for text in wrong(of_old({**old, "version": since}), CASES["plain"], None))


def test_the_check_tries_itself_on_the_cpu(tmp_path, monkeypatch, capsys):
    command = [
        "gpu_check",
        "--device",
        "cpu",
        "--updates",
        "16",
        "--only",
        "plain-fp32",
        "--out",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", command)
    assert gpu_check.main() == 0
    assert "learning_rate_schedule=lowest from update 16 of 16" in capsys.readouterr().out
    (measured,) = recorded(tmp_path / "gpu-check.jsonl").values()
    assert {*measured["effective"], "adamw", "muon"} == {
        *expected_read_backs(CASES["plain-fp32"]),
        "optimizer",
    }
    monkeypatch.setattr(sys, "argv", [*command, "--resume", "--updates", "20"])
    with pytest.raises(ConfigError, match="was measured with another --updates, 16, now 20"):
        gpu_check.main()
