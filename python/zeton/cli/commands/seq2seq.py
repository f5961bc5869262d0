"""`zeton seq2seq`: `learn` trains a model on pairs of texts, `run` answers lines with it."""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from zeton.cli.options.files import stdin
from zeton.cli.options.groups import Group
from zeton.cli.options.learning import quiet_option
from zeton.cli.options.tokenizer import load
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import say
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.seq2seq import Report, StepProgress, Tokens

POSITIVE = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1)

device_option = click.option(
    "--device", default="cpu", show_default=True, metavar="NAME", help="Device: cpu or cuda."
)
threads_option = click.option(
    "--threads",
    type=POSITIVE,
    default=1,
    show_default=True,
    metavar="N",
    help="Threads of torch; with 1 a run always gives the same bytes.",
)

SHAPE = [
    click.option(
        "--cell", type=click.Choice(["rnn", "gru", "lstm"]), default="gru", help="Recurrent cell."
    ),
    click.option(
        "--embedding-size", type=POSITIVE, default=64, help="Numbers in the embedding of an id."
    ),
    click.option("--size", type=POSITIVE, default=256, help="Size of the hidden state."),
    click.option("--layers", type=POSITIVE, default=1, help="Layers of encoder and decoder."),
    click.option(
        "--decoder-layers", type=POSITIVE, help="Layers of the decoder, if fewer than --layers."
    ),
    click.option(
        "--bidirectional/--one-way", default=True, help="Directions in which the encoder reads."
    ),
    click.option(
        "--attention",
        type=click.Choice(["additive", "none"]),
        default="additive",
        help="Attention of the decoder to the source text.",
    ),
    click.option(
        "--dropout",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.2,
        help="Dropout of embeddings, between layers and before the logits.",
    ),
    click.option("--backward", is_flag=True, help="Write answers from last token to first."),
]
OPTIONS = [
    click.option("--epochs", type=POSITIVE, default=20, help="Passes over all pairs."),
    click.option("--batch", type=POSITIVE, default=128, help="Batch size: pairs per step."),
    click.option("--learning-rate", type=float, default=0.002, help="Highest learning rate."),
    click.option(
        "--warmup", type=SHARE, default=0.05, help="Share of steps in which the rate rises."
    ),
    click.option("--clip", type=float, default=1.0, help="Largest norm of gradients."),
    click.option(
        "--label-smoothing",
        type=SHARE,
        default=0.0,
        help="Share of a target's probability spread over all ids.",
    ),
    click.option(
        "--teacher-forcing",
        type=SHARE,
        default=1.0,
        help="Teacher-forcing ratio in the last epoch; it is 1.0 in the first.",
    ),
    click.option(
        "--token-dropout",
        type=SHARE,
        default=0.0,
        help="Share of decoder inputs replaced by the begin token.",
    ),
    click.option(
        "--ema-decay",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        help="Decay of the moving average (EMA) of the weights; 0 uses no average.",
    ),
    click.option(
        "--best-by",
        type=click.Choice(["loss", "errors"]),
        default="loss",
        help="Validation figure that chooses the best epoch.",
    ),
    click.option(
        "--patience", type=POSITIVE, default=5, help="Stop after N epochs without improvement."
    ),
    click.option(
        "--checkpoint-every", type=POSITIVE, default=1000, help="Steps between checkpoints."
    ),
    click.option(
        "--seed", type=click.IntRange(0, (1 << 31) - 1), default=0, help="Seed of all randomness."
    ),
]


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a model's shape and of its training."""
    for option in reversed([*SHAPE, *OPTIONS]):
        command = option(command)
    return command


@click.group(
    cls=Group,
    epilog=examples(
        "zeton seq2seq learn pairs.tsv -o model",
        "zeton seq2seq run model < questions.txt",
    ),
)
def seq2seq() -> None:
    """Train a model on pairs of texts, and run it."""


@seq2seq.command(
    context_settings={"show_default": True},
    epilog=examples(
        "zeton seq2seq learn pairs.tsv -o model --epochs 10",
        "zeton seq2seq learn pairs.tsv -o model --cell lstm --layers 2 --device cuda",
    ),
)
@click.argument("pairs", metavar="PAIRS")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="Folder of the model.")
@click.option(
    "--source-tokenizer", metavar="TOKENIZER", help="Tokenizer of source texts; trained if absent."
)
@click.option(
    "--target-tokenizer", metavar="TOKENIZER", help="Tokenizer of target texts; trained if absent."
)
@click.option(
    "--source-vocab",
    type=click.IntRange(258),
    default=512,
    help="Vocabulary size of a trained source tokenizer; 258 is bytes and two specials.",
)
@click.option(
    "--target-vocab",
    type=click.IntRange(258),
    default=512,
    help="Vocabulary size of a trained target tokenizer.",
)
@click.option("--validation", type=SHARE, default=0.05, help="Share of sources held out.")
@model_options
@device_option
@threads_option
@click.option("--restart", is_flag=True, help="Start over: discard the checkpoint.")
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
    **options: Any,  # noqa: ANN401 - fields of Shape and Options.
) -> None:
    """Train a model on PAIRS, a file with a source text, a tab and a target text on each line.

    Bad lines are skipped, named and counted. Resumable: run the same command again to continue.
    """
    from dataclasses import fields

    from zeton import seq2seq as package

    given = package.read_pairs(pairs)
    if not quiet:
        for warning in given.warnings():
            say(warning)
    training, held_out = given.partition(validation)
    if options["attention"] == "none":
        options["attention"] = None
    shape = package.Shape(**{each.name: options.pop(each.name) for each in fields(package.Shape)})
    set_threads(threads)
    tokens = (
        tokens_of(training, source_tokenizer, target_tokenizer, source_vocab, target_vocab)
        if len(training)
        else None
    )
    model, report = package.learn(
        training,
        validation=held_out,
        out=out,
        tokens=tokens,
        shape=shape,
        options=package.Options(**options),
        device=device,
        restart=restart,
        progress=False if quiet else sys.stderr.isatty() or epoch_lines(),
    )
    summary = {
        "path": out,
        "pairs": len(training),
        "bad_lines": given.bad,
        "parameters": sum(each.numel() for each in model.parameters()),
        "seconds": round(report.seconds, 1),
    } | best_of(report)
    if as_json:
        click.echo(json.dumps(summary))
        return
    wrong = f"{100 * summary['text_error']:.1f} % wrong"
    bits = f"{summary['bits_per_byte']:.3f} bits per byte"
    click.echo(f"{visible(out)}: {len(training)} pairs, epoch {summary['epoch']}: {wrong}, {bits}")


def set_threads(threads: int) -> None:
    """Set the number of torch's threads."""
    import torch

    torch.set_num_threads(threads)


def tokens_of(
    pairs: Any,  # noqa: ANN401 - `Pairs`, which is imported late.
    source: str | None,
    target: str | None,
    source_vocab: int,
    target_vocab: int,
) -> "Tokens":
    """Return the named tokenizers; train each one that has no name."""
    from zeton.seq2seq import Tokens

    trained = Tokens.train(pairs, source_vocab, target_vocab)
    return Tokens.of(
        trained.source if source is None else load(source),
        trained.target if target is None else load(target),
    )


def best_of(report: "Report") -> dict[str, Any]:
    """Return the results of the best epoch."""
    from dataclasses import asdict

    return asdict(report.epochs[report.best - 1])


def epoch_lines() -> Any:  # noqa: ANN401 - a listener.
    """Return a progress function that prints a line after each epoch, without a terminal."""
    printed = 0

    def tell(now: "StepProgress") -> None:
        nonlocal printed
        if now.epoch > printed and now.text_error is not None:
            printed = now.epoch
            wrong = f"{100 * now.text_error:.1f} % wrong"
            say(f"epoch {now.epoch}, step {now.step} of {now.steps}: loss {now.loss:.3f}, {wrong}")

    return tell


@seq2seq.command(
    epilog=examples(
        "zeton seq2seq run model < questions.txt", "zeton seq2seq run model --beam 4 < words.txt"
    )
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--beam", type=POSITIVE, default=1, show_default=True, help="Width of the beam search."
)
@click.option(
    "--batch",
    type=POSITIVE,
    default=None,
    metavar="N",
    help="Lines per batch: 256, or 1 on a terminal.",
)
@click.option(
    "--length-max",
    type=POSITIVE,
    default=None,
    metavar="N",
    help="Largest number of tokens in an answer.",
)
@click.option("--stream", is_flag=True, help="Write each answer while it is generated.")
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
    """Answer each line of standard input by the MODEL in a folder."""
    from zeton import seq2seq as package

    if stream and beam > 1:
        raise package.Seq2SeqError("--stream is greedy and --beam is not; give only one of them")
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
    """Read standard input; warn of a line that is not UTF-8, and replace its bad bytes."""
    for number, line in enumerate(stdin(), 1):
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield bare.decode()
        except UnicodeDecodeError:
            say(f"line {number} is not UTF-8; its bad bytes became U+FFFD")
            yield bare.decode(errors="replace")
