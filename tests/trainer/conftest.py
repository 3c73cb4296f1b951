"""Every shape and type in a signature of `trainer` is checked while the tests run."""

import torch
from jaxtyping import install_import_hook

install_import_hook("trainer", "shape_checks.checked")
torch.set_num_threads(1)  # on tiny tensors a second thread is only waited for
