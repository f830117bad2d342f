"""Check the columns of a Parquet file before anything decodes them.

The sizes in a file's footer are only claims: a reader allocates what each page's own header says. So footer and page
headers are read here. A column is refused if its pages unpack to more than is allowed, hold another number of values
than the footer says, or use an encoding that can grow when it is decoded. PyArrow's own view of the footer is not used
either: some footers make it end the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from confide.errors import UnreadableError
from confide.sources.compact_thrift import (
    BINARY,
    INT32,
    INT64,
    STRUCT,
    CompactReader,
    Fields,
    elements,
    malformed,
    whole_number,
)

MAGIC = b"PAR1"

_LONGEST_FOOTER = 1 << 18
_LONGEST_HEADER = 1 << 16
_MOST_PAGES = 20_000
_LEAST_BYTES = 4  # of a value in a dictionary
_REPEATED = 2

_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_HEADER_FIELD = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}
_ENCODING_FIELD = {_DATA: 2, _DICTIONARY: 2, _DATA_2: 4}
_SAFE_ENCODINGS = {0, 2, 8, 9}  # plain, dictionary (old and new), byte stream split


@dataclass(frozen=True, slots=True)
class Chunk:
    """Values of one column in one row group: where its pages begin, their length in the file, and their values."""

    column: str
    begin: int
    length: int
    values: int


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a file says: its rows, its columns, those of them that are nested, and all column chunks."""

    rows: int
    columns: tuple[str, ...]
    nested: frozenset[str]
    chunks: tuple[Chunk, ...]


def read_footer(content: bytes, *, most_row_groups: int) -> Footer:
    """Read the footer of a file."""
    if len(content) < 12 or not content.startswith(MAGIC) or not content.endswith(MAGIC):
        raise UnreadableError("the file is not Parquet; check the ending of its name, or give CSV")
    length = int.from_bytes(content[-8:-4], "little")
    if not 0 < length <= min(_LONGEST_FOOTER, len(content) - 12):
        raise UnreadableError("the footer of the file is too long; write the two columns of the template alone")
    fields = CompactReader(content[-8 - length : -8]).struct()
    if 8 in fields:
        raise UnreadableError("the file is encrypted; write it without encryption")
    groups = elements(fields, 4, STRUCT)
    if len(groups) > most_row_groups:
        raise UnreadableError(f"the file has more than {most_row_groups} row groups; write it with one")
    rows = whole_number(fields, 3, INT64)
    if rows != sum(whole_number(group, 3, INT64) for group in groups):
        raise malformed()
    tops = list(_top_columns(elements(fields, 2, STRUCT)))
    return Footer(
        rows,
        tuple(name for name, _ in tops),
        frozenset(name for name, nested in tops if nested),
        tuple(chunk for group in groups for chunk in _chunks(group)),
    )


def _top_columns(schema: Sequence[Fields]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each column of the root, and whether it is nested. The schema lists each element's children."""
    left = [len(schema)] if not schema else [_children(schema[0])]
    for element in schema[1:]:
        while left and left[-1] == 0:
            left.pop()
        if not left:
            raise malformed()
        left[-1] -= 1
        children, repeated = _children(element), element.get(3, (INT32, 0))[1] == _REPEATED
        if len(left) == 1:
            yield _text(element, 4), children > 0 or repeated
        if children:
            left.append(children)
    if any(left):
        raise malformed()


def _children(element: Fields) -> int:
    return whole_number(element, 5, INT32) if 5 in element else 0


def _text(fields: Fields, field: int) -> str:
    code, value = fields.get(field, (0, b""))
    if code != BINARY:
        raise malformed()
    return str(value.decode("utf-8", "replace"))


def check_pages(content: bytes, chunks: Sequence[Chunk], *, most_bytes: int) -> None:
    """Refuse column chunks whose pages are not what the footer says, or unpack to more bytes than allowed together."""
    unpacked = 0
    for chunk in chunks:
        unpacked += _checked_chunk(content, chunk, most_bytes - unpacked)


def _chunks(group: Fields) -> Iterator[Chunk]:
    rows = whole_number(group, 3, INT64)
    for column in elements(group, 1, STRUCT):
        code, meta = column.get(3, (0, {}))
        if code != STRUCT or column.keys() & {1, 8, 9}:  # in another file, or encrypted
            raise malformed()
        path = elements(meta, 3, BINARY)
        if len(path) != 1:
            continue  # nested
        values = whole_number(meta, 5, INT64)
        if values != rows:
            raise malformed()
        starts = [whole_number(meta, field, INT64) for field in (9, 11) if field in meta]
        yield Chunk(
            path[0].decode("utf-8", "replace"),
            min((start for start in starts if start), default=0),
            whole_number(meta, 7, INT64),
            values,
        )


@dataclass(frozen=True, slots=True)
class _Page:
    kind: int
    unpacked: int
    values: int
    encoding: int


def _checked_chunk(content: bytes, chunk: Chunk, most_bytes: int) -> int:
    """Refuse the pages of a chunk, or return how many bytes they unpack to."""
    if chunk.begin < len(MAGIC) or chunk.begin + chunk.length > len(content):
        raise malformed()
    unpacked = counted = 0
    for number, page in enumerate(_pages(memoryview(content)[chunk.begin : chunk.begin + chunk.length])):
        unpacked += page.unpacked
        counted += 0 if page.kind == _DICTIONARY else page.values
        if unpacked > most_bytes:
            raise UnreadableError("the file unpacks to too many bytes; shorten the ids, or give CSV")
        if page.encoding not in _SAFE_ENCODINGS:
            raise UnreadableError("a column has an unusual encoding; write it plain or as a dictionary, or give CSV")
        crowded = page.kind == _DICTIONARY and (number > 0 or _LEAST_BYTES * page.values > page.unpacked)
        if crowded or counted > chunk.values or number >= _MOST_PAGES:
            raise malformed()
    if counted != chunk.values:
        raise malformed()
    return unpacked


def _pages(content: memoryview) -> Iterator[_Page]:
    place = 0
    while place < len(content):
        reader = CompactReader(bytes(content[place : place + _LONGEST_HEADER]))
        fields = reader.struct()
        kind, unpacked, packed = (whole_number(fields, field, INT32) for field in (1, 2, 3))
        if kind not in _HEADER_FIELD:
            raise malformed()
        code, header = fields.get(_HEADER_FIELD[kind], (0, {}))
        if code != STRUCT:
            raise malformed()
        values, encoding = (whole_number(header, field, INT32) for field in (1, _ENCODING_FIELD[kind]))
        yield _Page(kind, unpacked, values, encoding)
        place += reader.place + packed
    if place != len(content):
        raise malformed()
