"""Switches recording on in each Python process that has this folder on PYTHONPATH."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _run_the_hidden_one() -> None:
    """Run the sitecustomize that would have been imported without this folder, such as a distribution's."""
    others = [folder for folder in sys.path if Path(folder).resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _run_the_hidden_one()
finally:
    if os.environ.get("SPEEDPROOF_RECORD"):
        _package = str(_HERE.parent.parent)
        if _package not in sys.path:
            sys.path.append(_package)  # last, so that it hides nothing
        from speedproof.switch import switch_on

        switch_on(os.environ["SPEEDPROOF_RECORD"])
