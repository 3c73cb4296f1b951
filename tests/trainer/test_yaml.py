"""What a value of a config means, by a table that tests/config/parse/yaml-scalars.test.ts reads as well."""

import json
from pathlib import Path

import pytest

from trainer.config.yaml12 import parse_yaml
from trainer.errors import ConfigError

TABLE = json.loads((Path(__file__).parents[1] / "fixtures/yaml-scalars.json").read_text())


@pytest.mark.parametrize(("text", "value"), TABLE["means"])
def test_a_value_means_the_same_to_both_languages(text, value):
    found = parse_yaml(f"a: {text}", "x.yaml")["a"]
    assert found == value
    # JavaScript has one kind of number, and Python counts True as 1.
    kinds = [type(kind) if isinstance(kind, bool | str | None) else float for kind in (found, value)]
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("text", TABLE["refused"])
def test_what_one_language_refuses_the_other_refuses_too(text):
    with pytest.raises(ConfigError, match=r"^x\.yaml: "):
        parse_yaml(f"a: {text}", "x.yaml")
