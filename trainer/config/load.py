"""A config file and its overrides into a Config, and back into plain values."""

import copy
import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from trainer.config.reader import Reader
from trainer.config.rules import broken_rules
from trainer.config.schema import Config
from trainer.config.yaml12 import parse_yaml, read_document
from trainer.data.tasks import TASKS
from trainer.errors import ConfigError, Problem

ALWAYS_WRITTEN = ("advection1d", "darcy2d")  # tasks that every config has had from the first on


def load_config(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Return the resolved config; raise ConfigError with every problem found."""
    own = read_document(path)
    if own is None:
        own = {}
    document = own
    for override in overrides:
        document = _override(document, override)
    return config_from(document, str(path), own)


def config_from(document: object, source: str, own: object = None) -> Config:
    """Return the config that plain values mean; problems name `source`, or --set if `own` has them not."""
    config, problems = _read(document)
    if problems:
        of_source = problems if own is None else _read(own)[1]
        sources = [source if problem in of_source else "--set" for problem in problems]
        named = [f"{problem.key or 'top level'}: {problem.text}" for problem in problems]
        raise ConfigError(*map(": ".join, zip(sources, named, strict=True)))
    return config


def _read(document: object) -> tuple[Config, list[Problem]]:
    reader = Reader()
    config = reader.section(Config, document, "")
    return config, reader.problems or list(broken_rules(config))


def to_plain(config: Config) -> dict[str, object]:
    """The config as JSON would hold it.

    Left out are `files` and `held_gigabytes` where they are None, and tasks that came later where the config
    neither trains nor sets them: otherwise the hash of every older config would change.
    """
    plain = json.loads(json.dumps(dataclasses.asdict(config), allow_nan=False))
    if plain["data"]["held_gigabytes"] is None:
        del plain["data"]["held_gigabytes"]
    for name, task in TASKS.items():
        if plain["data"][name].get("files", "") is None:
            del plain["data"][name]["files"]
        is_unused = name not in config.data.tasks and getattr(config.data, name) == task.settings()
        if is_unused and name not in ALWAYS_WRITTEN:
            del plain["data"][name]
    return plain


def config_hash(config: Config) -> str:
    return hashlib.sha256(json.dumps(to_plain(config), sort_keys=True).encode()).hexdigest()[:16]


def _override(document: object, override: str) -> object:
    key, equals, text = override.partition("=")
    if not equals or not all(key.split(".")):
        raise ConfigError(f'--set: got "{override}", expected section.key=value such as train.updates=200')
    changed = copy.deepcopy(document)
    *sections, name = key.split(".")
    place = changed
    for section in sections:
        if not isinstance(place, dict):
            break
        place = place.setdefault(section, {})
    if not isinstance(place, dict):
        raise ConfigError(
            f'--set: got "{override}", but {".".join(sections)} is not a section; '
            "expected section.key=value such as train.updates=200"
        )
    place[name] = parse_yaml(text, f"--set {key}")
    return changed
