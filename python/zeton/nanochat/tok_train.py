"""Train a tokenizer as nanochat does: `python -m zeton.nanochat.tok_train corpus/`."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from zeton import corpus
from zeton.cli import Refusing
from zeton.cli.options.learning import warned
from zeton.cli.options.texts import field_option, paths_argument
from zeton.errors import CorpusError, Error
from zeton.nanochat import RustBPETokenizer, get_base_dir
from zeton.nanochat.folder import shards
from zeton.tokenizer import target_of

PROBE = """\
They've seen that it's 12,345.67 km to the coast, haven't they?
\tif (x[0] != -1) { return "#$%&@"; }
Größe, Ёлка, 東京, 한국어, हिन्दी, عربي 🚲👩‍🚀
"""


def whole_number(text: str) -> int:
    """Read a number that may be written as 2e9."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (number.is_integer() and number >= 1):
        raise click.BadParameter(f"{text!r} is not a whole number above 0.")
    return int(number)


@click.command(
    cls=Refusing,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda option: option.replace("_", "-"),
    },
)
@paths_argument
@click.option(
    "--max-chars",
    type=whole_number,
    default=2_000_000_000,
    show_default=True,
    metavar="N",
    help="Stop reading after this many characters.",
)
@click.option(
    "--doc-cap",
    type=whole_number,
    default=10_000,
    show_default=True,
    metavar="N",
    help="Cut rows after this many characters, and split plain files into texts of this size.",
)
@click.option(
    "--vocab-size",
    type=whole_number,
    default=32768,
    show_default=True,
    metavar="N",
    help="Vocabulary size, including bytes and specials.",
)
@field_option
def tok_train(
    *, paths: tuple[str, ...], max_chars: int, doc_cap: int, vocab_size: int, field: str
) -> None:
    """Train nanochat's tokenizer on files and folders, and save it to nanochat's folder.

    Files are text, .jsonl or .parquet; text and .jsonl may be compressed (.gz, .zst, .xz). Without
    a PATH the corpus is nanochat's own: base_data*/*.parquet in its folder, without the last file.
    """
    files = corpus.files(paths) if paths else dataset()
    folder = get_base_dir() / "tokenizer"
    target_of(folder)  # An unwritable folder is an error before the work.
    click.echo(f"max_chars: {max_chars:,}\ndoc_cap: {doc_cap:,}\nvocab_size: {vocab_size:,}")
    texts = capped_texts(files, field, doc_cap=doc_cap, max_chars=max_chars)
    start = time.perf_counter()
    with warned(quiet=False):
        tokenizer = RustBPETokenizer.train_from_iterator(texts, vocab_size)
    click.echo(f"Training time: {time.perf_counter() - start:.2f}s")
    if tokenizer.decode(tokenizer.encode(PROBE)) != PROBE:
        raise Error("the tokenizer decodes a text to another text; please report this bug")
    tokenizer.save(folder)
    for name, number in described(tokenizer).items():
        click.echo(f"{name}: {number}")


def dataset() -> list[Path]:
    """Return the files of nanochat's corpus, without the last one, which is for validation."""
    files = shards()[:-1]
    if not files:
        raise CorpusError(
            f"{get_base_dir() / 'base_data*'} has fewer than two Parquet files, and the last one "
            "is for validation; give files or folders of text"
        )
    return files


def capped_texts(
    files: Iterable[Path], field: str, *, doc_cap: int, max_chars: int
) -> Iterator[str]:
    """Yield texts of at most `doc_cap` characters, until they have more than `max_chars`.

    A row is cut at `doc_cap` and its rest is skipped. A plain file is split, and all of it is used.
    """
    seen = 0
    for part in corpus.parts(files, field, cut=lambda content: content.rfind(b"\n") + 1):
        if isinstance(part, str):  # Rows come as str, plain files as bytes.
            texts = [part[:doc_cap]]
        else:
            content = part.decode(errors="replace")
            texts = [content[at : at + doc_cap] for at in range(0, len(content), doc_cap)]
        for text in texts:
            seen += len(text)
            yield text
            if seen > max_chars:
                return
    if not seen:
        raise CorpusError("there is no text in the files; give files or folders of text")


def described(tokenizer: RustBPETokenizer) -> dict[str, str]:
    """Return the figures of nanochat's report: bytes per token, without specials."""
    sizes = tokenizer.token_bytes()
    sizes = sizes[sizes > 0]
    return {
        "num_special_tokens": str(len(tokenizer.get_special_tokens())),
        "token_bytes_min": str(sizes.min()),
        "token_bytes_max": str(sizes.max()),
        "token_bytes_mean": f"{sizes.mean():.4f}",
        "token_bytes_std": f"{sizes.std(ddof=1):.4f}",
    }


if __name__ == "__main__":
    tok_train()
