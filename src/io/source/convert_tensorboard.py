"""Writes the scalars of TensorBoard's event files as lines of JSON, since Node cannot read them.

    python convert_tensorboard.py FOLDER TARGET MAX_BYTES

Each line has tag, step, wall_time and value, in the order of the clock. A line with the tag null tells when a
Hugging Face Trainer began: right before its first step it writes its arguments. Run by the interpreter of the
training.
"""

import json
import math
import sys
from pathlib import Path

FIRST_WORDS = "args/text_summary"
# They are in memory as a whole.
MAX_SOURCE_BYTES = 256 * 1024 * 1024


def main(folder: str, target: str, max_bytes: str) -> int:
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError as error:
        print(f"{error}; install tensorboard in the environment of launch.python", file=sys.stderr)
        return 1
    files = [path for path in Path(folder).rglob("events.out.tfevents.*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    if size > MAX_SOURCE_BYTES:
        print(f"event files of {size} bytes, expected at most {MAX_SOURCE_BYTES}", file=sys.stderr)
        return 1
    rows = []
    for one in sorted({path.parent for path in files}):
        # 0 is all: by default it keeps a sample of 10,000.
        events = EventAccumulator(str(one), size_guidance={"scalars": 0, "tensors": 0})
        events.Reload()
        rows += rows_of(events)
    if not rows:
        print(
            f"{folder} has no event file with scalars; write them below the folder of the run",
            file=sys.stderr,
        )
        return 1
    # Sorting is stable: what was written at once stays in its order.
    rows.sort(key=lambda row: row["wall_time"])
    return write(rows, Path(target), int(max_bytes))


def rows_of(events) -> list[dict]:
    tags = events.Tags()
    rows = [
        {"tag": tag, "step": scalar.step, "wall_time": scalar.wall_time, "value": scalar.value}
        for tag in tags["scalars"]
        for scalar in events.Scalars(tag)
    ]
    for tag in tags["tensors"]:
        for tensor in events.Tensors(tag):
            if tag.startswith(FIRST_WORDS):
                rows.append({"tag": None, "step": 0, "wall_time": tensor.wall_time, "value": None})
            elif not tensor.tensor_proto.tensor_shape.dim:
                rows += scalar_rows(tag, tensor)
    return rows


def scalar_rows(tag: str, tensor) -> list[dict]:
    """Newer writers store a scalar as a tensor without dimensions."""
    from tensorboard.util.tensor_util import make_ndarray

    array = make_ndarray(tensor.tensor_proto)
    if array.dtype.kind not in "fiu":
        return []
    return [{"tag": tag, "step": tensor.step, "wall_time": tensor.wall_time, "value": float(array)}]


def write(rows: list[dict], target: Path, max_bytes: int) -> int:
    written = 0
    with target.open("x", encoding="utf-8") as file:
        for row in rows:
            line = json.dumps(row | {"value": finite_or_text(row["value"])}) + "\n"
            written += len(line)
            if written > max_bytes:
                print(f"more than {max_bytes} bytes of scalars; write fewer of them", file=sys.stderr)
                return 1
            file.write(line)
    return 0


def finite_or_text(value: float | None) -> float | str | None:
    """JSON has no number that is not finite, and the reader knows what the text means."""
    return value if value is None or math.isfinite(value) else str(value)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
