"""What is found by being there: a file or folder of a package for each task, each loss term, each switch."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def discovered(
    package: str, path: Iterable[str], attribute: str, names: Callable[[Any], Iterable[str]]
) -> Iterator[Any]:
    """Yield `attribute` of each module of a package.

    A module whose name starts with _ is passed over. TypeError where one has no such attribute, or a name
    that another one has: a copy that was not renamed would take its place.
    """
    taken: dict[str, str] = {}
    for found in pkgutil.iter_modules(path):
        if found.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{found.name}")
        if not hasattr(module, attribute):
            raise TypeError(
                f"{module.__file__}: has no {attribute}, expected one in every file of this folder. "
                "Add it, or start the file's name with _ if it only helps other files"
            )
        member = getattr(module, attribute)
        for name in names(member):
            if name in taken:
                raise TypeError(
                    f'{module.__file__}: its {attribute} has the name "{name}", which {taken[name]} '
                    "already uses; rename one of them"
                )
            taken[name] = str(module.__file__)
        yield member
