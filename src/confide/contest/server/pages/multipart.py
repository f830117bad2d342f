"""File of a form, parsed while it arrives: what of the body is no part of the file is dropped, and none of it is kept.

The form's only file is in the part that is named `file`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

_BOUNDARY = 200
_PARTS = 8
FRAMING = 8 * 1024
"""Bytes of a body that need not belong to the file: boundaries, headers and other fields."""


class UploadError(Exception):
    """A body that is no form with a file, or that ended early."""


def boundary_of(content_type: str) -> bytes:
    """Return the boundary of a form with a file; refuse another content type."""
    kind, options = parse_options_header(content_type.encode("latin-1", "replace"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= _BOUNDARY:
        raise UploadError("the form must be sent as multipart/form-data")
    return boundary


class FormFile:
    """File that arrives in a form. Call `begin`, which reads the headers of the file, then read `content` once."""

    def __init__(self, chunks: AsyncIterator[bytes], content_type: str) -> None:
        self._chunks = chunks
        self._parts = _Parts()
        self._parser = MultipartParser(boundary_of(content_type), self._parts.callbacks())

    async def begin(self) -> str:
        """Read on until the file begins, and return its name; refuse a form without a file."""
        while self._parts.filename is None:
            if not await self._feed():
                raise UploadError("the form holds no file; choose one")
        return self._parts.filename

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the content of the file; refuse a form that ends early or holds a second file."""
        more = True
        while more:
            for piece in self._parts.taken():
                yield piece
            more = await self._feed()
        if not self._parts.complete:
            raise UploadError("the upload ended early")

    async def _feed(self) -> bool:
        """Parse the next chunk; return False at the end of the body."""
        chunk = await anext(self._chunks, None)
        if chunk is None:
            return False
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise UploadError("the form is damaged") from None
        return True


class _Parts:
    """What the parser found: the name of the file, content that was not taken yet, and whether the form is complete."""

    def __init__(self) -> None:
        self.filename: str | None = None
        self.complete = False
        self._content: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._name = self._value = b""
        self._number = self._other = 0
        self._inside = False

    def callbacks(self) -> MultipartCallbacks:
        """Return the functions that the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_end": self._end,
        }

    def taken(self) -> list[bytes]:
        """Return the content that arrived, and forget it."""
        content, self._content = self._content, []
        return content

    def _begin(self) -> None:
        self._headers, self._inside = {}, False
        self._number += 1
        if self._number > _PARTS:
            raise UploadError("the form has too many parts")

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._count_other(end - start)
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._count_other(end - start)
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def _headers_finished(self) -> None:
        disposition, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        if disposition != b"form-data" or options.get(b"name") != b"file" or b"filename" not in options:
            return
        if self.filename is not None:
            raise UploadError("the form holds more than one file; send one at a time")
        self._inside = True
        self.filename = options[b"filename"].decode("utf-8", "replace")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._inside:
            self._content.append(data[start:end])
        else:
            self._count_other(end - start)

    def _count_other(self, size: int) -> None:
        self._other += size
        if self._other > FRAMING:
            raise UploadError("the form has headers or other fields that are too large")

    def _end(self) -> None:
        self.complete = True
