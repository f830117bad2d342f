"""Encryption of shares that are stored in the ledger, with a secret of the site's.

A site keeps its share of a private sum, its counts with only a share of the noise, so that the same question can
be answered again at no further cost. Alone, such a share is less private than what was released, so the
ledger stores it encrypted with ChaCha20-Poly1305. A reader of the ledger without the secret learns only its length, and
can neither change it nor swap it for another answer: the context is authenticated with it.

Nonces are drawn at random; up to 2^32 texts may be sealed under one secret.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from confide.errors import FederationError, ParameterError
from confide.federation.site_files import read_secret
from confide.files import create_file

_KEY = 32
_NONCE = 12
_MARK = "sealed1:"
_PURPOSE = b"confide sealed answers 1"


@dataclass(frozen=True, slots=True)
class Seal:
    """Seals texts and opens them again.

    >>> seal = Seal.of(bytes(range(32)))
    >>> seal.open(seal.seal(b"3,1,4", b"question 1"), b"question 1")
    b'3,1,4'
    """

    _key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: bytes) -> Seal:
        """Derive the key from a secret of 32 random bytes or more."""
        if len(secret) < _KEY:
            raise ParameterError(f"the secret must have at least {_KEY} random bytes; draw a new one")
        return cls(HKDF(algorithm=hashes.SHA256(), length=_KEY, salt=None, info=_PURPOSE).derive(secret))

    @classmethod
    def kept(cls, path: Path) -> Seal:
        """Read the secret from a file that only its owner may read; make the file with a fresh secret if there is none.

        The file appears whole or not at all, and the first of several processes wins.
        """
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                create_file(path, lambda unfinished: unfinished.write_text(secrets.token_hex(_KEY) + "\n"))
        except FileExistsError:
            pass
        except OSError as error:
            raise FederationError(
                f"the secret {path} cannot be made ({error.strerror}); make its folder writable"
            ) from None
        return cls.of(_secret(path))

    def seal(self, plain: bytes, context: bytes) -> str:
        """Encrypt under a fresh nonce; only the same context opens it."""
        nonce = secrets.token_bytes(_NONCE)
        sealed = nonce + ChaCha20Poly1305(self._key).encrypt(nonce, plain, context)
        return _MARK + base64.b64encode(sealed).decode("ascii")

    def open(self, text: str, context: bytes) -> bytes:
        """Decrypt what was sealed with this secret in this context."""
        try:
            sealed = base64.b64decode(text.removeprefix(_MARK), validate=True) if text.startswith(_MARK) else b""
            return ChaCha20Poly1305(self._key).decrypt(sealed[:_NONCE], sealed[_NONCE:], context)
        except (binascii.Error, ValueError, InvalidTag):
            raise FederationError(
                "a stored answer cannot be opened: it is damaged, or the site's secret is not the one it was sealed "
                "with. Put the secret back from a backup; with a new one the question must be paid for again"
            ) from None


def _secret(path: Path) -> bytes:
    try:
        secret = bytes.fromhex(read_secret(path, "secret").decode("ascii").strip())
    except ValueError:
        secret = b""
    if len(secret) < _KEY:
        raise FederationError(f"the secret {path} must hold {2 * _KEY} hexadecimal digits; put it back from a backup")
    return secret
