"""Whether a case of the GPU check did what it says: its switches were on, and its numbers stayed."""

from __future__ import annotations

import math

from gpu_check_cases import PLAIN, Case

ON = object()  # anything but what stands for off
LOSSES = 10  # the first, of which the later ones follow from small differences of the earlier
FIRST_LOSS_TOLERANCE = 0.02  # before any step, so that nothing has magnified a rounding; seen: 0.008 in FP8
WEIGHT_TOLERANCE = 0.1  # after 24 updates; seen: 0.013, and 0.04 in fp16

# What a setting has to read back as: its key in `effective`, and a part of the text there.
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


def loss_deviation(record: dict, reference: dict) -> float:
    """The largest relative difference of the first losses."""
    return max(_loss_deviations(record, reference))


def expected_read_backs(case: Case) -> list[tuple[str, object]]:
    """KeyError where a case sets something of speed that nothing here says how to see."""
    settings = dict(part.split("=", 1) for part in [*PLAIN, *case.overrides])  # the last one counts
    speed = {key.removeprefix("speed."): value for key, value in settings.items() if key.startswith("speed.")}
    nccl = speed.pop("nccl", None)
    found = [READS_BACK[key][value] for key, value in speed.items()]
    return [*found, ("nccl", "NCCL_")] if nccl else found


def _wrong_switches(record: dict, case: Case) -> list[str]:
    effective, found = record["effective"], []
    for key, asked in expected_read_backs(case):
        value = effective.get(key)
        if value in (None, 0, "off", False) if asked is ON else asked not in str(value):
            found.append(f"{key} reads back {value}, asked for {'on' if asked is ON else asked}")
    return found


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
    found, (first, *_), off = [], _loss_deviations(record, reference), loss_deviation(record, reference)
    if first > FIRST_LOSS_TOLERANCE:
        found.append(f"its loss before the first step is {first:.1e} from {case.against}'s")
    if off > case.loss_tolerance:
        found.append(
            f"its first {LOSSES} losses are {off:.1e} from {case.against}'s, over {case.loss_tolerance}"
        )
    if record["weight_deviation"] > WEIGHT_TOLERANCE:
        found.append(f"its weights are {record['weight_deviation']:.1e} from {case.against}'s")
    if record.get("replay_deviation", 0) != 0:
        found.append(f"replayed steps are {record['replay_deviation']:.1e} from eager ones")
    return found


def _waits(record: dict, case: Case) -> list[str]:
    waits = record.get("host_waits", "none")
    return [] if waits == "none" or case.waits else [f"the host waits: {waits}"]
