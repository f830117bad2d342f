"""Check on CSV bytes, block by block: quotes follow RFC 4180, and text is UTF-8."""

from __future__ import annotations

import codecs
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 22
_QUOTE, _RETURN, _NEWLINE = b'"\r\n'
_BOM = codecs.BOM_UTF8


def is_regular(stream: BinaryIO, separator: str) -> bool:
    """Return whether each quote opens a value, closes one or is doubled within one, and all are closed.

    Counted from the first, a quote at an even place opens a value, behind a separator or a line's end, or is the
    second of two; one at an odd place closes a value, before a separator or a line's end, or is the first of two.

    >>> import io
    >>> is_regular(io.BytesIO(b'a,"b ""c"" d"'), ","), is_regular(io.BytesIO(b'a,"b" c'), ",")
    (True, False)
    """
    ends = np.array([ord(separator), _RETURN, _NEWLINE, _QUOTE], dtype=np.uint8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    quotes, before, carried = 0, ord(separator), b""
    start = stream.read(len(_BOM))
    carried = start.removeprefix(_BOM)
    while True:
        block = stream.read(_BLOCK)
        content = carried + block
        # The last byte waits for the next block, as a quote there is told by what follows it.
        carried, content = (content[-1:], content[:-1]) if block else (b"", content)
        try:
            decoder.decode(content, final=not block)
        except UnicodeDecodeError:
            return False
        after = carried[0] if carried else ord(separator)
        result = _quotes_fit(content, quotes, before, after, ends)
        if result is None:
            return False
        quotes += result
        before = content[-1] if content else before
        if not block:
            return quotes % 2 == 0


def _quotes_fit(content: bytes, earlier: int, before: int, after: int, ends: NDArray[np.uint8]) -> int | None:
    """Count the quotes of a block between two bytes; None if one is where it must not be."""
    if _QUOTE not in content:
        return 0
    array = np.frombuffer(bytes([before]) + content + bytes([after]), dtype=np.uint8)
    places = np.flatnonzero(array[1:-1] == _QUOTE) + 1
    opening = (np.arange(places.size) + earlier) % 2 == 0
    beside = np.where(opening, array[places - 1], array[places + 1])
    return int(places.size) if np.isin(beside, ends).all() else None
