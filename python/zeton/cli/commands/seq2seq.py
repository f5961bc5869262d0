"""`zeton seq2seq`: pairs of texts in, a model out; then lines in, answers out."""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from zeton.cli.options.files import stdin
from zeton.cli.options.learning import quiet_option, say
from zeton.cli.options.tokenizer import load
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.seq2seq import Now, Report, Tokens

POSITIVE = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1)

device_option = click.option(
    "--device", default="cpu", show_default=True, metavar="NAME", help="cpu, or cuda."
)
threads_option = click.option(
    "--threads",
    type=POSITIVE,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads of torch; one gives the same bytes every time.",
)

SHAPE = [
    click.option("--cell", type=click.Choice(["rnn", "gru", "lstm"]), default="gru"),
    click.option("--embedding", type=POSITIVE, default=64, help="Numbers that stand for an id."),
    click.option("--size", type=POSITIVE, default=256, help="Numbers of a hidden state."),
    click.option("--layers", type=POSITIVE, default=1),
    click.option("--decoder-layers", type=POSITIVE, help="If fewer; by default as many."),
    click.option(
        "--bidirectional/--one-way", default=True, help="Whether texts are read from both ends."
    ),
    click.option("--attention", type=click.Choice(["additive", "none"]), default="additive"),
    click.option("--dropout", type=click.FloatRange(0, 1, max_open=True), default=0.2),
    click.option("--backward", is_flag=True, help="Write answers from their last token on."),
]
OPTIONS = [
    click.option("--epochs", type=POSITIVE, default=20, help="How often all pairs are learned."),
    click.option("--batch", type=POSITIVE, default=128, help="Pairs a step."),
    click.option("--rate", type=float, default=0.002, help="The learning rate at its highest."),
    click.option("--warmup", type=SHARE, default=0.05, help="Share of steps in which it rises."),
    click.option("--clip", type=float, default=1.0, help="The largest norm of gradients."),
    click.option("--smoothing", type=SHARE, default=0.0, help="Weight that goes to all ids alike."),
    click.option(
        "--forcing",
        type=SHARE,
        default=1.0,
        help="Share of the target's ids that steps are told in the last epoch; in the first, all.",
    ),
    click.option(
        "--hiding", type=SHARE, default=0.0, help="Share of those ids that is hidden from steps."
    ),
    click.option(
        "--average",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        help="How much of the weights' running average stays at a step.",
    ),
    click.option(
        "--best-by", type=click.Choice(["loss", "errors"]), default="loss", help="Of validation."
    ),
    click.option("--patience", type=POSITIVE, default=5, help="Epochs without gain to stop after."),
    click.option("--keep", type=POSITIVE, default=1000, help="Steps between checkpoints."),
    click.option("--seed", type=click.IntRange(0, (1 << 31) - 1), default=0),
]


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what a model is made of, and how it learns."""
    for option in reversed([*SHAPE, *OPTIONS]):
        command = option(command)
    return command


@click.group()
def seq2seq() -> None:
    """Turn texts into texts, by a model that learned it from pairs."""


@seq2seq.command(context_settings={"show_default": True})
@click.argument("pairs", metavar="PAIRS")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Where the model is saved.")
@click.option(
    "--source-tokenizer", metavar="TOKENIZER", help="One for the first texts, in place of a new."
)
@click.option(
    "--target-tokenizer", metavar="TOKENIZER", help="One for the second texts, in place of a new."
)
@click.option(
    "--source-vocab",
    type=click.IntRange(258),
    default=512,
    help="Ids of a new tokenizer for the first texts; 258 are bytes.",
)
@click.option(
    "--target-vocab",
    type=click.IntRange(258),
    default=512,
    help="Ids of a new tokenizer for the second texts.",
)
@click.option("--validation", type=SHARE, default=0.05, help="Share to validate with.")
@model_options
@device_option
@threads_option
@click.option("--restart", is_flag=True, help="Do not go on from FOLDER, but begin again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
def learn(
    *,
    pairs: str,
    out: str,
    source_tokenizer: str | None,
    target_tokenizer: str | None,
    source_vocab: int,
    target_vocab: int,
    validation: float,
    device: str,
    threads: int,
    restart: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Learn from PAIRS, a file with a text, a tab and what it should become on each line.

    Lines that are no pair are left out, named and counted. Stopped at any moment, the same command
    goes on from FOLDER.
    """
    from dataclasses import fields

    from zeton import seq2seq as package

    given = package.read_pairs(pairs)
    if not quiet:
        for remark in given.remarks():
            say(remark)
    kept, held = given.parted(validation)
    if options["attention"] == "none":
        options["attention"] = None
    shape = package.Shape(**{each.name: options.pop(each.name) for each in fields(package.Shape)})
    set_threads(threads)
    tokens = (
        tokens_of(kept, source_tokenizer, target_tokenizer, source_vocab, target_vocab)
        if len(kept)
        else None
    )
    model, report = package.learn(
        kept,
        validation=held,
        out=out,
        tokens=tokens,
        shape=shape,
        options=package.Options(**options),
        device=device,
        restart=restart,
        progress=False if quiet else sys.stderr.isatty() or spoken(),
    )
    summary = {
        "path": out,
        "pairs": len(kept),
        "bad_lines": given.bad,
        "parameters": sum(each.numel() for each in model.parameters()),
        "seconds": round(report.seconds, 1),
    } | best_of(report)
    if as_json:
        click.echo(json.dumps(summary))
        return
    wrong = f"{100 * summary['text_error']:.1f} % wrong"
    bits = f"{summary['bits_per_byte']:.3f} bits per byte"
    click.echo(f"{visible(out)}: {len(kept)} pairs, epoch {summary['epoch']}: {wrong}, {bits}")


def set_threads(threads: int) -> None:
    """Let torch use so many threads."""
    import torch

    torch.set_num_threads(threads)


def tokens_of(
    pairs: Any,  # noqa: ANN401 - `Pairs`, which is imported late.
    source: str | None,
    target: str | None,
    source_vocab: int,
    target_vocab: int,
) -> "Tokens":
    """Return the tokenizers that are named, and train those that are not."""
    from zeton.seq2seq import Tokens

    trained = Tokens.train(pairs, source_vocab, target_vocab)
    return Tokens.of(
        trained.source if source is None else load(source),
        trained.target if target is None else load(target),
    )


def best_of(report: "Report") -> dict[str, Any]:
    """Return what the epoch that was kept came to."""
    from dataclasses import asdict

    return asdict(report.epochs[report.best - 1])


def spoken() -> Any:  # noqa: ANN401 - a listener.
    """Return what says a line after each epoch, where there is no terminal for a bar."""
    said = 0

    def tell(now: "Now") -> None:
        nonlocal said
        if now.epoch > said and now.text_error is not None:
            said = now.epoch
            wrong = f"{100 * now.text_error:.1f} % wrong"
            say(f"epoch {now.epoch}, step {now.step} of {now.steps}: loss {now.loss:.3f}, {wrong}")

    return tell


@seq2seq.command()
@click.argument("model", metavar="MODEL")
@click.option("--beam", type=POSITIVE, default=1, show_default=True, help="Candidates a step.")
@click.option(
    "--batch",
    type=POSITIVE,
    default=None,
    metavar="N",
    help="Lines that are answered at once: 256, and 1 where somebody types.",
)
@click.option(
    "--length-max", type=POSITIVE, default=None, metavar="N", help="Tokens of an answer at most."
)
@click.option("--stream", is_flag=True, help="Write each answer as it is found, greedily.")
@device_option
@threads_option
def run(
    *,
    model: str,
    beam: int,
    batch: int | None,
    length_max: int | None,
    stream: bool,
    device: str,
    threads: int,
) -> None:
    """Answer the lines of standard input by the MODEL in a folder, a line each."""
    from zeton import seq2seq as package

    if stream and beam > 1:
        raise package.Seq2SeqError("--stream finds one answer, greedily; leave out --beam")
    set_threads(threads)
    loaded = package.load(model, device=device)
    lines = read_lines()
    if stream:
        for line in lines:
            for part in loaded.stream(line, length_max=length_max):
                click.echo(visible(part), nl=False)
            click.echo()
        return
    size = batch or (1 if stdin().isatty() else 256)
    while some := list(islice(lines, size)):
        for answer in loaded.generate(some, beam=beam, length_max=length_max, batch=size):
            click.echo(visible(answer))


def read_lines() -> Iterator[str]:
    """Read standard input; a line that is not UTF-8 is named, and its bad bytes are replaced."""
    for number, line in enumerate(stdin(), 1):
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield bare.decode()
        except UnicodeDecodeError:
            say(f"line {number} is not UTF-8; what is not is replaced")
            yield bare.decode(errors="replace")
