"""The type checker of the tests: beartype, with an int accepted where a float is asked for (PEP 484)."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
