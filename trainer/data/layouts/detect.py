"""Which layout a file has, by its keys and not by its name."""

from collections.abc import Callable
from pathlib import Path

from trainer.data.layouts import cfd, darcy, grouped, incompressible, scalar_1d
from trainer.data.layouts.field_file import FieldFile
from trainer.data.layouts.stored import open_hdf5
from trainer.errors import ConfigError

KNOWN = (
    "scalar 1-D (tensor, x-coordinate, t-coordinate), Darcy (nu, tensor), flow (density, pressure, Vx), "
    "incompressible flow (velocity, particles, force, t) or groups 0000, 0001, ..."
)


def open_field_file(path: Path) -> FieldFile:
    """Check a file of any known layout and return its description; ConfigError names file and key."""
    with open_hdf5(path) as file:
        keys, has_groups = set(file), grouped.is_grouped(file)
    layouts: dict[str, Callable[[Path], FieldFile]] = {}
    if "tensor" in keys or "nu" in keys:
        is_darcy = bool(keys & {"nu", "y-coordinate"})
        name = ", ".join(sorted(keys & darcy.KEYS))
        layouts[name] = darcy.describe if is_darcy else scalar_1d.describe
    if keys & cfd.KEYS:
        layouts[", ".join(sorted(keys & cfd.KEYS))] = cfd.describe
    if keys & incompressible.KEYS:
        layouts[", ".join(sorted(keys & incompressible.KEYS))] = incompressible.describe
    if has_groups:
        layouts["0000, ..."] = grouped.describe
    if len(layouts) > 1:
        raise ConfigError(
            f"{path}: holds several layouts, {' and '.join(layouts)}, expected one per file; split the file"
        )
    if not layouts:
        found = ", ".join(sorted(keys)) or "nothing"
        raise ConfigError(
            f"{path}: no dataset tensor, found {found}; expected a layout of PDEBench: {KNOWN}. "
            "Convert it, move it out of data.root, or set data.<task>.files for every task"
        )
    (describe,) = layouts.values()
    return describe(path)
