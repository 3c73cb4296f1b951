"""Whether a case of the GPU check did what it says: its switches were on, and its numbers stayed."""

from __future__ import annotations

import math
import re
import sys

from gpu_check_cases import PLAIN, Case

ON = object()  # anything but what stands for off
LOSSES = 10  # the first, of which the later ones follow from small differences of the earlier
FIRST_LOSS_TOLERANCE = 0.02  # before any step, so that nothing has magnified a rounding; seen: 0.007 in FP8
LAST_LOSSES = 4  # their mean, for what the first let pass: without training it would be 0.5 off
LAST_LOSS_TOLERANCE = 0.02  # seen: 0.009 in FP8
SKIPPING_LAST_LOSS_TOLERANCE = 0.1  # some updates behind; seen: 0.064
SKIPPED_UPDATES = 8  # until its scaler has come down from 2^16; seen: 5
# Of our kernels against float64, relative to the largest value; seen: a half of these and less.
KERNEL_TOLERANCES = {"bfloat16": 0.02, "float16": 0.0025, "float32": 5e-6}
# FP8 has 3 bits of mantissa in factors and 2 in gradients: half a step of them is 6% and 12% of a factor.
FP8_TOLERANCES = {"out": (0.02, 0.06), "x": (0.03, 0.12), "weight": (0.0, 0.02)}

# The kernels that kernel_errors.py compares, and how many results and gradients of each.
KERNELS = {
    "one-tile attention": 4,
    "feed-forward": 5,
    "gate, sum and norm": 8,
    "decoder tail": 16,
    "decoder tail, queries in common": 16,
    "decoder tail and head": 15,
}
IN_HALVES = {"cross-attention": 3, "cross-attention, queries in common": 3}  # none of ours for float32
# What these keep in float32 whatever the type of the products: the stream between blocks and small sums.
ALWAYS_FLOAT32 = {
    "gate, sum and norm": {"total", "x", "bias", "gate", "scale", "shift"},
    "decoder tail": {"reader.bias"},
    "decoder tail, queries in common": {"reader.bias"},
    "decoder tail and head": {"reader.bias"},
}

# What a setting has to read back as: its key in `effective`, and the text there, or one of its parts.
READS_BACK: dict[str, dict[str, tuple[str, object]]] = {
    "precision": {
        "fp32": ("precision", "float32"),
        "fp16": ("precision", "float16"),
        "bf16": ("precision", "bfloat16"),
    },
    "data_path": {"resident": ("data_path", "resident"), "loader": ("data_path", "loader")},
    "loader_workers": {"8": ("loader_workers", "8")},
    "loader_pinned": {"false": ("loader_pinned", "False")},
    "accumulation_steps": {"1": ("micro_steps", "1"), "3": ("micro_steps", "3")},
    "wrapper": {"flat": ("wrapper", "flat"), "fsdp2": ("wrapper", "FSDP2")},
    "muon": {
        "loop": ("optimizer", "Muon loop"),
        "batched": ("optimizer", "Muon batched"),
        "sharded": ("optimizer", "Muon batched over 2 ranks"),
    },
    "fused_adamw": {"true": ("optimizer", "AdamW fused")},
    "offload_adamw": {"true": ("optimizer", "AdamW offloaded")},
    "foreach_ema": {"true": ("ema", "foreach")},
    "compile": {"blocks": ("compile", "blocks"), "model": ("compile", "model")},
    "compile_mode": {
        "reduce-overhead": ("compile", "reduce-overhead"),
        "max-autotune-no-cudagraphs": ("compile", "max-autotune-no-cudagraphs"),
    },
    "cuda_graph": {"true": ("cuda_graph", "True")},
    "attention": {
        name: ("attention", name)
        for name in ("math", "efficient", "flash", "flash3", "cudnn", "flex", "one-tile")
    },
    "cross_attention": {"one-tile": ("cross_attention", "one-tile")},
    "fp8_products": {"true": ("fp8_layers", ON)},
    "fused_pointwise": {"true": ("fused_layers", ON), "false": ("fused_layers", "0")},
    "hoist_fixed_grid": {"true": ("hoisted_tasks", ON)},
    "activation_checkpointing": {
        "all": ("checkpointed_blocks", ON),
        "every-other": ("checkpointed_blocks", ON),
        "selective": ("checkpointed_blocks", ON),
    },
    "checkpoint_encoder_decoder": {"true": ("checkpointed_ends", ON)},
    "cudnn_autotune": {"true": ("cudnn_autotune", "True")},
    "memory_cleanup_updates": {"4": ("memory_cleanup", "every 4 updates")},
    "reduce_gradients": {"every-micro-step": ("gradient_reductions", "3")},
    "metric_reads": {"update": ("metric_reads", "update")},
    "trace_updates": {"3": ("traced_updates", "3")},
}


def wrong(record: dict, case: Case, reference: dict | None) -> list[str]:
    """Return what a record of a case that ended shows to be other than it should be.

    reference: the record of the case that this one should repeat, from the same call.
    """
    return [*_wrong_switches(record, case), *_wrong_numbers(record, case, reference), *_waits(record, case)]


def wrong_kernels(errors: dict[str, dict[str, float] | None], dtype: str) -> list[str]:
    """Return what the errors of our kernels in one type show to be other than its rounding.

    FP8 products may be None, on a GPU that has none.
    """
    parts_of = KERNELS if dtype == "float32" else KERNELS | IN_HALVES
    found = []
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
    """The largest relative difference of the first losses."""
    return max(_loss_deviations(record, reference))


def expected_read_backs(case: Case) -> list[tuple[str, object]]:
    """KeyError where a case sets something of speed that nothing here says how to see."""
    settings = dict(part.split("=", 1) for part in [*PLAIN, *case.overrides])  # the last one counts
    speed = {key.removeprefix("speed."): value for key, value in settings.items() if key.startswith("speed.")}
    nccl = speed.pop("nccl", None)
    found = [READS_BACK[key][value] for key, value in speed.items()]
    return [*found, ("nccl", nccl.strip("[]").replace(", ", " "))] if nccl else found


def _wrong_switches(record: dict, case: Case) -> list[str]:
    effective, found = record["effective"], []
    for key, asked in expected_read_backs(case):
        value = effective.get(key)
        if not _reads_as(value, asked):
            found.append(f"{key} reads back {value}, asked for {'on' if asked is ON else asked}")
    reads = len(record["losses"]) if effective.get("metric_reads") == "update" else 0
    if record.get("updates_read") != reads:
        found.append(f"the losses of {record.get('updates_read')} updates were read, expected {reads}")
    return found


def _reads_as(value: object, asked: object) -> bool:
    if asked is ON:
        return value not in (None, 0, "off", False)
    return asked in (value, str(value), *re.split(r", | \+ ", str(value)))


def _loss_deviations(record: dict, reference: dict) -> list[float]:
    pairs = zip(record["losses"][:LOSSES], reference["losses"][:LOSSES], strict=True)
    return [abs(loss - wanted) / abs(wanted) for loss, wanted in pairs]


def _wrong_numbers(record: dict, case: Case, reference: dict | None) -> list[str]:
    if not all(math.isfinite(loss) for loss in record["losses"]):
        return ["losses are not finite"]
    if case.against is None:
        return []
    if reference is None or "weight_deviation" not in record:
        return [f"not compared with {case.against}"]
    (first, *_), off = _loss_deviations(record, reference), loss_deviation(record, reference)
    skips, of = math.isinf(case.loss_tolerance), f"{case.against}'s"
    last = abs(_last_loss(record) / _last_loss(reference) - 1)
    most_last = SKIPPING_LAST_LOSS_TOLERANCE if skips else min(case.loss_tolerance, LAST_LOSS_TOLERANCE)
    most_weights = 0 if case.loss_tolerance == 0 else sys.float_info.max
    replayed = 0 if not record["effective"]["cuda_graph"] else record.get("replay_deviation", math.nan)
    # Each is asked for what it must be, since no comparison with NaN holds.
    checks = {
        f"its loss before the first step is {{:.1e}} from {of}": (first, FIRST_LOSS_TOLERANCE),
        f"its first {LOSSES} losses are {{:.1e}} from {of}, over {case.loss_tolerance}": (
            off,
            case.loss_tolerance,
        ),
        f"its last {LAST_LOSSES} losses are on average {{:.1e}} from {of}": (last, most_last),
        f"its weights are {{:.1e}} from {of}": (record["weight_deviation"], most_weights),
        f"its averaged weights are {{:.1e}} from {of}": (
            record.get("average_deviation", math.nan),
            most_weights,
        ),
        "replayed steps are {:.1e} from eager ones": (replayed, 0),
        "{} updates were skipped": (record["skipped_updates"], SKIPPED_UPDATES if skips else 0),
    }
    return [text.format(seen) for text, (seen, most) in checks.items() if not seen <= most]


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
