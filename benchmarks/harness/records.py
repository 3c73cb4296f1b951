"""Where `npm run records` unpacks what was recorded."""

from __future__ import annotations

from pathlib import Path

from trainer.errors import ConfigError

RECORDS = Path(__file__).resolve().parents[2] / "out" / "records"


def unpacked(path: Path) -> Path:
    """Return the path; ConfigError if it is of a record that is not unpacked."""
    if not path.exists() and path.resolve().is_relative_to(RECORDS):
        raise ConfigError(
            f"{path}: this record does not exist; benchmarks/README.md lists all records. "
            "Run npm run records to unpack them into out/records"
        )
    return path
