"""python -m speedproof.profile FOLDER: sums up the traces that a launch left, in FOLDER/profile.json."""

from __future__ import annotations

import argparse
from pathlib import Path

from speedproof.profile.summary import NAME, summarize, write_summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    write_summary(summarize(folder), folder / NAME)


if __name__ == "__main__":
    main()
