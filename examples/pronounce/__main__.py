"""Learn to pronounce English, from nothing, and record how well: `python examples/pronounce`."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from dictionary import Shares, read, shares
from learning import learned
from measure import measured, pictured
from page import page
from setups import COMPARED, MODELS

HERE = Path(__file__).parent


def main() -> None:
    """Make and measure the models that are asked for, all by default; then write the page."""
    setups = MODELS | COMPARED
    parser = argparse.ArgumentParser(prog="examples/pronounce", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(setups)}")
    parser.add_argument("--epochs", type=int, help="fewer or more than a model's own")
    parser.add_argument("--threads", type=int, default=1, help="one gives the same bytes each time")
    parser.add_argument("--folder", type=Path, default=HERE / "models", help="where models go")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where records go")
    given = parser.parse_args()
    if unknown := [name for name in given.models if name not in setups]:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(setups)}")
    parts = shares(read())
    for name in given.models or setups:
        setup = setups[name]
        if given.epochs is not None:
            setup = replace(setup, options=replace(setup.options, epochs=given.epochs))
        place = learned(name, setup, parts, given.folder, threads=given.threads)
        record(name, place, parts, given.results)
    write_page(given.results)


def record(name: str, place: Path, parts: Shares, results: Path) -> None:
    """Write what a model came to, and its pictures, if that is not done yet."""
    results.mkdir(parents=True, exist_ok=True)
    if (results / f"{name}.json").exists():
        return
    if name in MODELS:
        for end, picture in pictured(place).items():
            (results / f"{name}-{end}").write_text(picture)
    found = measured(place, parts)
    (results / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def write_page(results: Path) -> None:
    """Write the page of all that is recorded."""
    found = {
        name: json.loads((results / f"{name}.json").read_text())
        for name in MODELS | COMPARED
        if (results / f"{name}.json").exists()
    }
    models = {name: each for name, each in found.items() if name in MODELS}
    compared = {name: each for name, each in found.items() if name in COMPARED}
    (results / "README.md").write_text(page(models, compared))


if __name__ == "__main__":
    main()
