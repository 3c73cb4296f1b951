"""Reads the events of a Chrome trace one by one: as objects, a trace of 500 MB does not fit into memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

CHUNK_CHARACTERS = 4_000_000
MOST_CHARACTERS_OF_AN_EVENT = 16_000_000


class BadTrace(ValueError):
    """A file that is no Chrome trace, or ends in the middle of one."""


def events_of(path: Path) -> Iterator[dict[str, Any]]:
    """The events in the order of the file. Raises BadTrace at the place where it cannot be read on."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open() as file:
            yield from _events_in(file, path)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadTrace(f"{path.name}: {error}") from error


def _events_in(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    buffer, decoder = _after_opening(file, path), json.JSONDecoder()
    place = 0
    while True:
        place = _next_place(buffer, place)
        if place < len(buffer) and buffer[place] == "]":
            return
        try:
            event, place = decoder.raw_decode(buffer, place)
        except (ValueError, RecursionError):
            if len(buffer) - place > MOST_CHARACTERS_OF_AN_EVENT:
                raise BadTrace(f"{path.name}: no event that can be read") from None
            chunk = file.read(CHUNK_CHARACTERS)
            if not chunk:
                raise BadTrace(f"{path.name}: ends in the middle, or is damaged") from None
            buffer, place = buffer[place:] + chunk, 0
            continue
        if isinstance(event, dict):
            yield event


def _after_opening(file: IO[str], path: Path) -> str:
    """What follows the bracket of traceEvents, as far as it has been read."""
    buffer = ""
    while chunk := file.read(CHUNK_CHARACTERS):
        buffer += chunk
        key = buffer.find('"traceEvents"')
        bracket = buffer.find("[", key) if key >= 0 else -1
        if bracket >= 0:
            return buffer[bracket + 1 :]
        if len(buffer) > MOST_CHARACTERS_OF_AN_EVENT:
            break
    raise BadTrace(f"{path.name}: has no traceEvents, expected a trace of torch.profiler")


def _next_place(buffer: str, place: int) -> int:
    while place < len(buffer) and buffer[place] in " \t\r\n,":
        place += 1
    return place
