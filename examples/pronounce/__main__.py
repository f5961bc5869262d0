"""Learn to pronounce English, from nothing, and record how well: `python examples/pronounce`."""

import argparse
from dataclasses import replace
from pathlib import Path

from dictionary import read, shares
from learning import learned
from setups import COMPARED, MODELS

HERE = Path(__file__).parent


def main() -> None:
    """Make the models that are asked for, all by default."""
    setups = MODELS | COMPARED
    parser = argparse.ArgumentParser(prog="examples/pronounce", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"some of {', '.join(setups)}")
    parser.add_argument(
        "--folder", type=Path, default=HERE / "models", help="where models are kept"
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="one gives the same bytes every time"
    )
    parser.add_argument("--epochs", type=int, help="fewer or more than a model's own")
    given = parser.parse_args()
    parts = shares(read())
    for name in given.models or setups:
        setup = setups[name]
        if given.epochs is not None:
            setup = replace(setup, options=replace(setup.options, epochs=given.epochs))
        learned(name, setup, parts, given.folder, threads=given.threads)


if __name__ == "__main__":
    main()
