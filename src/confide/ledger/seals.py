"""Keyed hashes: who lacks the key can neither make one nor guess what is behind it."""

from __future__ import annotations

import hmac
from hashlib import sha256


def seal(key: bytes, purpose: str, *parts: str | int | bytes | None) -> str:
    """HMAC-SHA256, in hex, of a purpose and parts.

    Every part is written with its kind and its length, so that no two lists of parts are written
    alike; the purpose keeps a seal of one thing from passing as a seal of another.
    """
    digest = hmac.new(key, digestmod=sha256)
    for part in (purpose, *parts):
        digest.update(_written(part))
    return digest.hexdigest()


def same_seal(one: object, other: str) -> bool:
    """Compare seals in a time that does not tell where they differ. A value of a database that is no text is none."""
    return isinstance(one, str) and hmac.compare_digest(one.encode(), other.encode())


def _written(part: str | int | bytes | None) -> bytes:
    if part is None:
        return b"n"
    if isinstance(part, bytes):
        return b"b%d:" % len(part) + part
    kind, text = (b"s", part.encode()) if isinstance(part, str) else (b"i", str(part).encode())
    return kind + b"%d:" % len(text) + text
