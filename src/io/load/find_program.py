"""Looks for torch, if the first argument is torch, and for modules. Ends with 3, 4 or 5 for what is missing.

Imports nothing that it looks for: a package may load torch, or start to train.
"""

import importlib.machinery
import importlib.util
import sys

NO_TORCH, NO_MODULE, NO_MAIN = 3, 4, 5


def find(name):
    first, *rest = name.split(".")
    spec = importlib.util.find_spec(first)
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        # By its whole name, a folder without __init__.py would ask for its parent, which is not imported.
        spec = importlib.machinery.PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec


needs_torch, *modules = sys.argv[1:]
if needs_torch == "torch" and find("torch") is None:
    sys.exit(NO_TORCH)
for module in modules:
    found = find(module)
    if found is None:
        sys.exit(NO_MODULE)
    if found.submodule_search_locations is not None and find(f"{module}.__main__") is None:
        sys.exit(NO_MAIN)
