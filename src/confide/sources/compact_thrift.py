"""Read Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

Content from strangers is read before any other library sees it. So everything is bounded, and what two readers could
take differently is refused: fields that occur twice, and values of another type than the caller expects.
"""

from __future__ import annotations

from typing import Any

from confide.errors import UnreadableError

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Fields = dict[int, tuple[int, Any]]
"""Fields of a struct by number, each with the code of its type and its value."""

_DEEPEST = 10


class CompactReader:
    """Reader at a place in some bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def struct(self, depth: int = 0) -> Fields:
        """Read a struct."""
        fields: Fields = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._number()
            if field in fields:
                raise malformed()
            code = head & 15
            fields[field] = code, (code == TRUE if code in (TRUE, FALSE) else self._value(code, depth + 1))
        return fields

    def _value(self, code: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise malformed()
        if code in (INT16, INT32, INT64):
            return self._number()
        if code == BINARY:
            return self._take(self._unsigned())
        if code == STRUCT:
            return self.struct(depth)
        if code in (LIST, SET):
            return self._list(depth)
        if code == MAP:
            return self._map(depth)
        if code in (TRUE, FALSE, BYTE):  # an element of a list or map
            return self._byte()
        if code == DOUBLE:
            return self._take(8)
        raise malformed()

    def _list(self, depth: int) -> tuple[int, list[Any]]:
        """Read a list as the code of its elements' type, and its elements."""
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        return head & 15, [self._value(head & 15, depth + 1) for _ in range(self._checked(size))]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        size = self._checked(self._unsigned())
        kinds = self._byte() if size else 0
        return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(size)]

    def _checked(self, size: int) -> int:
        """Refuse more elements than there are bytes left: each takes at least one."""
        if size > len(self._content) - self.place:
            raise malformed()
        return size

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise malformed()
        self.place += 1
        return self._content[self.place - 1]

    def _take(self, count: int) -> bytes:
        if count > len(self._content) - self.place:
            raise malformed()
        self.place += count
        return self._content[self.place - count : self.place]

    def _number(self) -> int:
        unsigned = self._unsigned()
        return (unsigned >> 1) ^ -(unsigned & 1)

    def _unsigned(self) -> int:
        result = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            result |= (byte & 127) << shift
            if byte < 128:
                return result
        raise malformed()


def whole_number(fields: Fields, field: int, code: int) -> int:
    """Return a field that must be there, of a type of whole numbers, and not negative."""
    found, value = fields.get(field, (0, -1))
    if found != code or value < 0:
        raise malformed()
    return int(value)


def elements(fields: Fields, field: int, kind: int) -> list[Any]:
    """Return a field that must be a list of values of one type."""
    code, value = fields.get(field, (0, None))
    if code != LIST or (value[0] != kind and value[1]):
        raise malformed()
    return list(value[1])


def malformed() -> UnreadableError:
    """Return the error for content that contradicts itself, or that no usual writer makes."""
    return UnreadableError("the file is damaged or written in an unusual way; write it again, or give CSV")
