"""Converts plain values into frozen dataclasses by their types, and collects every problem."""

import dataclasses
import difflib
import json
import math
import types
import typing
from collections.abc import Mapping

from trainer.contracts.settings import Range
from trainer.errors import Problem

MOST_DIGITS = 15  # of whole numbers
MOST = 1e38  # of others: 32-bit floats end soon after

Section = typing.TypeVar("Section")


@dataclasses.dataclass
class Reader:
    """Reads one document; `problems` holds what was wrong with it."""

    problems: list[Problem] = dataclasses.field(default_factory=list)

    def section(self, kind: type[Section], value: object, key: str) -> Section:
        """Return a `kind` made of a mapping; where a key is absent or bad, of its default."""
        if not isinstance(value, Mapping):
            self._complain(key, f"got {show(value)}, expected a mapping of keys to values")
            return kind()
        hints = typing.get_type_hints(kind, include_extras=True)
        known = [entry.name for entry in dataclasses.fields(kind)]
        for name in value:
            if name not in known:
                self._complain(_join(key, str(name)), f"unknown key; {_suggestion(str(name), known)}")
        read = {
            name: self._value(hints[name], value[name], _join(key, name)) for name in known if name in value
        }
        return kind(**{name: entry for name, entry in read.items() if not isinstance(entry, Problem)})

    def _value(self, hint: object, value: object, key: str) -> object:
        if dataclasses.is_dataclass(hint):
            return self.section(hint, value, key)
        ranges: tuple[Range, ...] = ()
        if typing.get_origin(hint) is typing.Annotated:
            hint, ranges = typing.get_args(hint)[0], typing.get_args(hint)[1:]
        if typing.get_origin(hint) is types.UnionType or typing.get_origin(hint) is typing.Union:
            return self._optional(hint, value, key)
        if typing.get_origin(hint) is tuple:
            return self._tuple(hint, ranges, value, key)
        if limit := _limit_passed(hint, value):
            return self._complain(key, f"got {show(value)}, expected a number of at most {limit}")
        read = _scalar(hint, value)
        if read is None or not all(limit.holds(read) for limit in ranges):
            return self._complain(key, f"got {show(value)}, expected {_expected(hint, ranges)}")
        return read

    def _optional(self, hint: object, value: object, key: str) -> object:
        (inner,) = [option for option in typing.get_args(hint) if option is not types.NoneType]
        return None if value is None else self._value(inner, value, key)

    def _tuple(self, hint: object, ranges: tuple[Range, ...], value: object, key: str) -> object:
        entry_hint = typing.get_args(hint)[0]
        if not isinstance(value, list) or not all(limit.holds(value) for limit in ranges):
            return self._complain(
                key, f"got {show(value)}, expected a list {_expected_ranges(ranges)}".rstrip()
            )
        read = [self._value(entry_hint, entry, f"{key}[{index}]") for index, entry in enumerate(value)]
        return tuple(entry for entry in read if not isinstance(entry, Problem))

    def _complain(self, key: str, text: str) -> Problem:
        problem = Problem(key, text)
        self.problems.append(problem)
        return problem


def show(value: object) -> str:
    """The value as the user wrote it, as far as that is known."""
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, default=repr)


def _limit_passed(hint: object, value: object) -> str | None:
    """Of a whole number what a float holds exactly, which is what JSON means to TypeScript."""
    if not isinstance(value, int | float) or not abs(value) < math.inf:
        return None
    if (isinstance(value, int) or hint is int) and abs(value) >= 10**MOST_DIGITS:
        return f"{MOST_DIGITS} digits"
    return f"{MOST:.0e}" if abs(value) > MOST else None


def _scalar(hint: object, value: object) -> object:
    """Return the value as the wanted type, or None where it is not one."""
    if typing.get_origin(hint) is typing.Literal:
        return value if value in typing.get_args(hint) else None
    if hint is str:
        return value if isinstance(value, str) and value else None
    if hint is bool:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if hint is int:
        return int(value) if value == int(value) else None
    return float(value)


def _expected(hint: object, ranges: tuple[Range, ...]) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return "one of " + ", ".join(typing.get_args(hint))
    names = {
        int: "a whole number",
        float: "a finite number",
        bool: "true or false",
        str: "text that is not empty",
    }
    return f"{names[hint]} {_expected_ranges(ranges)}".rstrip()


def _expected_ranges(ranges: tuple[Range, ...]) -> str:
    return " and ".join(limit.words() for limit in ranges)


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known keys: {', '.join(known) or 'none'}"


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
