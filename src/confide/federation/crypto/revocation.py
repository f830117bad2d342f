"""List of certificates that must no longer be trusted, signed by the federation's root.

The list has a time for each name: certificates in that name which began then or earlier are not trusted, whatever key
they are for and whether or not anybody kept them. A site that is signed for again, with a new key, has a later one.

Lists are numbered. A peer that has one takes only a later one, which holds everything of its own: so whoever carries
lists cannot bring an older one back.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from confide.errors import FederationError
from confide.federation.crypto.agreement import checked_site, decoded, written
from confide.federation.crypto.identity import Peer, PrivateKey, certificate_key, sign_with
from confide.federation.site_files import write_whole

REVOKED = "revoked.json"
"""File of a list."""

MOST_CHARACTERS = 100_000
"""Most characters of a list that came from elsewhere: more than a thousand names."""

_PURPOSE = b"list of revoked certificates"
_LONGEST_SIGNATURE = 2_000
_AGAIN = "ask the coordinator for the list of `confide federation revoke`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocations:
    """A list of revoked certificates; number 0 is no list at all.

    `before` has a name's time: certificates in that name which began then or earlier are revoked.
    """

    number: int = 0
    before: Mapping[str, datetime] = field(default_factory=dict)
    signature: bytes = field(default=b"", repr=False)

    @classmethod
    def signed(cls, number: int, before: Mapping[str, datetime], key: PrivateKey) -> Revocations:
        """Sign a list with the root's key."""
        whole = {name: time.astimezone(UTC).replace(microsecond=0) for name, time in sorted(before.items())}
        return cls(number=number, before=whole, signature=sign_with(key, _statement(number, whole)))

    @classmethod
    def parse(cls, text: str, root: str) -> Revocations:
        """Read a list that came from elsewhere; refuse one that the root did not sign."""
        try:
            plain = json.loads(text if len(text) <= MOST_CHARACTERS else "")
            number = plain["number"]
            before = {checked_site(name): datetime.fromisoformat(time) for name, time in plain["revoked"].items()}
            if type(number) is not int or number < 1 or any(time.tzinfo is None for time in before.values()):
                raise ValueError("no number, or no time zone")
            signature = decoded(plain["signature"], _LONGEST_SIGNATURE, "the signature of a list")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FederationError(f"the list of revoked certificates cannot be read; {_AGAIN}") from None
        try:
            Peer(name="root", key=certificate_key(root)).check(signature, _statement(number, before), "the list")
        except FederationError:
            raise FederationError(
                f"the list of revoked certificates is not signed by this federation's root; {_AGAIN}"
            ) from None
        return cls(number=number, before=before, signature=signature)

    @classmethod
    def load(cls, path: Path, root: str) -> Revocations:
        """Read the list in a file; none is there before the first certificate is revoked."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError):
            raise FederationError(f"{path} cannot be read; put it back from a backup") from None
        try:
            return cls.parse(text, root)
        except FederationError as error:
            raise FederationError(f"{path}: {error}") from None

    def to_text(self) -> str:
        """Return the list as a file holds it."""
        revoked = {name: time.isoformat() for name, time in self.before.items()}
        return json.dumps(
            {"number": self.number, "revoked": revoked, "signature": b64encode(self.signature).decode("ascii")}
        )

    def follows(self, known: Revocations) -> bool:
        """Return whether this list replaces one that is known; refuse a later one that takes something back."""
        if self.number <= known.number:
            return False
        for name, time in known.before.items():
            if name not in self.before or self.before[name] < time:
                raise FederationError(
                    f"the list of revoked certificates has number {self.number}, and lacks what an earlier one has "
                    f"about site {name!r}; {_AGAIN}"
                )
        return True


def take_in(path: Path, text: str, root: str) -> bool:
    """Store a list if it is later than the one in a file; return whether it was stored."""
    new = Revocations.parse(text, root)
    later = new.follows(Revocations.load(path, root))
    if later:
        write_whole(path, new.to_text())
    return later


def _statement(number: int, before: Mapping[str, datetime]) -> bytes:
    listed = [part.encode() for name in sorted(before) for part in (name, before[name].astimezone(UTC).isoformat())]
    return written(_PURPOSE, str(number).encode(), *listed)
