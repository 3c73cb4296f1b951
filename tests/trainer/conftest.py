"""Shapes and types in signatures of `trainer` are checked while the tests run, if beartype is there."""

from importlib.util import find_spec

import torch
from jaxtyping import install_import_hook

if find_spec("beartype"):  # a GPU machine that brings its own torch may not have it
    install_import_hook("trainer", "shape_checks.checked")
torch.set_num_threads(1)  # on tiny tensors a second thread is only waited for
