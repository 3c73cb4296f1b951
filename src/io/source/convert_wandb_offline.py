"""Writes the history of an offline run of wandb as lines of JSON, one for each row.

    python convert_wandb_offline.py FOLDER TARGET MAX_BYTES

The .wandb file below FOLDER is a log of LevelDB's format whose entries are protocol buffers; wandb itself no
longer has a reader of it. Of an entry only the history is decoded: each item has a key, or the parts of one,
and its value either as JSON text or typed.
"""

import json
import math
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK_BYTES = 32768
FILE_HEADER = b":W&B\xe1\xbe"
FILE_HEADER_BYTES = 7
ENTRY_HEADER = struct.Struct("<IHB")  # checksum, length, type
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4

# Numbers of fields in wandb_internal.proto.
HISTORY = 2
ITEM, STEP = 1, 2
KEY, NESTED_KEY, BOOLEAN, INTEGER, NUMBER, TEXT, JSON, VALUE_JSON = 1, 2, 4, 5, 6, 7, 8, 16
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def main(folder: str, target: str, max_bytes: str) -> int:
    files = sorted(path for path in Path(folder).rglob("*.wandb") if path.is_file() and not path.is_symlink())
    if len(files) != 1:
        names = ", ".join(path.name for path in files[:4])
        what = f"{len(files)} files *.wandb ({names})" if files else "no file *.wandb"
        print(
            f"{folder} has {what}, expected one; run with WANDB_MODE=offline and wandb.init(dir=...)",
            file=sys.stderr,
        )
        return 1
    try:
        return write(files[0], Path(target), int(max_bytes))
    except ValueError as error:
        print(f"{files[0].name}: {error}", file=sys.stderr)
        return 1


def write(source: Path, target: Path, max_bytes: int) -> int:
    written = 0
    with target.open("x", encoding="utf-8") as file:
        for entry in entries_of(source):
            for number, history in fields_of(entry):
                if number != HISTORY or not isinstance(history, bytes):
                    continue
                line = json.dumps(row_of(history)) + "\n"
                written += len(line)
                if written > max_bytes:
                    raise ValueError(f"more than {max_bytes} bytes of history; log less")
                file.write(line)
    if written == 0:
        raise ValueError("has no history; call run.log(...), and run.finish() at the end")
    return 0


def entries_of(path: Path) -> Iterator[bytes]:
    """A block is never shared by the header of an entry and its start: up to 6 bytes at its end are empty."""
    with path.open("rb") as file:
        header = file.read(FILE_HEADER_BYTES)
        if not header.startswith(FILE_HEADER):
            raise ValueError("is no file of an offline run")
        position, parts = FILE_HEADER_BYTES, b""
        while True:
            left = BLOCK_BYTES - position % BLOCK_BYTES
            if left < ENTRY_HEADER.size:
                file.seek(left, 1)
                position += left
                continue
            head = file.read(ENTRY_HEADER.size)
            if len(head) < ENTRY_HEADER.size:
                break
            _, length, kind = ENTRY_HEADER.unpack(head)
            data = file.read(length)
            if len(data) < length:
                raise ValueError("is cut off; call run.finish() at the end of the training")
            position += ENTRY_HEADER.size + length
            if kind not in (FULL, FIRST, MIDDLE, LAST):
                raise ValueError(f"has an entry of the unknown type {kind}")
            parts = data if kind in (FULL, FIRST) else parts + data
            if kind in (FULL, LAST):
                yield parts


def row_of(history: bytes) -> dict[str, object]:
    row: dict[str, object] = {}
    for number, value in fields_of(history):
        if number == ITEM and isinstance(value, bytes):
            key, item = item_of(value)
            row[key] = item
        elif number == STEP and isinstance(value, bytes):
            row.setdefault("_step", next((step for field, step in fields_of(value) if field == 1), 0))
    return row


def item_of(data: bytes) -> tuple[str, object]:
    key, nested, value = "", [], None
    for number, field in fields_of(data):
        if number == KEY:
            key = text(field)
        elif number == NESTED_KEY:
            nested.append(text(field))
        elif number in (JSON, VALUE_JSON):
            value = json.loads(text(field))
        elif number == TEXT:
            value = text(field)
        elif number == BOOLEAN:
            value = bool(field)
        elif number == INTEGER:
            value = (field >> 1) ^ -(field & 1)  # sint64
        elif number == NUMBER:
            value = struct.unpack("<d", field)[0]
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)  # as text: JSON has no such number, and the reader knows what it means
    return key or ".".join(nested), value


def text(field: object) -> str:
    if not isinstance(field, bytes):
        raise ValueError("has an entry that is not as expected; another version of wandb has written it")
    return field.decode("utf-8", "replace")


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Of a protocol buffer: number and value, which is an integer or bytes."""
    position = 0
    while position < len(data):
        tag, position = varint(data, position)
        kind = tag & 7
        if kind == VARINT:
            value, position = varint(data, position)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            length, position = varint(data, position)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("has an entry that is no protocol buffer")
        if position + length > len(data):
            raise ValueError("has an entry that is cut off")
        yield tag >> 3, data[position : position + length]
        position += length


def varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
    raise ValueError("has an entry that is cut off")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
