"""Train models that pronounce English, and record their errors: `python examples/pronounce`."""

import argparse
import hashlib
import json
from dataclasses import replace
from pathlib import Path

from dictionary import read, shares
from learning import count_ngrams, train_models
from measure import draw_pictures, measure_ensemble, measure_model
from page import page
from setups import COMPARED, MODELS, TOGETHER
from zeton.seq2seq import load
from zeton.seq2seq.model import WEIGHTS

HERE = Path(__file__).parent


def main() -> None:
    """Train and measure the named models, by default all; then write the page of results."""
    setups = MODELS | COMPARED
    names = [*MODELS, *TOGETHER, *COMPARED]
    parser = argparse.ArgumentParser(prog="examples/pronounce", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"one of {', '.join(names)}")
    parser.add_argument("--epochs", type=int, help="number of epochs, in place of each setup's")
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of torch; with 1 a run always gives the same bytes",
    )
    parser.add_argument("--folder", type=Path, default=HERE / "models", help="folder of models")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of results")
    given = parser.parse_args()
    if unknown := [name for name in given.models if name not in names]:
        parser.error(f"there is no model {unknown[0]!r}; there are {', '.join(names)}")
    parts = shares(read())

    if given.epochs is not None:
        setups = {
            name: replace(each, options=replace(each.options, epochs=given.epochs))
            for name, each in setups.items()
        }

    given.results.mkdir(parents=True, exist_ok=True)
    for name in given.models or names:
        models = {each: setups[each] for each in TOGETHER.get(name, [name])}
        places = train_models(models, parts, given.folder, threads=given.threads)
        record = given.results / f"{name}.json"
        weights = [hashlib.sha256((each / WEIGHTS).read_bytes()).hexdigest() for each in places]
        if record.exists() and json.loads(record.read_text()).get("weights") == weights:
            print(f"{name}: measured before")
            continue
        if name in TOGETHER:
            counts, seconds = count_ngrams(load(places[0]).tokens, parts, given.folder)
            found = measure_ensemble(places, counts, parts) | {"counted_seconds": seconds}
        else:
            if name in MODELS:
                write_pictures(name, places[0], given.results)
            found = measure_model(places[0], parts)
        record.write_text(json.dumps(found | {"weights": weights}, indent=1) + "\n")
        print(f"{name}: {100 * found['beam_5']['word_error']:.1f} % of words wrong, beam 5")
    write_page(given.results)


def write_pictures(name: str, place: Path, results: Path) -> None:
    """Write the loss curve of a model, and its attention."""
    for end, picture in draw_pictures(place).items():
        (results / f"{name}-{end}").write_text(picture)


def write_page(results: Path) -> None:
    """Write the page of all recorded results."""
    kinds = [
        {
            name: json.loads((results / f"{name}.json").read_text())
            for name in kind
            if (results / f"{name}.json").exists()
        }
        for kind in (MODELS, TOGETHER, COMPARED)
    ]
    (results / "README.md").write_text(page(*kinds))


if __name__ == "__main__":
    main()
