"""Parquet files that no writer writes: footers and pages are put together by hand, in Thrift's compact protocol."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
_ZSTD = 6
Field = tuple[int, int, bytes]


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def whole(value: int) -> bytes:
    return varint(value << 1)


def text(value: str) -> bytes:
    return varint(len(value.encode())) + value.encode()


def many(kind: int, items: Sequence[bytes]) -> bytes:
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + varint(len(items))
    return head + b"".join(items)


def struct(*fields: Field) -> bytes:
    out, last = b"", 0
    for number, kind, content in fields:
        out += bytes([(number - last) << 4 | kind]) + content
        last = number
    return out + b"\0"


def page(values: int, content: bytes, *, unpacked: int | None = None) -> bytes:
    """Return a plain data page of a required column. `unpacked` is the size that it claims."""
    header = struct(
        (1, I32, whole(0)),
        (2, I32, whole(len(content) if unpacked is None else unpacked)),
        (3, I32, whole(len(content))),
        (5, STRUCT, struct((1, I32, whole(values)), (2, I32, whole(0)), (3, I32, whole(3)), (4, I32, whole(3)))),
    )
    return header + content


def parquet(ids: bytes, scores: bytes, *, rows: int, groups: int, codec: int = 0) -> bytes:
    """Return a file whose row groups, of so many rows each, all share two chunks of pages."""

    def chunk(name: str, kind: int, begin: int, length: int) -> bytes:
        meta = struct(
            (1, I32, whole(kind)),
            (2, LIST, many(I32, [whole(0)])),
            (3, LIST, many(BINARY, [text(name)])),
            (4, I32, whole(codec)),
            (5, I64, whole(rows)),
            (6, I64, whole(length)),
            (7, I64, whole(length)),
            (9, I64, whole(begin)),
        )
        return struct((2, I64, whole(begin)), (3, STRUCT, meta))

    columns = [chunk("id", 6, 4, len(ids)), chunk("score", 5, 4 + len(ids), len(scores))]
    group = struct((1, LIST, many(STRUCT, columns)), (2, I64, whole(len(ids) + len(scores))), (3, I64, whole(rows)))
    schema = [
        struct((4, BINARY, text("schema")), (5, I32, whole(2))),
        struct((1, I32, whole(6)), (3, I32, whole(0)), (4, BINARY, text("id")), (6, I32, whole(0))),
        struct((1, I32, whole(5)), (3, I32, whole(0)), (4, BINARY, text("score"))),
    ]
    footer = struct(
        (1, I32, whole(1)),
        (2, LIST, many(STRUCT, schema)),
        (3, I64, whole(rows * groups)),
        (4, LIST, many(STRUCT, [group] * groups)),
    )
    return b"PAR1" + ids + scores + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def empty_pages(*, groups: int, pages: int) -> bytes:
    """Return a file of one row in each row group, whose chunks have empty pages before one value."""
    empty = page(0, b"") * pages
    return parquet(empty + page(1, b"\x01\0\0\0a"), empty + page(1, bytes(8)), rows=1, groups=groups)


def padded_pages(*, groups: int, pages: int, padding: int) -> bytes:
    """Return a small file that takes long to decode: each page has one value, and zeros that must be unpacked."""

    def padded(value: bytes) -> bytes:
        content = value + bytes(padding)
        return page(1, pyarrow.compress(content, codec="zstd", asbytes=True), unpacked=len(content))

    ids, scores = padded(b"\x01\0\0\0a"), padded(bytes(8))
    return parquet(ids * pages, scores * pages, rows=pages, groups=groups, codec=_ZSTD)
