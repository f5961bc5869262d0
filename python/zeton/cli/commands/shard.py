"""`zeton shard`: corpus in, shards of ids out; also checks them and says what is in them."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import zeton
from zeton.cli.options.learning import quiet_option, say
from zeton.cli.options.texts import field_option, on_error_option, paths_argument
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.text.escape import visible
from zeton.work.executor import EXECUTORS

POSITIVE = click.IntRange(min=1)
UNITS = {"K": 10**3, "M": 10**6, "B": 10**9}


def read_tokens(_: click.Context, __: click.Parameter, given: str) -> int:
    """Read `--shard-size 100M`.

    >>> read_tokens(None, None, "100M"), read_tokens(None, None, "64")
    (100000000, 64)
    """
    number, unit = given, 1
    if given[-1:].upper() in UNITS:
        number, unit = given[:-1], UNITS[given[-1].upper()]
    if not (number.isascii() and number.isdigit()):
        raise click.BadParameter(f"{given!r} is no number of tokens, such as 100M")
    return int(number) * unit


def read_end(_: click.Context, __: click.Parameter, given: str | None) -> bytes:
    r"""Read `--texts-end-with '\x1e'`: backslashes are those of Python.

    >>> read_end(None, None, r"\x1e"), read_end(None, None, "<|end|>é")
    (b'\x1e', b'<|end|>\xc3\xa9')
    """
    plain = (given or "").encode(errors="surrogateescape")
    if b"\\" not in plain:
        return plain
    try:
        return plain.decode("unicode_escape").encode("latin-1")
    except ValueError:
        raise click.BadParameter(f"{given!r} has a backslash that says nothing") from None


@click.command()
@paths_argument
@tokenizer_option
@click.option("-o", "--out", metavar="DIR", help="The folder for the shards.")
@click.option(
    "--format",
    type=click.Choice(["npy", "bin", "megatron", "llmc", "parquet"]),
    default="bin",
    show_default=True,
    help="What is written; bin is bare ids, as nanoGPT reads them.",
)
@field_option
@click.option(
    "--texts-end-with",
    metavar="BYTES",
    callback=read_end,
    help=r"What ends a text in a plain file, such as '\x1e'. By default a file is one text.",
)
@special_option
@click.option("--bos", metavar="ID|NAME", help="What to put before each text.")
@click.option("--eos", metavar="ID|NAME", help="What to put after each text.")
@click.option(
    "--shard-size",
    default="100M",
    show_default=True,
    metavar="TOKENS",
    callback=read_tokens,
    help="The tokens of a shard.",
)
@click.option("--shuffle", type=int, metavar="SEED", help="Shuffle the texts.")
@click.option(
    "--validation", default=0.0, metavar="SHARE", help="A share of the texts to hold out, as 0.01."
)
@click.option("--validation-seed", default=0, metavar="SEED", help="To hold out others.")
@click.option(
    "--chat",
    metavar="TEMPLATE",
    help="Lines are chats: chatml, nanochat, a file of JSON, or `tokenizer` for its own.",
)
@click.option("--max-tokens", type=POSITIVE, metavar="N", help="Shorten chats to so many tokens.")
@click.option("--pack", type=POSITIVE, metavar="LENGTH", help="Write rows of so many tokens.")
@click.option(
    "--pad", metavar="ID|NAME", help="Keep texts whole in rows, and fill rows with this id."
)
@on_error_option
@click.option("--threads", type=POSITIVE, metavar="N", help="Threads to encode with.")
@click.option(
    "--executor",
    type=click.Choice(EXECUTORS),
    default="local",
    show_default=True,
    help="Encode on this machine or on a Ray cluster (RAY_ADDRESS, or this machine).",
)
@click.option("--workers", type=POSITIVE, metavar="N", help="Units to encode at once on Ray.")
@click.option(
    "--checkpoint-every",
    default="256MB",
    show_default=True,
    metavar="SIZE",
    help="Save a checkpoint after every SIZE of text.",
)
@click.option("--restart", is_flag=True, help="Start over: discard the shards in DIR.")
@click.option("--verify", metavar="DIR", help="Check shards; with a corpus, encode it again.")
@click.option("--stat", metavar="DIR", help="Print the tokens of shards by source.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
def shard(
    *,
    paths: tuple[str, ...],
    name: str,
    out: str | None,
    specials: Specials,
    verify: str | None,
    stat: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Encode the texts of files and folders into shards of ids, for training.

    Files are text, .jsonl or .parquet; text and .jsonl may also be .gz, .zst or .xz. A PATH may
    be a glob. Resumable: run the same command again to continue.
    """
    if sum(each is not None for each in (out, verify, stat)) != 1:
        raise zeton.Error("give one of --out, --verify and --stat, each with a folder")
    if stat is not None:
        print_sources(zeton.shards.Manifest.read(Path(stat)), as_json=as_json)
    elif verify is not None:
        check(verify, paths, name, as_json=as_json)
    elif not paths:
        raise zeton.Error("there is nothing to make shards of; give files or folders of text")
    else:
        options |= {"allowed_special": specials or None, "on_warning": str if quiet else say}
        options["progress"] = not quiet and sys.stderr.isatty()
        with resume_hint(Path(out or "")):
            manifest = zeton.shards.write(paths, tokenizer=load(name), out=out or "", **options)
        print_summary(manifest, out or "", as_json=as_json)


@contextmanager
def resume_hint(out: Path) -> Iterator[None]:
    """Say after Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / ".checkpoint" / "state.json").exists():
            say(f"progress is saved in {out}; run the same command to resume")
        else:
            say("stopped before the first checkpoint; run the same command to start over")
        raise


def check(folder: str, paths: tuple[str, ...], name: str, *, as_json: bool) -> None:
    """Check shards; say each thing that is wrong."""
    context = click.get_current_context()
    is_named = context.get_parameter_source("name") is not click.core.ParameterSource.DEFAULT
    tokenizer = load(name) if is_named or paths else None
    wrong = zeton.shards.verify(folder, tokenizer=tokenizer, paths=paths or None)
    manifest = zeton.shards.Manifest.read(Path(folder))
    if as_json:
        told = {"path": folder, "files": len(manifest.files()), "wrong": wrong}
        click.echo(json.dumps(told | {"encoded": bool(paths)}))
    for line in wrong[:-1]:
        say(line)
    if wrong:
        raise zeton.errors.ShardError(wrong[-1])
    if as_json:
        return
    encoded = ", and so is the corpus when it is encoded again" if paths else ""
    click.echo(f"{visible(folder)}: {len(manifest.files())} files are as they should be{encoded}")


def print_summary(manifest: "zeton.shards.Manifest", out: str, *, as_json: bool) -> None:
    """Print what was made."""
    shards = sum(len(split["shards"]) for split in manifest.splits.values())
    counts = {"path": out, "shards": shards, "texts": manifest.texts, "tokens": manifest.tokens}
    if as_json:
        click.echo(json.dumps(counts))
    else:
        said = f"{manifest.tokens} tokens of {manifest.texts} texts in {shards} shards"
        click.echo(f"{visible(out)}: {said}")


def print_sources(manifest: "zeton.shards.Manifest", *, as_json: bool) -> None:
    """Print tokens, texts and bytes by source and by split."""
    sources = manifest.sources()
    splits = {
        name: {"texts": split["texts"], "tokens": split["tokens"], "shards": len(split["shards"])}
        for name, split in manifest.splits.items()
    }
    if as_json:
        click.echo(json.dumps({"sources": sources, "splits": splits}))
        return
    total = {
        key: sum(of[key] for of in sources.values())
        for key in ("files", "texts", "tokens", "bytes")
    }
    click.echo("tokens\ttexts\tbytes\tbytes/token\tsource")
    for source, of in [*sources.items(), ("total", total)]:
        ratio = f"{of['bytes'] / of['tokens']:.3f}" if of["tokens"] else "-"
        click.echo(f"{of['tokens']}\t{of['texts']}\t{of['bytes']}\t{ratio}\t{visible(source)}")
    for name, split in splits.items():
        said = f"{split['tokens']} tokens of {split['texts']} texts in {split['shards']} shards"
        click.echo(f"{name}: {said}")
