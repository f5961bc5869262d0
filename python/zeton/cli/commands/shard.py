"""`zeton shard`: corpus in, shards of ids out; it also checks and describes shards."""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import zeton
from zeton.chat.templates import TEMPLATES
from zeton.cli.options.files import refuse_shards
from zeton.cli.options.learning import checkpoint_option, quiet_option
from zeton.cli.options.names import Name
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Share, Size
from zeton.cli.options.texts import field_option, on_error_option, paths_argument
from zeton.cli.options.tokenizer import Specials, is_named, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import say, shown
from zeton.plural import counted
from zeton.text.escape import visible
from zeton.work.executor import EXECUTORS

POSITIVE = click.IntRange(min=1)


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
        raise zeton.Error(
            f"--texts-end-with is {given!r}, with an unknown escape; write \\n, \\x1e or \\\\"
        ) from None


@click.command(
    cls=Single,
    epilog=examples(
        "zeton shard corpus/ -o shards --eos '<|endoftext|>' --validation 1%",
        "zeton shard 'web/*.jsonl.zst' -t gpt2 -o shards --format megatron --shuffle 1",
        "zeton shard --stat shards",
    ),
)
@paths_argument
@tokenizer_option
@click.option("-o", "--out", metavar="DIR", help="Folder of the shards.")
@click.option(
    "--format",
    type=Name(["npy", "bin", "megatron", "llmc", "parquet"]),
    default="bin",
    show_default=True,
    help="Format of the shards; bin is bare ids, as nanoGPT reads them.",
)
@field_option
@click.option(
    "--texts-end-with",
    metavar="BYTES",
    callback=read_end,
    help=r"Separator of texts in a plain file, such as '\x1e'. By default a file is one text.",
)
@special_option
@click.option("--bos", metavar="ID|NAME", help="Special token to put before each text.")
@click.option("--eos", metavar="ID|NAME", help="Special token to put after each text.")
@click.option(
    "--shard-size",
    default="100M",
    show_default=True,
    metavar="TOKENS",
    type=Size(least=1),
    help="Tokens of a shard.",
)
@click.option("--shuffle", type=int, metavar="SEED", help="Shuffle the texts.")
@click.option(
    "--validation",
    default=0.0,
    type=Share(),
    metavar="SHARE",
    help="Share of the texts to write as validation shards, such as 1%.",
)
@click.option("--validation-seed", default=0, metavar="SEED", help="Seed of the validation share.")
@click.option(
    "--chat",
    metavar="TEMPLATE",
    help=f"Lines are chats, rendered by a template: {', '.join(TEMPLATES)}, a JSON file, or "
    "`tokenizer` for the tokenizer's own.",
)
@click.option("--max-tokens", type=Size(least=1), metavar="N", help="Maximum tokens of a chat.")
@click.option("--pack", type=Size(least=1), metavar="N", help="Write rows of N tokens.")
@click.option(
    "--pad",
    metavar="ID|NAME",
    help="Keep texts whole in rows, and pad rows with this special token.",
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
@click.option("--workers", type=POSITIVE, metavar="N", help="Work units to encode at once on Ray.")
@checkpoint_option("256MB")
@click.option("--restart", is_flag=True, help="Start over: discard the shards in DIR.")
@click.option(
    "--verify",
    metavar="DIR",
    help="Check shards; with a PATH, also against the corpus.",
)
@click.option("--stat", metavar="DIR", help="Print tokens, texts and bytes by source.")
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
    refuse_shards(paths)
    if stat is not None:
        print_sources(zeton.shards.Manifest.read(Path(stat)), as_json=as_json)
    elif verify is not None:
        check(verify, paths, name, as_json=as_json)
    elif not paths:
        raise zeton.Error("there is no corpus; give files or folders of text")
    else:
        options |= {"allowed_special": specials or None, "on_warning": str if quiet else say}
        options["progress"] = shown(quiet=quiet)
        tokenizer = load(name)
        if options["chat"] is not None:
            check_chat(tokenizer, options["chat"])
        with resume_hint(Path(out or "")):
            manifest = zeton.shards.write(paths, tokenizer=tokenizer, out=out or "", **options)
        print_summary(manifest, out or "", as_json=as_json)


def check_chat(tokenizer: zeton.Tokenizer, name: str) -> None:
    """Raise an error that names `zeton train --special` for special tokens a template lacks."""
    from zeton.shards.options import template_of

    template = template_of(name, tokenizer)
    missing = [each for each in template.specials if each not in tokenizer.specials]
    if missing:
        wanted = " ".join(f"--special {shlex.quote(each)}" for each in missing)
        raise zeton.Error(
            f"the tokenizer lacks {counted(len(missing), 'special token')} of the template "
            f"{template.name!r}; train it with `zeton train {wanted}`, "
            f"or add them in Python with tok.with_specials({missing})"
        )


@contextmanager
def resume_hint(out: Path) -> Iterator[None]:
    """Report after Ctrl-C whether a checkpoint is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if (out / ".checkpoint" / "state.json").exists():
            say(f"progress is saved in {out}; run the same command to resume")
        else:
            say("stopped before the first checkpoint; run the same command to start over")
        raise


def check(folder: str, paths: tuple[str, ...], name: str, *, as_json: bool) -> None:
    """Check shards, and print each problem on a line of its own."""
    tokenizer = load(name) if is_named() or paths else None
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
    encoded = ", equal to the corpus encoded again" if paths else ""
    click.echo(f"{visible(folder)}: OK, {counted(len(manifest.files()), 'file')}{encoded}")


def print_summary(manifest: "zeton.shards.Manifest", out: str, *, as_json: bool) -> None:
    """Print the size of the shards."""
    shards = sum(len(split["shards"]) for split in manifest.splits.values())
    counts = {"path": out, "shards": shards, "texts": manifest.texts, "tokens": manifest.tokens}
    if as_json:
        click.echo(json.dumps(counts))
    else:
        click.echo(f"{visible(out)}: {in_words(counts)}")


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
        click.echo(f"{name}: {in_words(split)}")


def in_words(counts: Mapping[str, Any]) -> str:
    """Write numbers of tokens, texts and shards for people.

    >>> in_words({"tokens": 7, "texts": 1, "shards": 1})
    '7 tokens of 1 text in 1 shard'
    """
    tokens = counted(counts["tokens"], "token")
    return f"{tokens} of {counted(counts['texts'], 'text')} in {counted(counts['shards'], 'shard')}"
