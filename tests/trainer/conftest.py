"""Every shape and type in a signature of `trainer` is checked while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("trainer", "shape_checks.checked")
