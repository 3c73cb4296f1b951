"""The results of the GPU check as a table."""

from __future__ import annotations

from benchmarks.gpu_check.verdict import loss_deviation


def table(records: list[dict], against: dict[str, str]) -> str:
    """One line per case that ended, in the order in which they ended; `against`: what each should repeat."""
    ended = [record for record in records if "started" not in record]
    measured = {record["case"]: record for record in ended if "step_seconds" in record}
    plain = {
        record["processes"]: record
        for record in ended
        if record["case"] in ("plain", "ddp", "ddp-4gpu") and "effective" in record
    }
    rows = [
        _row(record, measured.get(against.get(record["case"])), plain.get(record.get("processes")))
        for record in ended
        if record.get("rank", 0) == 0
    ]
    header = (
        "case",
        "n",
        "ms/step",
        "pairs/s",
        "TFLOP/s",
        "GB",
        "set-up s",
        "loss off",
        "weights off",
        "what was on",
    )
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header) - 1)]
    lines = []
    for row in [header, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]))
    return "\n".join(lines)


def _row(record: dict, reference: dict | None, plain: dict | None) -> tuple[str, ...]:
    if "step_seconds" not in record:
        return (record["case"], str(record.get("processes", "")), *[""] * 7, record.get("error", "")[:160])
    memory = record.get("peak_memory_reserved_bytes")
    return (
        record["case"],
        str(record["processes"]),
        f"{record['step_seconds'] * 1e3:.2f}",
        f"{record['pairs_per_second']:.0f}",
        f"{record['tera_flops_per_second']:.1f}",
        f"{memory / 1e9:.1f}" if memory else "",
        f"{record['set_up_seconds']:.1f}",
        _small(reference and loss_deviation(record, reference)),
        _small(record.get("weight_deviation")),
        _what_was_on(record, {} if plain in (None, record) else plain["effective"]),
    )


def _small(number: float | None) -> str:
    return "" if number is None else f"{number:.1e}"


def _what_was_on(record: dict, plain: dict) -> str:
    """What it reads back other than the plain case, which shows all that it has."""
    effective = {
        key: value
        for key, value in record["effective"].items()
        if (value != plain.get(key) if plain else value not in (0, "off", "none", False))
    }
    if "replay_deviation" in record:
        effective["replayed against eager"] = f"{record['replay_deviation']:.1e}"
    if record.get("host_waits", "none") != "none":
        effective["HOST WAITS"] = record["host_waits"]
    return " ".join(f"{key}={value}" for key, value in effective.items())
