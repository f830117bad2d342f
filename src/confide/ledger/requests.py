"""When two requests are the same: same public parameters, same guarantee, same part, same data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic

from confide.errors import ParameterError
from confide.ledger.entries import canonical_json
from confide.ledger.seals import seal
from confide.privacy.guarantee import Guarantee
from confide.releases.prepared import A, Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[A]):
    """What is prepared as the ledger sees it: `parameters` are public, the digest is not and is never stored."""

    prepared: Prepared[A]
    parameters: str
    digest: bytes

    @classmethod
    def of(cls, prepared: Prepared[A]) -> Request[A]:
        """Write down what is asked."""
        plain = {"request": dict(prepared.request), "guarantee": _exact(prepared.guarantee)}
        if prepared.part is not None:
            plain["part"] = prepared.part.to_dict()
        return cls(
            prepared=prepared,
            parameters=canonical_json(plain, "request"),
            digest=content_digest(prepared.content()),
        )

    def identity(self, key: bytes) -> str:
        """A keyed hash of parameters and data: equal requests have equal ones, and it tells nothing else."""
        return seal(key, "request", self.parameters, self.digest)


def content_digest(chunks: Iterable[bytes]) -> bytes:
    """Hash data piece by piece. Without a key it could be guessed: it must not leave the process."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def data_account(key: bytes, digest: bytes) -> str:
    """The name of the account of some data, where the data holder gave none."""
    return "data-" + seal(key, "data", digest)[:16]


def common_digest(requests: Iterable[Request[Any]]) -> bytes:
    """The digest of the data that all requests are about."""
    digests = {request.digest for request in requests}
    if len(digests) != 1:
        raise ParameterError("releases of different data in one request need the name of their account")
    return digests.pop()


def _exact(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "epsilon": str(guarantee.epsilon),
        "delta": str(guarantee.delta),
        "neighbours": guarantee.neighbours.value,
        "unit": guarantee.unit,
        "public": list(guarantee.public),
        "rho": None if guarantee.rho is None else str(guarantee.rho),
    }
