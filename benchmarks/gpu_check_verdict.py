"""Whether a case of the GPU check did what it says: its switches were on, and its numbers stayed."""

from __future__ import annotations

import math

from gpu_check_cases import PLAIN, Case

ON = object()  # anything but what stands for off
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
    "trace_updates": {"3": ("traced_updates", "3")},
}


def wrong(record: dict, case: Case) -> list[str]:
    """Return what a record of a case that ended shows to be other than it should be."""
    return [*_wrong_switches(record, case), *_wrong_numbers(record, case), *_waits(record, case)]


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


def _wrong_numbers(record: dict, case: Case) -> list[str]:
    if not all(math.isfinite(loss) for loss in record["losses"]):
        return ["losses are not finite"]
    if case.against is None:
        return []
    if "loss_deviation_10_steps" not in record:
        return [f"not compared with {case.against}"]
    found, off = [], record["loss_deviation_10_steps"]
    if off > case.loss_tolerance:
        found.append(f"its first 10 losses are {off:.1e} from {case.against}'s, over {case.loss_tolerance}")
    if record["weight_deviation"] > WEIGHT_TOLERANCE:
        found.append(f"its weights are {record['weight_deviation']:.1e} from {case.against}'s")
    if record.get("replay_deviation", 0) != 0:
        found.append(f"replayed steps are {record['replay_deviation']:.1e} from eager ones")
    return found


def _waits(record: dict, case: Case) -> list[str]:
    waits = record.get("host_waits", "none")
    return [] if waits == "none" or case.waits else [f"the host waits: {waits}"]
