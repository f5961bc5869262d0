"""Measure one training in a process of its own, and print one line of JSON.

`train.py` starts it with a job as its only argument. The learned tokens go to a file, to compare.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from adapters import Refusal
from cells import NANOCHAT_PLAIN, Cell
from texts import SEPARATOR, texts_of
from worker import Figures, confine, peak_memory, reason

Run: TypeAlias = Callable[[], Any]

COMPARED = 10_000
"""The number of most common pieces that are compared if nothing is learned."""


@dataclass(frozen=True)
class Trainer:
    """A peer: a function that trains, and one outside the clock that returns its tokens."""

    module: str
    """The module to import first."""
    train: Callable[[list[str], int, str], Any]
    tokens: Callable[[Any], list[bytes]]
    """The learned tokens, in order."""


def train_zeton(texts: list[str], size: int, pattern: str) -> Any:  # noqa: ANN401 - a tokenizer.
    return import_module("zeton").train(texts, size, pattern=pattern)


def tokens_of_zeton(tok: Any) -> list[bytes]:  # noqa: ANN401 - a peer's own type.
    return [tok.token_bytes(rank) for rank in range(256, tok.vocab_size)]


def train_rustbpe(texts: list[str], size: int, pattern: str) -> Any:  # noqa: ANN401 - a peer's own type.
    tok = import_module("rustbpe").Tokenizer()
    tok.train_from_iterator(iter(texts), size, pattern=pattern)
    return tok


def tokens_of_rustbpe(tok: Any) -> list[bytes]:  # noqa: ANN401 - a peer's own type.
    ranks = {rank: bytes(token) for token, rank in tok.get_mergeable_ranks()}
    return [ranks[rank] for rank in range(256, len(ranks))]


def train_tokenizers(texts: list[str], size: int, _: str) -> Any:  # noqa: ANN401 - a peer's own type.
    tokenizers = import_module("tokenizers")
    splits, bytelevel = tokenizers.pre_tokenizers, tokenizers.pre_tokenizers.ByteLevel
    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = splits.Sequence(
        [
            splits.Split(tokenizers.Regex(NANOCHAT_PLAIN), "isolated"),
            bytelevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=bytelevel.alphabet(), show_progress=False
    )
    tok.train_from_iterator(texts, trainer)
    return tok


def tokens_of_tokenizers(tok: Any) -> list[bytes]:  # noqa: ANN401 - a peer's own type.
    spelled = import_module("zeton.tiktoken.published_files").LETTERS.items()
    known = {letter: byte for byte, letter in spelled}
    vocab = tok.get_vocab()
    return [bytes(map(known.__getitem__, token)) for token in sorted(vocab, key=vocab.get)[256:]]


def train_gigatoken(texts: list[str], size: int, pattern: str) -> Any:  # noqa: ANN401 - a peer's own type.
    train = import_module("gigatoken").train_bpe
    try:
        return train("".join(texts).encode(), size, [], pattern=pattern)
    except TypeError as error:
        raise Refusal(f"{error}: it splits by GPT-2's pattern, always") from None


TRAINERS = {
    "zeton": Trainer("zeton.training.api", train_zeton, tokens_of_zeton),
    "rustbpe": Trainer("rustbpe", train_rustbpe, tokens_of_rustbpe),
    "tokenizers": Trainer("tokenizers", train_tokenizers, tokens_of_tokenizers),
    "gigatoken": Trainer(
        "gigatoken", train_gigatoken, lambda trained: list(trained[0].values())[256:]
    ),
}


def main() -> None:
    job = json.loads(sys.argv[1])
    confine(job["cores"])
    with redirect_stdout(sys.stderr):
        outcome = work(job, Cell(**job["cell"]), Path(job["folder"]))
    print(json.dumps(outcome))


def work(job: dict[str, Any], cell: Cell, folder: Path) -> dict[str, Any]:
    """Import, read the texts and measure; return the status, and figures or the reason why not."""
    status = "absent"
    try:
        import_module(TRAINERS[job["peer"]].module)
        status = "fails"
        run, found = prepare(job, cell, folder)
        figures, result = measured(run)
        learned = found(result)
        if cell.task == "pieces":
            figures["pieces"] = len(result)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of PyO3 is no Exception.
        status = "refuses" if isinstance(error, Refusal) else status
        return {"status": status, "reason": reason(error, folder)}
    (folder / job["learned"]).write_text("".join(f"{line}\n" for line in learned))
    return {"status": "ok", "figures": figures}


def prepare(
    job: dict[str, Any], cell: Cell, folder: Path
) -> tuple[Run, Callable[[Any], Iterator[str]]]:
    """Return the function to measure, its texts read already, and a function for its tokens."""
    files = [folder / name for name in job["files"]]
    pattern: str = job["pattern"]
    trainer = TRAINERS[job["peer"]]

    def learned(tok: object) -> Iterator[str]:
        return (token.hex() for token in trainer.tokens(tok))

    if cell.task in ("threads", "pieces"):
        return prepare_count(cell, files, pattern)
    if job["peer"] == "zeton" and cell.task in ("budget", "sizes"):
        zeton = import_module("zeton")
        saved = folder / f"{job['learned']}.zeton"

        def train() -> Any:  # noqa: ANN401 - a peer's own type.
            memory = cell.form or None
            return zeton.train_files(
                files, int(cell.vocab), pattern=pattern, memory=memory, folder=folder
            )

        return train, lambda tok: learned(zeton.load(tok.save(saved)))
    texts = read_texts(files)
    return lambda: trainer.train(texts, int(cell.vocab), pattern), learned


def prepare_count(
    cell: Cell, files: list[Path], pattern: str
) -> tuple[Run, Callable[[Any], Iterator[str]]]:
    zeton = import_module("zeton")

    def common(counts: Any) -> Iterator[str]:  # noqa: ANN401 - zeton's Counts.
        return (f"{count} {piece.hex()}" for piece, count in counts.most_common(COMPARED))

    if cell.task == "pieces":
        folder = files[0].parent
        return lambda: zeton.count_files(files, pattern=pattern, folder=folder), common
    texts, threads = read_texts(files), int(cell.form)
    return lambda: zeton.count_corpus(texts, pattern=pattern, threads=threads), common


def read_texts(files: list[Path]) -> list[str]:
    """Return a file's texts, or the texts that the parts of the corpus are cut into."""
    texts = []
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".texts":
            texts += content.decode().split(SEPARATOR)
        else:
            texts += texts_of(content)
    return texts


def measured(run: Run) -> tuple[Figures, Any]:
    """Run; return seconds, the peak memory, and its increase."""
    gc.collect()
    gc.disable()
    # Reading had a peak of its own, so the kernel's peak is reset if it allows that.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = peak_memory()
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = peak_memory()
    return figures | {"memory": peak - before, "peak": peak}, result


if __name__ == "__main__":
    main()
