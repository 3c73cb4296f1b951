"""What the memory of a GPU is taken by when most of it is: from the allocator's history of a few steps."""

from __future__ import annotations

from typing import Any

import torch

LARGEST = 10
_KEPT = "kept over the steps"
_MOST_ENTRIES = 200_000
_ALLOCATED, _FREED = "alloc", ("free_completed", "free_requested")


def start_memory_history() -> None:
    if hasattr(torch.cuda.memory, "_record_memory_history"):
        torch.cuda.memory._record_memory_history(max_entries=_MOST_ENTRIES, stacks="python")


def memory_at_peak() -> dict[str, object] | None:
    """End the history. None where the allocator of this torch keeps none."""
    if not hasattr(torch.cuda.memory, "_snapshot"):
        return None
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    return peak_of(snapshot, torch.cuda.current_device())


def peak_of(snapshot: dict[str, Any], device: int) -> dict[str, object] | None:
    """The live blocks at the highest point of the history, largest first, and their sums by what they are.

    The history is walked backwards from what is live at its end.
    """
    live = {
        block["address"]: (block["size"], _place_of(block.get("frames")))
        for segment in snapshot["segments"]
        if segment.get("device", 0) == device
        for block in _with_addresses(segment)
        if block["state"] == "active_allocated"
    }
    traces = snapshot.get("device_traces") or []
    events = traces[device] if device < len(traces) else []
    before_history = set(live) - {event["addr"] for event in events if event["action"] == _ALLOCATED}
    total = sum(size for size, _ in live.values())
    peak, at_peak = total, dict(live)
    for event in reversed(events):
        if event["action"] == _ALLOCATED and event["addr"] in live:
            total -= live.pop(event["addr"])[0]
        elif event["action"] == _FREED[0]:
            live[event["addr"]] = (event["size"], _place_of(event.get("frames")))
            total += event["size"]
            if total > peak:
                peak, at_peak = total, dict(live)
    if not at_peak:
        return None
    kept = sum(size for address, (size, _) in at_peak.items() if address in before_history)
    largest = sorted(at_peak.items(), key=lambda item: -item[1][0])[:LARGEST]
    return {
        "peak_bytes": peak,
        "categories": {_KEPT: kept, "made in the step": peak - kept},
        "largest": [
            {
                "bytes": size,
                "where": place or ("kept over the steps" if address in before_history else "unknown"),
            }
            for address, (size, place) in largest
        ],
    }


def _with_addresses(segment: dict[str, Any]) -> list[dict[str, Any]]:
    address, blocks = segment["address"], []
    for block in segment["blocks"]:
        blocks.append({"address": address, **block})
        address += block["size"]
    return blocks


def _place_of(frames: list[dict[str, Any]] | None) -> str | None:
    """The innermost line outside of torch."""
    for frame in frames or []:
        name = frame.get("filename", "")
        if name.endswith(".py") and "/torch/" not in name:
            return f"{'/'.join(name.split('/')[-2:])}:{frame.get('line')} {frame.get('name')}"
    return None
