"""The library FNO, or what to do where it is not installed."""

try:
    from neuralop.models import FNO
except ModuleNotFoundError as error:
    raise SystemExit(
        f"{error.name} is not installed; run pip install --group benchmarks/pyproject.toml:benchmarks"
    ) from error

__all__ = ["FNO"]
