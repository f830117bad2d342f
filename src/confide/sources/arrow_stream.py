"""Columns of numbers from a stream of Arrow's C interface, which DuckDB offers without any package.

The interface is a few C structures whose layout never changes: https://arrow.apache.org/docs/format/CDataInterface.html
and CStreamInterface.html. PyArrow reads them at 170 MB and nanoarrow at 4; numbers without nulls take these lines.
Numbers are copied before the memory of a batch is given back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FORMATS = {
    b"c": np.int8,
    b"s": np.int16,
    b"i": np.int32,
    b"l": np.int64,
    b"C": np.uint8,
    b"S": np.uint16,
    b"I": np.uint32,
    b"L": np.uint64,
    b"f": np.float32,
    b"g": np.float64,
}


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]


class ArrowStreamError(Exception):
    """A stream ended with an error, or holds what is no number. Its text may quote rows."""


def number_batches(source: Any) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of an object with `__arrow_c_stream__`, some rows at a time; all are numbers without nulls."""
    capsule = source.__arrow_c_stream__()
    stream = _stream_of(capsule)
    try:
        kinds = _kinds(stream)
        while (batch := _next(stream, kinds)) is not None:
            if any(column.size for column in batch.values()):
                yield batch
    finally:
        stream.release(ctypes.byref(stream))  # the capsule then has nothing left to release


def _stream_of(capsule: Any) -> _Stream:
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = _Stream.from_address(pointer_of(capsule, b"arrow_array_stream"))
    stream.capsule = capsule  # which owns the memory
    return stream


def _kinds(stream: _Stream) -> dict[str, Any]:
    schema = _Schema()
    _check(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
    try:
        columns = [schema.children[place].contents for place in range(schema.n_children)]
        if schema.format != b"+s" or any(column.format not in _FORMATS for column in columns):
            raise ArrowStreamError("a column does not hold numbers")
        return {column.name.decode("utf-8"): _FORMATS[column.format] for column in columns}
    finally:
        schema.release(ctypes.byref(schema))


def _next(stream: _Stream, kinds: dict[str, Any]) -> dict[str, NDArray[Any]] | None:
    """Return the next batch; None behind the last."""
    array = _Array()
    _check(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
    if not array.release:
        return None
    try:
        columns = (array.children[place].contents for place in range(array.n_children))
        return {
            name: _numbers(column, np.dtype(kind), array)
            for (name, kind), column in zip(kinds.items(), columns, strict=True)
        }
    finally:
        array.release(ctypes.byref(array))


def _numbers(column: _Array, kind: np.dtype[Any], rows: _Array) -> NDArray[Any]:
    """Return a copy of a column's numbers in the rows of a batch."""
    if not rows.length:
        return np.empty(0, kind)
    first = column.offset + rows.offset
    if column.null_count > 0 or (column.null_count < 0 and column.buffers[0]):
        present = (ctypes.c_uint8 * (-(-(first + rows.length) // 8))).from_address(column.buffers[0])
        if not np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")[first : first + rows.length].all():
            raise ArrowStreamError("a column of numbers has missing values")
    held = (ctypes.c_uint8 * ((first + rows.length) * kind.itemsize)).from_address(column.buffers[1])
    return np.frombuffer(held, kind)[first:].copy()


def _check(stream: _Stream, code: int) -> None:
    if code:
        said = stream.get_last_error(ctypes.byref(stream))
        raise ArrowStreamError((said or b"the stream ended").decode("utf-8", "replace"))
