"""Parquet: a table with the text in one column, read by pyarrow."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from zeton.corpus.formats.compressed import too_short
from zeton.corpus.formats.format import Format, NoTextError, Taking, known_fields, text_in
from zeton.errors import CorpusError, file_error
from zeton.extras import needed

__all__ = ["PARQUET", "Parquet"]

ROWS = 1 << 12
"""How many rows of a file are in memory at once."""


class Parquet(Format):
    """A column of texts; positions are rows."""

    name = "Parquet"
    suffixes = (".parquet",)
    magic = b"PAR1"
    unit = "rows"

    def check(self, path: Path) -> None:
        """Raise an error if pyarrow is missing: that is no damage, and is told before the work."""
        self.modules(f"{path} is Parquet, which")

    def modules(self, purpose: str) -> tuple[Any, Any]:
        """Return pyarrow and its module for Parquet.

        `purpose` begins the error, for example "a.parquet is Parquet, which".
        """
        try:
            import pyarrow as pa  # noqa: PLC0415 - an extra.
            import pyarrow.parquet as pq  # noqa: PLC0415
        except ImportError:
            raise CorpusError(f"{purpose} {needed('pyarrow')}") from None
        return pa, pq

    def texts(self, path: Path, at: int, stop: int, taking: Taking) -> Iterator[tuple[Any, int]]:
        """Yield the text of each row, with the number of rows up to it."""
        with closing(_rows(path, taking.field, at)) as rows:
            for value, end in rows:
                if end > stop:
                    return
                try:
                    text = text_in(value, taking.field)
                except NoTextError as error:
                    taking.skip(f"{path}, row {end}", error)
                else:
                    yield text, end

    def cuts(
        self,
        path: Path,
        size: int,
        unit_bytes: int,
        cut: Callable[[bytes], int],  # noqa: ARG002 - rows end where they end.
    ) -> Iterator[tuple[int, int]]:
        """Yield the end of the first row group after every `unit_bytes` of unpacked rows."""
        pa, pq = self.modules(f"{path} is Parquet, which")
        try:
            with pq.ParquetFile(path) as table:
                groups = [table.metadata.row_group(at) for at in range(table.num_row_groups)]
                found = [(group.num_rows, group.total_byte_size) for group in groups]
        except pa.ArrowException:
            return
        whole = max(sum(group_bytes for _, group_bytes in found), 1)
        rows = held = 0
        for group_rows, group_bytes in found[:-1]:
            rows += group_rows
            held += group_bytes
            if held >= unit_bytes:
                yield rows, size * held // whole
                held = 0


def _rows(path: Path, column: str, at: int) -> Generator[tuple[object, int]]:
    """Yield a column's values from a row on, each with the number of rows up to it."""
    pa, pq = PARQUET.modules(f"{path} is Parquet, which")
    try:
        with pq.ParquetFile(path) as table:
            names = table.schema_arrow.names
            if column not in names:
                raise CorpusError(f"{path} has no column {column!r}{known_fields(column, names)}")
            if at > table.metadata.num_rows:
                raise too_short(path)
            end = 0
            for group in range(table.num_row_groups):
                done, end = end, end + table.metadata.row_group(group).num_rows
                if end <= at:
                    continue
                for batch in table.iter_batches(ROWS, row_groups=[group], columns=[column]):
                    values = batch.column(0)[max(at - done, 0) :]
                    done += len(batch) - len(values)
                    for value in _values(values):
                        done += 1
                        yield value, done
                if done != end:  # pyarrow does not mind.
                    raise _lacks_rows(path, done, end)
            if end != table.metadata.num_rows:
                raise _lacks_rows(path, end, table.metadata.num_rows)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise file_error(path, "read", error) from None


def _values(column: Any) -> list[object]:  # noqa: ANN401 - a pyarrow.Array, an extra.
    """Return the values of a column; one that should be text and is not UTF-8 comes as bytes."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> object:  # noqa: ANN401 - a pyarrow.Scalar, an extra.
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()


def _lacks_rows(path: Path, found: int, wanted: int) -> CorpusError:
    return CorpusError(f"{path} has {found} rows where it says {wanted}; it is damaged")


PARQUET = Parquet()
