"""Archives of named files, as bytes: stored and never compressed, so that equal content is equal bytes, the size of an
archive reveals nothing about what is in it, and no archive is larger once it is unpacked.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from confide.errors import UnreadableError

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that an archive can hold
_MODE = 0o644 << 16


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """Write files into an archive, in the given order.

    >>> read_archive(write_archive({"a": b"1"}), what="an archive", most_members=1)
    {'a': b'1'}
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.create_system = 3  # the same bytes on every system
            entry.external_attr = _MODE
            archive.writestr(entry, data)
    return content.getvalue()


def read_archive(content: bytes, *, what: str, most_members: int) -> dict[str, bytes]:
    """Read the files of an archive; refuse compressed files, names that occur twice, and damage."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            plain = all(
                entry.compress_type == zipfile.ZIP_STORED
                and entry.file_size == entry.compress_size <= len(content)
                and not entry.flag_bits & 1
                for entry in entries
            )
            names = {entry.filename for entry in entries}
            total = sum(entry.file_size for entry in entries)
            if plain and len(names) == len(entries) <= most_members and total <= len(content):
                return {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, OSError):
        pass
    raise damaged(what)


def damaged(what: str) -> UnreadableError:
    """Return the error for a file that is not what it should be."""
    return UnreadableError(f"this is not {what}, or it is damaged; give the file as it was written")
