"""Files become texts, in order, each with the position from which reading can resume."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from zeton.corpus.files import AnyPath, files
from zeton.corpus.formats import FOR_EVER, Taking, format_of, refuse_others
from zeton.errors import CorpusError, FileError
from zeton.plural import counted

OnError: TypeAlias = Literal["raise", "skip"]

EXAMPLES_MAX = 5
"""How many skipped records are kept with their reasons."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a corpus: a file's number, and how much of it is done.

    That is bytes, unpacked, of text and JSON lines, and rows of Parquet.
    """

    file: int
    at: int


class Part(NamedTuple):
    """A text, or a part of a long one that may stand alone."""

    text: Any
    """A str or bytes; with `record`, its result for a line."""
    file: int
    end: Position


@dataclass
class Skipped:
    """Files and records that could not be read; `print` shows one line."""

    files: list[tuple[str, str]] = field(default_factory=list)
    """Every file, by name, with the reason."""
    lines: int = 0
    """How many lines and rows."""
    examples: list[tuple[str, str]] = field(default_factory=list)
    """The first few of both, by place, with the reason."""

    def __bool__(self) -> bool:
        """Tell whether anything was left out."""
        return bool(self.files or self.lines)

    def __str__(self) -> str:
        """Return the numbers of skipped records, and the first of them."""
        if not self:
            return "skipped nothing"
        counts = ((self.lines, "line"), (len(self.files), "file"))
        told = " and ".join(counted(number, noun) for number, noun in counts if number)
        return f"skipped {told}; first: {' '.join(self.examples[0])}"

    def add_file(self, name: str, reason: str) -> None:
        """Count a file."""
        self.files.append((name, reason))
        self._add_example(name, reason)

    def add_line(self, place: str, reason: str) -> None:
        """Count a line or a row."""
        self.lines += 1
        self._add_example(place, reason)

    def add(self, others: "Skipped") -> None:
        """Add the skipped records of a later part; a file in both is counted once."""
        known = {name for name, _ in self.files}
        repeated = [file for file in others.files if file[0] in known]
        self.files += [file for file in others.files if file not in repeated]
        self.lines += others.lines
        examples = [example for example in others.examples if example not in repeated]
        self.examples = [*self.examples, *examples][:EXAMPLES_MAX]

    def _add_example(self, place: str, reason: str) -> None:
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append((place, reason))


class Reader:
    """The texts of files: a plain file is one, JSON lines and Parquet hold one a row, in `field`.

    A long plain text comes in parts, in bounded memory. `cut` receives the last bytes so far and
    returns how many of them may stand before a cut, or 0. It may depend on the `OVERLAP_BYTES`
    around a position only, and is not called again for other positions. A text without any cut
    comes whole.

    `start` and `end` are positions that earlier parts had as their `end`. Plain files are entered
    there, Parquet at the row group, and compressed files are unpacked up to there.

    Damage is an error that names its place. With `on_error="skip"` a record without text, or the
    rest of a damaged file, is left out and counted in `skipped`; the text before the damage stays.
    At each part, `skipped` holds the records before its `end`. To resume, keep both and give them
    to the next reader.
    """

    def __init__(
        self,
        files: Sequence[Path],
        field: str = "text",
        *,
        cut: Callable[[bytes], int],
        start: Position = Position(0, 0),  # noqa: B008 - it never changes.
        end: Position | None = None,
        on_error: OnError = "raise",
        skipped: Skipped | None = None,
        record: Callable[[bytes], Any] | None = None,
        can_skip: bool = True,
    ) -> None:
        """Choose files, positions and the handling of damage.

        `can_skip` is whether the caller has an `on_error`, which messages then name.
        """
        if on_error not in get_args(OnError):
            raise CorpusError(f"on_error is {on_error!r}; it must be 'raise' or 'skip'")
        if not 0 <= start.file <= len(files) or start.at < 0:
            raise CorpusError(f"{start} is in none of {len(files)} files; start at a part's end")
        self.files = list(files)
        self.field = field
        self.cut = cut
        self.start = start
        self.end = Position(len(files), 0) if end is None else end
        self.on_error = on_error
        self.skipped = Skipped() if skipped is None else skipped
        self.record = record
        self.can_skip = can_skip
        for path in self.files:
            format_of(path).check(path)

    def __iter__(self) -> Iterator[Part]:
        """Read from the start on."""
        taking = Taking(self.field, self.cut, self._skip, self.record)
        for number in range(self.start.file, len(self.files)):
            path, format = self.files[number], format_of(self.files[number])  # noqa: A001
            at = self.start.at if number == self.start.file else 0
            if Position(number, at) >= self.end:
                return
            stop = self.end.at if number == self.end.file else FOR_EVER
            is_checked = format.holds_many or at > 0
            try:
                for text, after in format.texts(path, at, stop, taking):
                    if not is_checked:
                        refuse_others(path, text[:8])
                        is_checked = True
                    at = after
                    yield Part(text, number, Position(number, at))
            except (CorpusError, FileError) as error:
                if self.on_error == "raise":
                    raise
                reason = str(error).removeprefix(f"{path} ")
                stays = f"; its first {at} {format.unit} stay" if at else ""
                self.skipped.add_file(str(path), reason + stays)

    def _skip(self, place: str, reason: Exception) -> None:
        if self.on_error == "raise":
            hint = "; leave such records out with on_error='skip' (--on-error skip)"
            is_hinted = self.can_skip and "?" not in str(reason)
            raise CorpusError(f"{place} {reason}{hint * is_hinted}") from None
        self.skipped.add_line(place, str(reason))


def parts(
    paths: Iterable[AnyPath], field: str = "text", *, cut: Callable[[bytes], int]
) -> Iterator[str | bytes]:
    """Read texts in bounded memory: a long one comes in parts, cut where `cut` says it is safe."""
    for part in Reader(files(paths), field, cut=cut, can_skip=False):
        yield part.text


def texts(paths: Iterable[AnyPath], field: str = "text") -> Iterator[tuple[str, bytes]]:
    """Read every text whole, with the name of its file: a file is one text, JSON lines are many."""
    reader = Reader(files(paths), field, cut=lambda _: 0, can_skip=False)
    for text, number, _ in reader:
        name = str(reader.files[number])
        if isinstance(text, str):
            yield name, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        else:
            yield name, text
