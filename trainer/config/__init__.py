"""Configuration: what there is (schema), how it is read (reader) and which combinations work (rules)."""

from trainer.config.load import config_hash, load_config, to_plain
from trainer.config.schema import Config

__all__ = ["Config", "config_hash", "load_config", "to_plain"]
