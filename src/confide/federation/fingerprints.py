"""Fingerprints of keys as people read, write and compare them."""

from __future__ import annotations


def plain_fingerprint(written: str) -> str:
    """Return a fingerprint as people write it, in lower case and without colons and spaces.

    >>> plain_fingerprint("0F:3C 77aa")
    '0f3c77aa'
    """
    return "".join(written.replace(":", " ").split()).lower()


def readable_fingerprint(plain: str) -> str:
    """Return a fingerprint in groups of four digits, to be read out.

    >>> readable_fingerprint("0f3c77aa12")
    '0f3c 77aa 12'
    """
    return " ".join(plain[start : start + 4] for start in range(0, len(plain), 4))
