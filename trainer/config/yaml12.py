"""Read YAML 1.2 and JSON strictly: the same document means the same to Python and TypeScript."""

import json
import re
from pathlib import Path
from typing import ClassVar

import yaml

from trainer.errors import ConfigError


class _Yaml12Loader(yaml.SafeLoader):
    """PyYAML reads YAML 1.1, where `off` is a boolean, `1e-3` is text and `1:30` is a number."""

    yaml_implicit_resolvers: ClassVar[dict] = {}


_Yaml12Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)
_Yaml12Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Yaml12Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)
_Yaml12Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    try:
        # PyYAML's own would read 010 as 8.
        return int(node.value, 0) if node.value[:2] in ("0o", "0x") else int(node.value)
    except ValueError as error:  # Python reads 4300 digits
        raise yaml.constructor.ConstructorError(
            None, None, f"a number of {len(node.value)} digits", node.start_mark
        ) from error


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[object, object]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    repeated = [number for number, key in enumerate(keys) if key in keys[:number]]
    if repeated:
        second = repeated[0]
        raise yaml.constructor.ConstructorError(
            None, None, f"key {str(keys[second])!r} appears twice", node.value[second][0].start_mark
        )
    return loader.construct_mapping(node, deep=True)


_Yaml12Loader.add_constructor("tag:yaml.org,2002:int", _integer)
_Yaml12Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_document(path: Path) -> object:
    """Return the plain content of a YAML or JSON file (by its suffix)."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read ({error}); expected a YAML or JSON config. Check the path"
        ) from error
    try:
        return parse_json(text, str(path)) if path.suffix == ".json" else parse_yaml(text, str(path))
    except RecursionError:
        raise ConfigError(
            f"{path}: the nesting is too deep to be read; expected a config. Check the path"
        ) from None


def parse_json(text: str, source: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, source))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{source}: line {error.lineno}: {error.msg}; fix the JSON there") from error
    except ValueError as error:  # more digits than Python reads
        raise ConfigError(f"{source}: {error}; fix the JSON") from error


def parse_yaml(text: str, source: str) -> object:
    try:
        return yaml.load(text, Loader=_Yaml12Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        tabbed = "\t" in "".join(text.splitlines()[line - 1 : line])  # it may lie behind the last line
        remedy = "indent with spaces, not tabs" if tabbed else "fix the YAML there"
        # Some are the second half of a sentence.
        problem = f"{error.context}, {error.problem}" if error.problem.startswith("but ") else error.problem
        raise ConfigError(f"{source}: line {line}: {problem}; {remedy}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: {error}; fix the YAML") from error
    except (ValueError, KeyError, AttributeError) as error:  # PyYAML's own, of what a tag does not fit
        raise ConfigError(
            f"{source}: a value does not match its tag, such as !!float ({error}); remove the tag"
        ) from error


def _unique(pairs: list[tuple[str, object]], source: str) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{source}: key {repeated!r} appears twice, expected once; remove one")
    return result
