"""Whether a case of the GPU check did what it says: its switches were on, and its numbers stayed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from benchmarks.gpu_check.cases import FLOAT, PLAIN, Case, warm_up_updates

Check = tuple[str, list[float], float]  # what is said of it, the deviations seen, and the most they may be
ON = object()  # anything but what stands for off
OF_UPDATES = ("losses", "gradient_norms")
LAST_LOSSES = 4  # their mean, where updates were skipped: without training it would be 0.6 off
# A CPU sums a narrow model's gradients in bf16; seen: 0.06 of all, 0.93 of one bias. One that is less than
# `share` of all may be further off, but not by 1, which is a gradient of zeros.
ON_CPU = {"gradients": 0.1, "gradient": 0.97, "share": 0.05}
LAGGING = 0.2  # of any loss of these, some updates behind; seen: 0.069
# Of our kernels against float64, relative to the largest value; seen: a half of these and less,
# but 0.014 for a norm's weight in bf16, of which the other cases have 0.003 to 0.008.
KERNEL_TOLERANCES = {"bfloat16": 0.02, "float16": 0.0025, "float32": 5e-6}
# FP8 has 3 bits of mantissa in factors and 2 in gradients: half a step of them is 6% and 12% of a factor.
FP8_TOLERANCES = {"out": (0.02, 0.06), "x": (0.03, 0.12), "weight": (0.0, 0.02)}

# The kernels that kernel_errors.py compares, and how many results and gradients of each.
KERNELS = {
    "one-tile attention": 5,
    "feed-forward": 5,
    "gate, sum and norm": 8,
    "first norm": 7,
    "last norm": 8,
    "decoder tail": 16,
    "decoder tail, queries in common": 16,
    "decoder tail behind another": 16,
    "decoder tail and head": 15,
}
IN_HALVES = {"cross-attention": 3, "cross-attention, queries in common": 3}  # none of ours for float32
# What these keep in float32 whatever the type of the products: the stream between blocks and small sums.
ALWAYS_FLOAT32 = {
    **{
        name: {"total", "x", "bias", "gate", "scale", "shift"}
        for name in ("gate, sum and norm", "first norm", "last norm")
    },
    "decoder tail": {"reader.bias"},
    "decoder tail, queries in common": {"reader.bias"},
    "decoder tail behind another": {"reader.bias"},
    "decoder tail and head": {"reader.bias", "layer.feed_forward_norm.bias"},
}

# What a training without any switch reads back, but for what depends on its processes and its device.
NOTHING_ON: dict[str, object] = {
    **{"fp8_layers": 0, "fused_layers": 0, "hoisted_tasks": 0, "checkpointed_blocks": 0},
    **{"checkpointed_ends": 0, "compile": "off", "compiled_blocks": 0, "cuda_graph": False},
    **{"cross_attention": "auto", "adamw": "AdamW foreach", "muon": "Muon batched", "ema": "for-loop"},
    **{"precision": "bfloat16", "data_path": "resident", "loader_workers": 0, "micro_steps": 1},
    **{"cudnn_autotune": False, "detect_anomaly": False, "metric_reads": "window", "traced_updates": 0},
    **{"memory_cleanup": "automatic", "nccl": "default", "nccl_warnings": 0},
}
NEWER_THAN_SOME_RECORDS: dict[str, object] = {"joint_decodes": 0}
OF_GPUS_ALONE = {"loader_pinned"}
OF_ANOTHER_MODEL = {"adamw", "decoded_points", "task_pairs", "prior_terms"}  # where it is judged on a CPU
ON_GPUS: dict[str, object] = {"attention": "cudnn", "data_device": "cuda"}
ALONE: dict[str, object] = {"wrapper": "none", "gradient_reductions": 0}
WRAPPED: dict[str, object] = {"wrapper": "DistributedDataParallel", "gradient_reductions": 1}
LOADER = {"data_path": "loader", "data_device": "cpu", "loader_pinned": True, "loader_prefetch": 4}

# What a setting reads back instead; numbers of the two-task model, which has 12 blocks and 3 decoder layers.
READS_BACK: dict[str, dict[str, dict[str, object]]] = {
    "precision": {
        "fp32": {"precision": "float32", "attention": "efficient"},
        "fp16": {"precision": "float16"},
        "bf16": {"precision": "bfloat16"},
    },
    "data_path": {"resident": {"data_path": "resident"}, "loader": LOADER},
    "loader_workers": {"8": {"loader_workers": 8}},
    "loader_pinned": {"false": {"loader_pinned": False}},
    "accumulation_steps": {count: {"micro_steps": int(count)} for count in ("1", "3", "4")},
    "wrapper": {
        "flat": {"wrapper": "flat"},
        "fsdp2": {"wrapper": "FSDP2", "gradient_reductions": 13},  # of each block, and of the rest
    },
    "muon": {
        "loop": {"muon": "Muon loop"},
        "batched": {"muon": "Muon batched"},
        "sharded": {"muon": "Muon batched over {} ranks"},
    },
    "fused_adamw": {"true": {"adamw": "AdamW fused"}},
    "offload_adamw": {"true": {"adamw": re.compile(r"AdamW offloaded, [1-9]\d* bytes")}},
    "foreach_ema": {"true": {"ema": "foreach"}},
    "compile": {
        "blocks": {"compile": "blocks", "compiled_blocks": 15},
        "model": {"compile": "model", "compiled_blocks": 0},
    },
    "compile_mode": {
        "reduce-overhead": {"compile": "blocks, reduce-overhead"},
        "max-autotune-no-cudagraphs": {"compile": "blocks, max-autotune-no-cudagraphs"},
    },
    "cuda_graph": {"true": {"cuda_graph": True}},
    "attention": {
        name: {"attention": name}
        for name in ("math", "efficient", "flash", "flash3", "cudnn", "flex", "one-tile")
    },
    "cross_attention": {"one-tile": {"cross_attention": "one-tile"}},
    "fp8_products": {"true": {"fp8_layers": 48}},
    "fused_pointwise": {"true": {"fused_layers": 15}, "false": {"fused_layers": 0}},
    "hoist_fixed_grid": {"true": {"hoisted_tasks": 2}},
    "joint_decode": {"true": {"joint_decodes": 2}},
    "activation_checkpointing": {
        "all": {"checkpointed_blocks": 12},
        "every-other": {"checkpointed_blocks": 6},
        "selective": {"checkpointed_blocks": 12},
    },
    "checkpoint_encoder_decoder": {"true": {"checkpointed_ends": 4}},
    "cudnn_autotune": {"true": {"cudnn_autotune": True}},
    "memory_cleanup_updates": {"4": {"memory_cleanup": "every 4 updates"}},
    "reduce_gradients": {"every-micro-step": {"gradient_reductions": 3}},
    "metric_reads": {"update": {"metric_reads": "update"}},
    "trace_updates": {"3": {"traced_updates": 3}},
}


def _rates(updates: int) -> dict[str, object]:
    warm_up = warm_up_updates(updates)
    return {
        "learning_rate_warm_up": f"largest at update {warm_up}" if warm_up else "none",
        "learning_rate_schedule": f"lowest from update {updates} of {updates}",
    }


def _recipe(pairs: int, updates: int, nth: str) -> dict[str, dict[str, object]]:
    """What is read back without a recipe, under "", and what parts of one change.

    pairs: of an update; nth: which pairs have inverse terms.
    """

    def steps(inverse: str, priors: str) -> dict[str, object]:
        return {"inverse_terms": f"1 of {nth} pairs, {inverse}", "prior_terms": priors}

    def shares(one: int, of: int) -> str:
        return f"advection1d {one} of {of}, darcy2d {of - one} of {of}"

    every, fourth = f"{updates} of {updates} steps from 1", f"{updates // 4} of {updates} steps from 4"
    later = f"{updates - 8} of {updates} steps from 9"
    cut = 4 * updates
    return {
        "": {
            **_rates(updates),
            "decoded_points": "advection1d 1024 of 1024, darcy2d 1024 of 16384 lattice",
            "step_pairs": f"{pairs} in {updates} steps",
            "task_pairs": shares(pairs // 2, pairs),
            **steps(every, every),
        },
        "inverse_every=4": steps(fourth, every),
        f"inverse_every_nth_pair={nth}": {},
        "priors_every=4": {"prior_terms": fourth},
        "exploration_updates=8": steps(later, later),
        "query_points=256": {
            "decoded_points": "advection1d 256 of 1024 lattice, darcy2d 256 of 16384 lattice"
        },
        "query_strategy=stratified": {
            "decoded_points": "advection1d 1024 of 1024, darcy2d 2048 of 16384 stratified"
        },
        "average_updates=6": {},
        "schedule_updates=12": {"learning_rate_schedule": f"lowest from update 12 of {updates}"},
        "task_shares=[3, 1]": {"task_pairs": shares(3 * pairs // 4, pairs)},
        "batch_cut_into=4": {
            "step_pairs": f"{pairs // 4} in {cut} steps",
            "task_pairs": shares(pairs // 8, pairs // 4),
            **steps(*[f"{cut} of {cut} steps from 1"] * 2),
        },
    }


def wrong(record: dict, case: Case, reference: dict | None) -> list[str]:
    """Return what a record of a case that ended shows to be other than it should be.

    reference: the record of the case that this one should repeat, from the same call.
    """
    return [
        *_wrong_switches(record, case),
        *_not_measured(record, case),
        *filter(None, [record.get("ranks_disagree")]),
        *_wrong_numbers(record, case, reference),
        *_waits(record, case),
    ]


def wrong_kernels(errors: dict[str, dict[str, float] | None], dtype: str) -> list[str]:
    """Return what the errors of our kernels in one type show to be other than its rounding.

    FP8 products may be None, on a GPU that has none.
    """
    parts_of = KERNELS if dtype == "float32" else KERNELS | IN_HALVES
    unknown = sorted(errors.keys() - parts_of.keys() - {"FP8 products"})
    found = [
        f"{name} in {dtype}: no limit is defined for its error; add one to this file" for name in unknown
    ]
    for name, count in parts_of.items():
        parts = errors.get(name) or {}
        if len(parts) != count:
            found.append(f"{name} in {dtype}: {len(parts)} parts were compared, expected {count}")
        bounds = {part: (0.0, _kernel_tolerance(name, part, dtype)) for part in parts}
        found += _out_of_bounds(name, parts, bounds, dtype)
    fp8 = errors.get("FP8 products", {})
    if dtype == "bfloat16" and fp8 is not None:
        found += _out_of_bounds("FP8 products", fp8, FP8_TOLERANCES, dtype)
    return found


def _out_of_bounds(
    kernel: str, parts: dict[str, float], bounds: dict[str, tuple[float, float]], dtype: str
) -> list[str]:
    return [
        f"{kernel}, {part}, in {dtype}: {parts.get(part)} off, expected {least} to {most}"
        for part, (least, most) in bounds.items()
        if not least <= parts.get(part, math.nan) <= most
    ]


def _kernel_tolerance(kernel: str, part: str, dtype: str) -> float:
    return KERNEL_TOLERANCES["float32" if part in ALWAYS_FLOAT32.get(kernel, set()) else dtype]


def loss_deviation(record: dict, reference: dict) -> float:
    """The largest relative difference of the losses."""
    return max(_loss_deviations(record["losses"], since_resumed(reference, record)["losses"]))


def since_resumed(reference: dict, record: dict) -> dict:
    """The reference without those updates that are before the record's first, where that was resumed."""
    before = record.get("resumed_at", 0)
    return {**reference, **{key: reference[key][before:] for key in OF_UPDATES if reference.get(key)}}


def expected_read_backs(case: Case, pairs: int = 384, updates: int = 24) -> dict[str, object]:
    """All that a case reads back on GPUs, and nothing else may; `pairs` of an update.

    KeyError where a case sets something that nothing here says how to see.
    """
    settings = dict(part.split("=", 1) for part in [*PLAIN, *case.overrides])  # the last one counts
    recipe = _recipe(pairs, updates, settings.get("recipe.inverse_every_nth_pair", "1"))
    expected = {**NOTHING_ON, **NEWER_THAN_SOME_RECORDS, **ON_GPUS, **recipe[""]}
    expected |= ALONE if case.processes == 1 else WRAPPED
    for key, value in settings.items():
        section, name = key.split(".", 1)
        if key == "speed.nccl":
            expected["nccl"] = value.strip("[]").replace(", ", " ")
        elif section == "speed":
            expected |= READS_BACK[name][value]
        elif section == "recipe":
            expected |= recipe[f"{name}={value}"]
    averaged = settings.get("recipe.average_updates")
    if averaged:
        expected["ema"] = f"{expected['ema']}, evaluated, over {averaged} updates"
    return {**expected, "muon": expected["muon"].format(case.processes)}


def of_old(record: dict) -> dict:
    """A record of an earlier version, with what its code could not read back filled in as plain."""
    effective, version = record.get("effective"), record.get("version", 0)
    if effective is None or version >= 2:  # it has none where the case failed
        return record
    newer = _rates(record.get("updates", 0))
    if version >= 1:  # the first that is named, which has the schedule
        del newer["learning_rate_schedule"]
    else:
        newer |= NEWER_THAN_SOME_RECORDS
    return {**record, "effective": {**newer, **effective}}


def _wrong_switches(record: dict, case: Case) -> list[str]:
    adamw, _, muon = str(record["effective"].get("optimizer")).partition(" + ")
    effective = {**record["effective"], "adamw": adamw, "muon": muon}
    size = (record.get("update_pairs", 0), record.get("updates", 0))
    expected, found = expected_read_backs(case, *size), []
    if record.get("processes") != case.processes:
        found.append(f"ran in {record.get('processes')} processes, expected {case.processes}")
    if record.get("device") == "cpu":  # of another model, and without what only GPUs have
        asked = expected_read_backs(replace(case, overrides=()), *size).items()
        chosen = any(override.startswith("speed.attention=") for override in case.overrides)
        left_out = OF_GPUS_ALONE | (set() if chosen else {"attention"})  # one kernel has all types there
        expected = {
            key: ON if key in OF_ANOTHER_MODEL or (isinstance(value, int) and value > 1) else value
            for key, value in expected.items()
            if (key, value) not in asked and key not in left_out
        }
    else:
        found += [
            f"{key} reads back {value}, which was not requested"
            for key, value in effective.items()
            if key not in {*expected, "optimizer"}
        ]
    for key, asked in expected.items():
        if not _reads_as(effective.get(key), asked):
            found.append(f"{key} reads back {effective.get(key)}, asked for {_named(asked)}")
    captures = any(text.endswith("reduce-overhead") for text in case.overrides)
    if captures and record.get("device") != "cpu" and not record.get("recorded_graphs"):
        found.append(f"torch.compile captured {record.get('recorded_graphs')} graphs, expected some")
    reads = len(record["losses"]) if effective.get("metric_reads") == "update" else 0
    if record.get("updates_read") != reads:
        found.append(f"the losses of {record.get('updates_read')} updates were read, expected {reads}")
    return found


def _reads_as(value: object, asked: object) -> bool:
    if asked is ON:
        return value not in (None, 0, "off", False)
    if isinstance(asked, re.Pattern):
        return bool(asked.fullmatch(str(value)))
    return value == asked and type(value) is type(asked)


def _named(asked: object) -> object:
    return "on" if asked is ON else asked.pattern if isinstance(asked, re.Pattern) else asked


def _not_measured(record: dict, case: Case) -> list[str]:
    memory = ["peak_memory_allocated_bytes", "peak_memory_reserved_bytes"]
    keys = ["step_seconds", "set_up_seconds", *([] if record.get("device") == "cpu" else memory)]
    values = {key: record.get(key) for key in keys}
    found = [
        f"{key} is {value}, expected more than 0" for key, value in values.items() if not (value or 0) > 0
    ]
    steps = sum(map(int, re.findall(r" in (\d+) steps", str(record["effective"].get("step_pairs")))))
    before = steps // 2 if case.resumes else 0
    if record.get("resumed_at", 0) != before:
        found.append(f"resumed from step {record.get('resumed_at', 0)}, expected {before}")
    if steps and len(record["losses"]) != steps - before:
        found.append(f"{len(record['losses'])} losses were recorded, expected {steps - before}")
    return found


def _loss_deviations(losses: list[float], wanted: list[float]) -> list[float]:
    return [abs(loss - one) / abs(one) for loss, one in zip(losses, wanted, strict=True)]


def _wrong_numbers(record: dict, case: Case, reference: dict | None) -> list[str]:
    if not all(math.isfinite(loss) for loss in record["losses"]):
        return ["losses are not finite"]
    replays = [f"replay_{kind}" for kind in ("deviation", "weight_deviation", "average_deviation")]
    is_replayed = record["effective"]["cuda_graph"] and not case.resumes  # its first half is
    replayed = [record.get(key, math.nan) for key in replays] if is_replayed else [0]
    replay_check = ("replayed steps are {:.1e} from eager ones", replayed, 0)
    if case.against is None:
        return _over([replay_check])
    if reference is None or "weight_deviation" not in record:
        return [f"not compared with {case.against}"]
    reference = since_resumed(reference, record)
    if len(record["losses"]) != len(reference["losses"]):
        return [f"has {len(record['losses'])} losses, {case.against} {len(reference['losses'])}"]
    tolerance, of = case.tolerance, f"{case.against}'s"
    first, *later = _loss_deviations(record["losses"], reference["losses"])
    skips = tolerance.skipped_updates > 0
    last = _loss_deviations([_last_loss(record)], [_last_loss(reference)])
    checks = [
        (f"its loss before the first step is {{:.1e}} from {of}", [first], tolerance.losses),
        (f"a loss is {{:.1e}} from {of}", later, LAGGING if skips else tolerance.losses),
        (f"its last {LAST_LOSSES} losses are on average {{:.1e}} from {of}", last, tolerance.losses),
        (f"its weights are {{:.1e}} from {of}", [record["weight_deviation"]], tolerance.weights),
        (
            f"its averaged weights are {{:.1e}} from {of}",
            [record.get("average_deviation", math.nan)],
            tolerance.weights,
        ),
        *_of_gradients(record, reference, case),
        replay_check,
        ("{} updates were skipped", [record["skipped_updates"]], tolerance.skipped_updates),
    ]
    found = _over(checks) + [
        f"{len(record[key])} {what} did not change, such as {record[key][0]}"
        for key, what in (("weight_stood_still", "weights"), ("average_stood_still", "averages"))
        if record.get(key)
    ]
    if record.get("device") == "cpu":
        return found  # which has few kernels, and no record of its memory
    if case.has_other_kernels and record["weight_deviation"] == 0:
        found.append(f"its weights are {of} to the last bit, which other kernels do not give")
    key = "peak_memory_allocated_bytes"
    if case.saves_memory and record[key] >= reference[key]:
        found.append(f"{key} is {record[key]}, expected less than {of} {reference[key]}")
    return found


def _over(checks: list[Check]) -> list[str]:
    # Each is asked for what it must be, since no comparison with NaN holds.
    over = [(text, [one for one in seen if not one <= most], most) for text, seen, most in checks]
    return [f"{text.format(largest(seen))}, over {most}" for text, seen, most in over if seen]


def _of_gradients(record: dict, reference: dict, case: Case) -> list[Check]:
    """What a first update that was not skipped shows of the gradients, and the norms of all."""
    if case.resumes:
        return [_of_norms(record, reference, case, first=0)]
    norms = [(one.get("gradient_norms") or [math.nan])[0] for one in (record, reference)]
    if None in norms and case.tolerance.skipped_updates:
        return []
    norm, wanted = (math.nan if one is None else one for one in norms)
    of = f"{case.against}'s"
    one_by_one = record.get("worst_gradients") or {"a tensor": [math.nan, 1]}
    key, most, most_of_one = "gradient_deviation", case.tolerance.gradients, case.tolerance.gradient
    if record.get("device") == "cpu" and case.tolerance.gradients > FLOAT.gradients:
        most, most_of_one = max(most, ON_CPU["gradients"]), max(most_of_one, ON_CPU["gradient"])
        one_by_one = {
            name: (off, share)
            for name, (off, share) in one_by_one.items()
            if off == 1 or not share < ON_CPU["share"]
        }
    worst, off = next(((name, [off]) for name, (off, _) in one_by_one.items()), ("a tensor", []))
    return [
        (f"its first gradients are {{:.1e}} from {of}", [record.get(key, math.nan)], most),
        (f"their norm is {{:.1e}} from {of}", [abs(norm / wanted - 1)], most),
        (f"the first gradient of {worst} is {{:.1e}} from {of}", off, most_of_one),
        _of_norms(record, reference, case, first=1),
    ]


def _of_norms(record: dict, reference: dict, case: Case, first: int) -> Check:
    text, most = f"the norm of a later gradient is {{:.1e}} from {case.against}'s", case.tolerance.norms
    if most is None:
        return text, [], 0
    norms, wanted = (one.get("gradient_norms") or [] for one in (record, reference))
    if len(norms) != len(wanted) or len(norms) < 2:
        return text, [math.nan], most
    pairs = list(zip(norms, wanted, strict=True))[first:]
    return text, [abs(one / other - 1) if one and other else math.nan for one, other in pairs], most


def largest(deviations: Iterable[float]) -> float:
    """NaN if any is: Python's max passes over one that does not come first."""
    return max(deviations, key=lambda deviation: (math.isnan(deviation), deviation))


def _last_loss(record: dict) -> float:
    return sum(record["losses"][-LAST_LOSSES:]) / LAST_LOSSES


def _waits(record: dict, case: Case) -> list[str]:
    if record["effective"]["cuda_graph"] or record.get("device") == "cpu":
        return []  # a replayed update is one launch; and a CPU's host waits for nothing
    if "host_waits" not in record:
        return ["waits of the host were not noted"]
    waits = record["host_waits"]
    count = 0 if waits == "none" else len(waits.split("; "))
    return [] if count == case.waits else [f"the host waits {count} times, not {case.waits}: {waits}"]
