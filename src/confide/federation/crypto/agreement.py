"""Agreement of sites on a secure sum: signed offers of keys, and the list of offers that all sites must share.

A site offers a fresh X25519 public key for one session and one question, signed twice: with its certificate's key
and with the key that it made for itself (`identity`). The coordinator hands all offers to every site. A site goes
on only if every offer is signed by a site of this federation for the same session and question, and its own is among
them as it made it.

So a server that carries offers cannot replace a site's key. The maker of the certificates can, by minting others or
keeping copies of the kits, unless sites pin the fingerprints of each other's own keys: then nobody can. Without pins,
the holder of the root's key and everybody who had the kits are trusted.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.identity import MOST_PEM, Identity, Peer, check_signed, has_fingerprint
from confide.federation.question_terms import FEWEST_MASKED

LABEL = b"confide secure sum 1"
"""Protocol and version: part of everything that is signed, hashed or derived."""

_LENGTH = struct.Struct("<Q").pack
_DIGEST = re.compile("[0-9a-f]{64}")
_SESSION = re.compile("[0-9a-f]{32,64}")
_PRIME = 2**255 - 19
_LONGEST_NAME = 64
_LONGEST_SIGNATURE = 2_000
_TEXTS = ("site", "session", "question", "public_key", "own_key", "certificate", "signature", "own_signature")


def written(purpose: bytes, *parts: bytes) -> bytes:
    """Join parts, each with its length before it, so that different lists give different bytes."""
    return b"".join([piece for part in (LABEL, purpose, *parts) for piece in (_LENGTH(len(part)), part)])


class KeyPair:
    """An X25519 key pair for one sum: its private half can be taken out once, and is never written anywhere."""

    __slots__ = ("_private", "public")

    def __init__(self, private: X25519PrivateKey) -> None:
        self._private = [private]
        self.public = private.public_key().public_bytes_raw()

    @classmethod
    def fresh(cls) -> KeyPair:
        """Draw a pair from the operating system's generator."""
        return cls(X25519PrivateKey.generate())

    def spend(self) -> X25519PrivateKey:
        """Return the private key, once: masks that are used twice cancel out."""
        try:
            return self._private.pop()
        except IndexError:
            raise FederationError("these keys have masked an answer before; begin a new run, with fresh keys") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A site's signed statement that this public key is its own in this session, for this question.

    `session` is what the coordinator drew for this run, `question` the question's digest, both in hex; `certificate`
    is PEM; `own_key` is the public half of the key that the site made for itself. `signature` is by the certificate's
    key and `own_signature` by the own, over the same statement, which holds everything else.
    """

    site: str
    session: str
    question: str
    public_key: bytes
    own_key: bytes
    certificate: str
    signature: bytes
    own_signature: bytes

    @classmethod
    def signed(cls, identity: Identity, keys: KeyPair, *, session: str, question: str) -> Offer:
        """Offer a public key in the site's name."""
        if not _SESSION.fullmatch(session) or not _DIGEST.fullmatch(question):
            raise ParameterError("session must be 32 to 64 hexadecimal digits in small letters, question must be 64")
        own = identity.own.public
        statement = _statement(session, question, identity.name, keys.public, own, identity.certificate)
        return cls(
            site=identity.name,
            session=session,
            question=question,
            public_key=keys.public,
            own_key=own,
            certificate=identity.certificate,
            signature=identity.sign(statement),
            own_signature=identity.own.sign(statement),
        )

    def verified(
        self,
        root: str,
        *,
        at: datetime,
        pinned: Mapping[str, str] | None = None,
        revoked: Mapping[str, datetime] | None = None,
    ) -> Offer:
        """Return this offer after its certificate, both signatures and the fingerprint of its own key were checked.

        `pinned` holds the fingerprints of the only sites that are trusted; without it, all sites of the root are, with
        whatever own keys they bring. `revoked` is as in `Peer.verified`.
        """
        if pinned is not None and self.site not in pinned:
            raise FederationError(
                f"no fingerprint is pinned here for site {self.site!r}; ask the site for it and pin it, or leave it out"
            )
        statement = _statement(self.session, self.question, self.site, self.public_key, self.own_key, self.certificate)
        peer = Peer.verified(self.site, self.certificate, root, at=at, revoked=revoked)
        peer.check(self.signature, statement, "the offer")
        check_signed(self.own_key, self.own_signature, statement, site=self.site, what="the offer")
        if pinned is not None and not has_fingerprint(self.own_key, pinned[self.site]):
            raise FederationError(
                f"the own key of site {self.site!r} does not have the fingerprint pinned here: somebody poses as it, "
                "or it was set up anew. Ask that site for its fingerprint by telephone, and pin that"
            )
        return self

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {
            "site": self.site,
            "session": self.session,
            "question": self.question,
            "public_key": self.public_key.hex(),
            "own_key": self.own_key.hex(),
            "certificate": self.certificate,
            "signature": base64.b64encode(self.signature).decode("ascii"),
            "own_signature": base64.b64encode(self.own_signature).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, plain: object) -> Offer:
        """Read an offer that came from elsewhere; nothing in it is trusted before `verified`."""
        given = texts(plain, "offer", _TEXTS)
        site = checked_site(given["site"])
        digests = all(_DIGEST.fullmatch(given[name]) for name in ("question", "public_key", "own_key"))
        plain_text = given["certificate"].isascii() and len(given["certificate"]) <= MOST_PEM
        if not digests or not _SESSION.fullmatch(given["session"]) or not plain_text:
            raise FederationError(f"the offer of site {site!r} is malformed; install the same version everywhere")
        key = bytes.fromhex(given["public_key"])
        if int.from_bytes(key, "little") >= _PRIME:
            raise FederationError(f"site {site!r} offers no X25519 key as it should be written; leave that site out")
        signature, own_signature = (
            decoded(given[name], _LONGEST_SIGNATURE, f"the signature of site {site!r}")
            for name in ("signature", "own_signature")
        )
        return cls(
            site=site,
            session=given["session"],
            question=given["question"],
            public_key=key,
            own_key=bytes.fromhex(given["own_key"]),
            certificate=given["certificate"],
            signature=signature,
            own_signature=own_signature,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All offers of a session in the order of the sites' names, each checked; made by `verified` only.

    `recovery` says how masks can be taken off after a site dropped out (`recovered_by`); it is empty if they cannot.
    """

    session: str
    question: str
    offers: tuple[Offer, ...]
    recovery: str = ""
    sites: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of all sites that take part."""
    _digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sites", tuple(offer.site for offer in self.offers))
        object.__setattr__(self, "_digest", self._hashed())

    @classmethod
    def verified(
        cls,
        offers: Iterable[Offer],
        *,
        session: str,
        question: str,
        asked: Collection[str],
        root: str,
        at: datetime,
        pinned: Mapping[str, str] | None = None,
        revoked: Mapping[str, datetime] | None = None,
    ) -> Agreement:
        """Check that these offers can make a sum; sites and the coordinator make the same check.

        There must be three or more, of distinct sites that were asked, with distinct keys, all for the session
        and question given, each by a site of the root's (and, if given, of the fingerprint pinned for it).
        """
        ordered = tuple(sorted(offers, key=lambda offer: offer.site))
        names = [offer.site for offer in ordered]
        if len(set(names)) < len(names):
            raise FederationError("a site is on the list twice; send each site's offer once")
        if len(names) < FEWEST_MASKED:
            raise FederationError(
                f"a secure sum needs at least {FEWEST_MASKED} sites: with two, each could subtract its own part from "
                "the sum; ask more sites"
            )
        if len({offer.public_key for offer in ordered}) < len(names):
            raise FederationError("two sites offer the same key, which cannot be by chance; run again with fresh keys")
        for offer in ordered:
            if offer.site not in asked:
                raise FederationError(f"site {offer.site!r} is on the list but was not asked; leave it out")
            if (offer.session, offer.question) != (session, question):
                raise FederationError(
                    f"the offer of site {offer.site!r} was made for another run or another question; run again"
                )
        checked = tuple(offer.verified(root, at=at, pinned=pinned, revoked=revoked) for offer in ordered)
        return cls(session=session, question=question, offers=checked)

    def offer_of(self, site: str) -> Offer:
        """Return the offer of a site that takes part."""
        return next(offer for offer in self.offers if offer.site == site)

    def recovered_by(self, threshold: int, sites: Collection[str]) -> Agreement:
        """Return the agreement of those sites whose shares all of them hold; `threshold` of them can take masks off."""
        kept = tuple(offer for offer in self.offers if offer.site in sites)
        return replace(self, offers=kept, recovery=f"{threshold}:{self.digest()}")

    def digest(self) -> str:
        """Return a hash of session, question, names and keys; there is a sum only if all sites have the same."""
        return self._digest

    def _hashed(self) -> str:
        listed = [part for offer in self.offers for part in (offer.site.encode(), offer.public_key)]
        if self.recovery:
            listed.append(self.recovery.encode())
        return sha256(written(b"agreement", self.session.encode(), self.question.encode(), *listed)).hexdigest()


def _statement(session: str, question: str, site: str, public_key: bytes, own_key: bytes, certificate: str) -> bytes:
    named = (session.encode(), question.encode(), site.encode())
    return written(b"offer", *named, public_key, own_key, certificate.encode())


def signed_reply(
    identity: Identity,
    reply: Mapping[str, Any],
    *,
    topic: str,
    session: str,
    question: str,
    request: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a site's reply with its signature by the site's own key, over everything in it.

    The signature names the round (`topic`), the session, the digest of the question and the request that it replies to.
    So whoever carries requests and replies can neither change one nor use it elsewhere, and the coordinator can check a
    result by itself.
    """
    plain = json.loads(json.dumps(reply))
    signature = identity.own.sign(_reply_statement(plain, topic, session, question, request))
    return {**plain, "signature": base64.b64encode(signature).decode("ascii")}


def check_reply(
    reply: Mapping[str, Any],
    own_key: bytes,
    *,
    site: str,
    topic: str,
    session: str,
    question: str,
    request: Mapping[str, Any],
) -> None:
    """Refuse a reply that the holder of a site's own key did not sign for this round, session, question and request."""
    signature = reply.get("signature")
    given = decoded(signature, _LONGEST_SIGNATURE, "the signature") if isinstance(signature, str) else b""
    unsigned = {name: value for name, value in reply.items() if name != "signature"}
    statement = _reply_statement(unsigned, topic, session, question, request)
    check_signed(own_key, given, statement, site=site, what="the reply")


def _reply_statement(
    reply: Mapping[str, Any], topic: str, session: str, question: str, request: Mapping[str, Any]
) -> bytes:
    replied, asked = (sha256(json.dumps(each, sort_keys=True).encode()).digest() for each in (reply, request))
    return written(b"reply", topic.encode(), session.encode(), question.encode(), asked, replied)


def texts(plain: object, what: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of a message; refuse one that holds other keys."""
    found = dict(plain) if isinstance(plain, dict | Mapping) else {}
    if set(found) != set(names) or not all(isinstance(text, str) for text in found.values()):
        raise FederationError(f"an {what} is malformed; install the same version of confide everywhere")
    return found


def checked_site(name: str) -> str:
    """Return a site's name; refuse a text that cannot be one, before it is shown to anybody."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise FederationError(
            "a site sent something that is not a name; install the same version of confide everywhere"
        )
    return name


def decoded(text: str, most: int, what: str) -> bytes:
    """Decode base64 of at most `most` bytes."""
    try:
        if len(text) <= 4 * (most // 3 + 1):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise FederationError(f"{what} is malformed; install the same version of confide everywhere")
