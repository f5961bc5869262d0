"""`zeton find`: needles in, the places out where texts and shards of ids have them."""

import json
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as kept
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import zeton
from zeton.cli.options.files import BLOCK_BYTES, STDIN, blocks, bytes_of, read, size_of
from zeton.cli.options.ids import dtype_option
from zeton.cli.options.learning import quiet_option
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Size
from zeton.cli.options.texts import field_option
from zeton.cli.options.tokenizer import is_named, load, tokenizer_option
from zeton.cli.render.color import color_option
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import bar, say, watched
from zeton.corpus import files as corpus_files
from zeton.corpus import texts as corpus_texts
from zeton.corpus.formats import PARQUET, chunks, format_of, recognise
from zeton.plural import counted
from zeton.search.lines import Line, lines_of, total_in
from zeton.search.needles import Needles
from zeton.text.escape import visible
from zeton.work.npy_file import Dtype

if TYPE_CHECKING:
    from zeton.search.stored import Place, Stored

SHOWN_BYTES = 200
"""How much of a long line is shown before its first match, and after it."""

TOKENS_BESIDE = 8
"""How many tokens are shown beside a match among ids, unless told otherwise."""

PLACES = 3
"""How many places of each of many needles are told, unless told otherwise."""

PLACE = ("line", "column", "text", "token")
"""The numbers that people need; where there are no texts, that of the id."""

MARK, RESET = "\x1b[1;31m", "\x1b[0m"


@click.command(
    cls=Single,
    epilog=examples(
        "zeton find 'New York' corpus/ notes.txt.gz",
        "zeton find -w -i -C 2 cat *.txt",
        "zeton find --needles questions.txt shards/",
    ),
)
@click.argument("arguments", nargs=-1, metavar="PATTERN [PATH]...")
@click.option(
    "--needles",
    metavar="FILE",
    help="Search for each line of a file, or each text of a .jsonl or .parquet, not for PATTERN.",
)
@field_option
@click.option("-w", "--whole-word", is_flag=True, help="Match whole words only.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-c", "--count", "only_count", is_flag=True, help="Print the matches of each file.")
@click.option(
    "-C",
    "--context",
    type=Size(),
    metavar="N",
    help="Show N lines before and after a match; in shards, N tokens (by default 8).",
)
@click.option(
    "--max",
    "most",
    type=Size(least=1),
    metavar="N",
    help="Stop after N matches in a file; with --needles, print N places of each (by default 3).",
)
@tokenizer_option
@click.option("--ids", is_flag=True, help="Read a bare .bin file as token ids, not as text.")
@dtype_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
@color_option
@quiet_option
def find(
    *,
    arguments: tuple[str, ...],
    needles: str | None,
    ids: bool,
    whole_word: bool,
    ignore_case: bool,
    only_count: bool,
    context: int | None,
    most: int | None,
    name: str,
    dtype: Dtype | None,
    as_json: bool,
    colored: bool,
    field: str,
    quiet: bool,
) -> None:
    """Find PATTERN, a plain text, in each PATH (standard input by default).

    A PATH is a text, also .gz, .zst or .xz, a folder of texts, shards of `zeton shard`, one of
    their files, a .npy file of ids, or with --ids a bare .bin file of ids. The exit code is 0 if
    there is a match, and 1 if there is none. Without -t, shards are read with the tokenizer in
    their folder.
    """
    if needles is None and not arguments:
        raise click.UsageError("Give PATTERN, or a file of them with --needles.")
    texts = [bytes_of(arguments[0])] if needles is None else needles_of(needles, field)
    paths = arguments[1:] if needles is None else arguments
    search = Search(
        Needles(tuple(texts), whole_word=whole_word, ignore_case=ignore_case),
        name=name,
        is_named=is_named(),
        dtype=dtype,
        beside=context,
        bare_ids=ids,
        quiet=quiet,
    )
    sources = search.sources(paths or (STDIN,))
    if only_count:
        found = print_counts(search, sources, as_json=as_json)
    elif needles is not None:
        found = print_needles(search, sources, most or PLACES, as_json=as_json, quiet=quiet)
    else:
        found = print_matches(search, sources, most, as_json=as_json, colored=colored)
    if not found:
        sys.exit(1)


def holds_ids(file: Path, *, bare: bool) -> bool:
    """Return whether a file surely holds ids: a shard, an array of whole numbers, or as asked."""
    from zeton.search.stored import is_stored
    from zeton.shards.formats.llmc import MAGICS

    if not is_stored(file):
        return False
    if bare or file.suffix not in {".bin", ".npy"} or is_stored(file.parent):
        return True
    with file.open("rb") as source:
        beginning = source.read(128)
    if beginning.startswith(b"\x93NUMPY"):
        return re.search(rb"'descr': '[<>|=][iu]", beginning) is not None
    magics = {magic for magic, _ in MAGICS.values()}
    return int.from_bytes(beginning[:4], "little") in magics


def needles_of(file: str, name: str) -> list[bytes]:
    """Read needles, one a line or a field; empty lines and duplicates are ignored."""
    lines: Iterable[bytes]
    if format_of(Path(file)).holds_many:
        lines = (text for _, text in corpus_texts([file], name))
    else:
        plain = read(file).removeprefix(BOM_UTF8)
        lines = (line.removesuffix(b"\r") for line in plain.split(b"\n"))
    found = list(dict.fromkeys(line for line in lines if line))
    if not found:
        raise zeton.Error(f"{file} has no needle; write one a line")
    return found


@dataclass(frozen=True)
class Entry:
    """What is printed as a line: a line of a text, or a match among ids with what is beside it."""

    file: str
    content: bytes
    marks: list[tuple[int, int, int]]
    """Start, end and needle of each match; none in a line that is beside one."""
    places: list[dict[str, int]]
    """Of each match."""

    def place(self, number: int) -> str:
        """Say where a match is."""
        numbers = self.places[number]
        shown = [numbers[name] for name in PLACE if name in numbers] or [numbers["id"]]
        return ":".join([visible(self.file), *map(str, shown)])

    def told(self, number: int, texts: tuple[bytes, ...]) -> dict[str, Any]:
        """Tell a match as plain values."""
        start, end, needle = self.marks[number]
        low, high = around(self.content, start, end)
        return {
            "file": self.file,
            **self.places[number],
            "needle": texts[needle].decode(errors="replace"),
            "matched": self.content[start:end].decode(errors="replace"),
            "content": self.content[low:high].decode(errors="replace"),
        }

    def line(self, *, colored: bool) -> str:
        """Draw it, as much of it as people read."""
        start, end, _ = self.marks[0] if self.marks else (0, 0, 0)
        low, high = around(self.content, start, end)
        drawn, done = "…" if low else "", low
        for start, end, _ in self.marks if colored else []:
            if done <= start < end <= high:
                marked = MARK + visible(self.content[start:end]) + RESET
                drawn += visible(self.content[done:start]) + marked
                done = end
        drawn += visible(self.content[done:high]) + ("…" if high < len(self.content) else "")
        return drawn


@dataclass(frozen=True)
class Search:
    """What is looked for, and how what is found is told."""

    needles: Needles
    name: str = kept(kw_only=True)
    is_named: bool = kept(kw_only=True)
    """Whether the command line has `-t`."""
    dtype: Dtype | None = kept(kw_only=True)
    beside: int | None = kept(kw_only=True)
    bare_ids: bool = kept(kw_only=True)
    quiet: bool = kept(kw_only=True)

    @cached_property
    def tokenizers(self) -> dict[Path | None, zeton.Tokenizer]:
        """Each tokenizer that was loaded, by the folder of its shards; of `-t` by None."""
        return {}

    def tokenizer_for(self, path: Path) -> zeton.Tokenizer:
        """Load the tokenizer of ids when they are met: that of `-t`, or of the shards' folder."""
        from zeton.search.stored import own_folder

        folder = None if self.is_named else own_folder(path)
        if folder not in self.tokenizers:
            loaded = load(self.name) if folder is None else zeton.shards.open(folder).tokenizer
            self.tokenizers[folder] = loaded
        return self.tokenizers[folder]

    def sources(self, paths: tuple[str, ...]) -> "Iterator[str | Stored]":
        """Yield the texts and the files of ids that paths stand for."""
        from zeton.search.stored import shards_in, stored

        for path in paths:
            if path == STDIN:
                yield path
                continue
            folders = shards_in(Path(path))
            for file in corpus_files([path]):
                if not set(folders).isdisjoint(file.parents):
                    continue
                if holds_ids(file, bare=self.bare_ids or self.dtype is not None):
                    yield from stored(file, self.tokenizer_for(file), self.dtype)
                elif format_of(file) is PARQUET or recognise(file).other:
                    raise zeton.Error(
                        f"zeton find cannot read {file}: it is {recognise(file)}; find in the "
                        "shards that `zeton shard` makes of it, or in a file of its text"
                    )
                else:
                    if file.suffix in {".bin", ".npy"}:
                        say(f"{file} is searched as text; give --ids if it holds token ids")
                    yield str(file)
            for folder in folders:
                yield from stored(folder, self.tokenizer_for(folder), self.dtype)

    def entries(
        self, source: "str | Stored", is_shown: Callable[[int], bool] = lambda _: True
    ) -> Iterator[Entry]:
        """Yield what is found in a source; what is not shown need not be decoded."""
        if not isinstance(source, str):
            from zeton.search.stored import places_in

            beside = TOKENS_BESIDE if self.beside is None else self.beside
            with bar(source.path, source.size, quiet=self.quiet) as tell:
                width = source.ids[:0].itemsize
                for place in places_in(source, self.needles, lambda ids: tell(ids * width)):
                    yield of_ids(source, place, beside if is_shown(place.needle) else None)
            return
        for line in lines_of(self.blocks(source), self.needles, self.beside or 0):
            yield of_text(source, line)

    def count(self, source: "str | Stored") -> int:
        """Return the number of matches in a source."""
        if not isinstance(source, str):
            return sum(len(entry.marks) for entry in self.entries(source, lambda _: False))
        return total_in(self.blocks(source), self.needles)

    def blocks(self, file: str) -> Iterator[bytes]:
        """Read a text a block at a time, and show how much was read."""
        return watched(read_blocks(file), file, size_of(file), quiet=self.quiet)


def of_text(file: str, line: Line) -> Entry:
    """Tell a line; columns are bytes, from 1 on."""
    places = []
    for start, _, _ in line.found:
        at = line.at + start
        places.append({"line": line.number, "column": at - line.start + 1, "offset": at})
    content = line.content
    if content.endswith(b"\r") and all(end < len(content) for _, end, _ in line.found):
        content = content[:-1]
    return Entry(file, content, line.found, places or [{"line": line.number}])


def of_ids(source: "Stored", place: "Place", beside: int | None) -> Entry:
    """Tell a match among ids in one line, with so many ids beside it."""
    numbers = {} if place.text is None else {"text": place.text, "token": place.first - place.begin}
    numbers |= {"id": place.first - source.start, "ids": place.end - place.first}
    before, matched, after = (b"",) * 3 if beside is None else source.shown(place, beside)
    mark = (len(before), len(before) + len(matched), place.needle)
    return Entry(str(source.path), before + matched + after, [mark], [numbers])


def around(content: bytes, start: int, end: int) -> tuple[int, int]:
    """Return how much of a long line is shown: whole characters around a match."""
    low, high = max(start - SHOWN_BYTES, 0), min(end + SHOWN_BYTES, len(content))
    while 0 < low < start and content[low] & 0xC0 == 0x80:
        low += 1
    while end < high < len(content) and content[high] & 0xC0 == 0x80:
        high -= 1
    return low, high


def print_matches(
    search: Search,
    sources: "Iterator[str | Stored]",
    most: int | None,
    *,
    as_json: bool,
    colored: bool,
) -> bool:
    """Print each match, or each line that has some."""
    found, last = False, None
    for source in sources:
        count = 0
        for entry in search.entries(source):
            left = len(entry.marks) if most is None else min(most - count, len(entry.marks))
            if entry.marks and not left:
                break
            count += left
            found = found or count > 0
            if as_json:
                for number in range(left):
                    click.echo(json.dumps(entry.told(number, search.needles.texts)))
                continue
            here = (entry.file, entry.places[0].get("line", 0))
            if search.beside and last not in (None, here, (here[0], here[1] - 1)) and here[1]:
                click.echo("--")
            last = here
            separator = ":" if entry.marks else "-"
            place = entry.place(0) if entry.marks else f"{visible(entry.file)}-{here[1]}"
            click.echo(f"{place}{separator}{entry.line(colored=colored)}", color=colored)
    return found


def print_counts(search: Search, sources: "Iterator[str | Stored]", *, as_json: bool) -> bool:
    """Print the number of matches of each file, then of all."""
    total, files = 0, 0
    for source in sources:
        count = search.count(source)
        total, files = total + count, files + 1
        file = source if isinstance(source, str) else str(source.path)
        if as_json:
            click.echo(json.dumps({"file": file, "count": count}))
        else:
            click.echo(f"{visible(file)}:{count}")
    if files > 1 and not as_json:
        click.echo(f"total:{total}")
    return total > 0


def print_needles(
    search: Search, sources: "Iterator[str | Stored]", most: int, *, as_json: bool, quiet: bool
) -> bool:
    """Print which needles there are, how often, and the first places of each."""
    texts = search.needles.texts
    counts = [0] * len(texts)
    places: list[list[tuple[str, dict[str, Any]]]] = [[] for _ in texts]
    for source in sources:
        for entry in search.entries(source, lambda needle: len(places[needle]) < most):
            for number, (_, _, needle) in enumerate(entry.marks):
                counts[needle] += 1
                if len(places[needle]) < most:
                    place = entry.place(number), entry.told(number, texts)
                    places[needle].append(place)
    for text, count, some in zip(texts, counts, places, strict=True):
        if not count:
            continue
        if as_json:
            told = {"needle": text.decode(errors="replace"), "count": count}
            click.echo(json.dumps(told | {"places": [each for _, each in some]}))
        else:
            more = [] if count == len(some) else ["…"]
            where = " ".join([*(place for place, _ in some), *more])
            click.echo(f"{count}\t{visible(text)}\t{where}")
    there = sum(count > 0 for count in counts)
    if not quiet:
        say(f"{there} of {counted(len(texts), 'needle')} found")
    return there > 0


def read_blocks(file: str) -> Iterator[bytes]:
    """Read a text a block at a time, unpacked."""
    return blocks(file) if file == STDIN else chunks(Path(file), 0, BLOCK_BYTES)
