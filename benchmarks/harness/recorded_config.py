"""The config of a recorded training, as today's trainer has it."""

from trainer.config.load import config_from
from trainer.config.schema import Config
from trainer.errors import ConfigError

# Keys that the trainer had, with the values that it has now for good.
NO_KEYS_ANY_MORE = {
    ("data", "advection1d", "waves"): 2,
    ("optimizer", "beta1"): 0.9,
    ("optimizer", "beta2"): 0.95,
    ("optimizer", "final_fraction"): 0.01,
    ("recipe", "batch_doubles_after"): [],
}


def recorded_config(document: dict, source: str) -> Config:
    """ConfigError where it was trained with another value of such a key."""
    return config_from(_known(document, source), source)


def _known(document: dict, source: str, above: tuple[str, ...] = ()) -> dict:
    known = {}
    for name, value in document.items():
        key = (*above, name)
        if key not in NO_KEYS_ANY_MORE:
            known[name] = _known(value, source, key) if isinstance(value, dict) else value
        elif value != NO_KEYS_ANY_MORE[key]:
            raise ConfigError(
                f"{source}: {'.'.join(key)}: got {value}, which this version of the trainer cannot read. "
                "Check out the version that wrote it"
            )
    return known
