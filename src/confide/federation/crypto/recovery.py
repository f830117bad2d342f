"""Recovery of a secure sum after sites dropped out (Bonawitz et al. 2017, with one list of sites per question).

Every site adds to its answer, beside the masks that it shares with its peers, a self-mask from a seed of its own. It
splits the private key of its shared masks and this seed by Shamir's scheme and seals the shares to its peers
(`shares`) before anybody answers. When answers are in, the sites that sent one make a list, the same for all. To
take the masks off, a site shows its shares of the *seeds* of those on the list, and of the *keys* of those not on it:
never both of one site. With `threshold` shares of each, the sum over the list can be read.

What is promised. Let the server and `colluders` of n sites be dishonest, c of them, let t be the threshold with
2t > n + c, and let H be the n - c honest sites.

1. Not both secrets. Each site of H shows a share of one of another's two secrets, and a colluder may show both: at
   most n + c shares of the two, and two times t are more.
2. One list. A site shows shares for a list only if all of it is signed for (`Answered`: who answered, and under which
   masks) and either nobody dropped out or t sites have voted for it (`Vote`). Before it votes or shows, it writes the
   list down, and it does so for one list of a question, ever (`federation.site.register`). So a list for which masks
   are taken off was written down by at least t - c sites of H. Two lists would need 2 (t - c) > n - c of them, so one
   site would have written down both. This holds over all sessions, and also for a site that died before it wrote: the
   others remember. A site that forgets counts as one of the c; so does one that was set up anew, for peers that never
   answered this sum with its old key, unless they pinned it. If some sites hear that nobody dropped out and others
   vote for a shorter list, then by the same count at most one of the two sums can be read.
3. Only the sum over the list. Of a site on the list the seed can be known and, by 1, not the key. So its answer still
   has its shared masks with all other honest sites on the list: all of them signed that they answered under the same
   masks. What is left is the sum over the honest sites on the list, as without dropouts. Of a site not on the list at
   most the key can be known, and its self-mask hides its answer.
4. Enough noise. The list has at least max(`fewest`, t) sites. Shares of noise are sized for so many less the colluders,
   whoever drops out.

What is not promised.

- Against more colluders than the threshold allows for, an answer is as good as shown: alone it is the site's own table,
  or its counts under its own share of noise. Without recovery the masks hold against any number of colluders.
- A site that sends shares that do not belong together can spoil the sum. Nothing is shown then.

Reference: Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine Learning", CCS, section 6.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from confide.errors import FederationError
from confide.federation.crypto.agreement import Agreement, KeyPair, checked_site, decoded, texts, written
from confide.federation.crypto.identity import Identity, check_signed
from confide.federation.crypto.secure_sum import (
    Int64Array,
    MaskedVector,
    Masks,
    UInt64Array,
    answer_statement,
    check_answers,
    checked_total,
    pair_masks,
    self_masks,
)
from confide.federation.crypto.shares import PRIME, Shares, combined, opened_shares, sealed_shares, split

_SECRET = 32


class Sharer:
    """A site's secrets of one recoverable sum: made before it answers, and shown in part after.

    Making it spends the keys of the masks. Nothing in it is ever written to a disk.
    """

    def __init__(
        self,
        agreement: Agreement,
        keys: KeyPair,
        sealing: X25519PrivateKey,
        sealing_keys: Mapping[str, bytes],
        identity: Identity,
        *,
        threshold: int,
    ) -> None:
        self._private, self._seed = keys.spend(), secrets.token_bytes(_SECRET)
        self._sealing, self._sealing_keys = sealing, sealing_keys
        self._agreement, self._identity, self._threshold = agreement, identity, threshold
        held = {"shares": len(agreement.sites), "threshold": threshold}
        both = zip(split(self._private.private_bytes_raw(), **held), split(self._seed, **held), strict=True)
        self._own = {site: Shares(*shares) for site, shares in zip(agreement.sites, both, strict=True)}
        self._held: dict[str, Shares] = {}
        self._shown: tuple[str, ...] | None = None

    def boxes(self) -> dict[str, str]:
        """Return the sealed shares for each peer."""
        return sealed_shares(self._own, self._sealing, self._sealing_keys, self._agreement, self._identity.name)

    def masks(self, boxes: Mapping[str, object]) -> tuple[Agreement, Masks]:
        """Open the peers' boxes; return the agreement of all whose shares are here, and this site's masks in it."""
        me = self._identity.name
        if self._held:
            raise FederationError("these masks have been used; begin a new run, with fresh keys")
        strangers = set(boxes) - set(self._agreement.sites)
        if strangers or me in boxes:
            raise FederationError("boxes came from sites that are not on the list; run again")
        self._held = {me: self._own[me]} | {
            peer: opened_shares(box, self._sealing, self._sealing_keys, self._agreement, sender=peer, me=me)
            for peer, box in boxes.items()
        }
        taking_part = self._agreement.recovered_by(self._threshold, tuple(self._held))
        return taking_part, Masks(taking_part, KeyPair(self._private), self._identity, seed=self._seed)

    def shown(self, left: Collection[str]) -> dict[str, dict[str, str]]:
        """Return shares of the seeds of the sites that are left, and of the keys of the others; for one list only."""
        listed = tuple(sorted(left))
        if self._shown not in (None, listed):
            raise FederationError("this site has shown its shares for another list of sites; begin a new run")
        self._shown = listed
        return {
            "seeds": {site: f"{held.seed:x}" for site, held in self._held.items() if site in listed},
            "keys": {site: f"{held.key:x}" for site, held in self._held.items() if site not in listed},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Proof that a site answered, and under which masks: its signature over its answer, without the numbers."""

    site: str
    cells: int
    wide: int
    hashed: bytes
    signature: bytes

    @classmethod
    def of(cls, vector: MaskedVector) -> Answered:
        """Return the proof of an answer."""
        hashed = sha256(vector.payload).digest()
        return cls(site=vector.site, cells=vector.cells, wide=vector.wide, hashed=hashed, signature=vector.signature)

    def check(self, agreement: Agreement) -> None:
        """Refuse a proof that the site did not sign for this agreement."""
        if self.site not in agreement.sites:
            raise FederationError(f"site {self.site!r} is said to have answered, and did not take part; run again")
        statement = answer_statement(self.site, agreement.digest(), self.cells, self.wide, self.hashed)
        own_key = agreement.offer_of(self.site).own_key
        check_signed(own_key, self.signature, statement, site=self.site, what="the proof of the answer")

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {
            "site": self.site,
            "shape": f"{self.cells}+{self.wide}",
            "sha256": self.hashed.hex(),
            "signature": base64.b64encode(self.signature).decode("ascii"),
        }

    @classmethod
    def from_dict(cls, plain: object) -> Answered:
        """Read a proof that came from elsewhere; nothing in it is trusted before `check`."""
        given = texts(plain, "proof of an answer", ("site", "shape", "sha256", "signature"))
        site, (cells, _, wide) = checked_site(given["site"]), given["shape"].partition("+")
        try:
            hashed = bytes.fromhex(given["sha256"])
            numbers = [int(n) if n.isdecimal() and len(n) < 10 else -1 for n in (cells, wide)]
        except ValueError:
            hashed, numbers = b"", [-1, -1]
        if len(hashed) != 32 or min(numbers) < 1:
            raise FederationError(f"the proof of site {site!r} is malformed; install the same version everywhere")
        signature = decoded(given["signature"], 2_000, f"the signature of site {site!r}")
        return cls(site=site, cells=numbers[0], wide=numbers[1], hashed=hashed, signature=signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A site's signed consent to take masks off the sum over a list of sites."""

    site: str
    signature: bytes

    @classmethod
    def signed(cls, identity: Identity, agreement: Agreement, left: Collection[str]) -> Vote:
        """Vote for a list."""
        return cls(site=identity.name, signature=identity.own.sign(_vote_statement(identity.name, agreement, left)))

    def check(self, agreement: Agreement, left: Collection[str]) -> None:
        """Refuse a vote for another list, or of somebody else."""
        if self.site not in agreement.sites:
            raise FederationError(f"site {self.site!r} voted, and did not take part; run again")
        statement = _vote_statement(self.site, agreement, left)
        check_signed(agreement.offer_of(self.site).own_key, self.signature, statement, site=self.site, what="the vote")

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {"site": self.site, "signature": base64.b64encode(self.signature).decode("ascii")}

    @classmethod
    def from_dict(cls, plain: object) -> Vote:
        """Read a vote that came from elsewhere; nothing in it is trusted before `check`."""
        given = texts(plain, "vote", ("site", "signature"))
        site = checked_site(given["site"])
        return cls(site=site, signature=decoded(given["signature"], 2_000, f"the signature of site {site!r}"))


def check_answered(proofs: Iterable[Answered], left: Collection[str], agreement: Agreement) -> None:
    """Refuse a list of sites unless each of them signed that it answered under the same masks."""
    given = {proof.site: proof for proof in proofs}
    if set(given) != set(left):
        raise FederationError("the proofs are not those of the sites on the list; run again")
    for proof in given.values():
        proof.check(agreement)


def check_votes(votes: Iterable[Vote], left: Collection[str], agreement: Agreement, threshold: int) -> None:
    """Refuse a list of sites that fewer than `threshold` of its own sites voted for."""
    voters = set()
    for vote in votes:
        vote.check(agreement, left)
        voters.add(vote.site)
    if len(voters & set(left)) < threshold:
        raise FederationError(
            f"{len(voters & set(left))} sites voted for the list of those that are left; {threshold} must. Run again"
        )


@dataclass(slots=True, kw_only=True, repr=False)
class Unmasking:
    """Shares that sites have shown to the coordinator: of seeds and of keys, by site, at the holder's point."""

    agreement: Agreement
    holders: tuple[str, ...]
    left: tuple[str, ...]
    threshold: int
    seeds: dict[str, dict[int, int]] = field(default_factory=dict)
    keys: dict[str, dict[int, int]] = field(default_factory=dict)

    def add(self, holder: str, shown: object) -> None:
        """Take a site's shares; refuse a reply that does not hold those that were asked for."""
        dropped = set(self.agreement.sites) - set(self.left)
        read: dict[str, dict[str, int]] = {}
        for kind, expected in (("seeds", set(self.left)), ("keys", dropped)):
            given = shown.get(kind) if isinstance(shown, Mapping) else None
            if not isinstance(given, Mapping) or set(given) != expected:
                raise FederationError(f"site {holder!r} did not show the shares that it was asked for")
            read[kind] = {site: _number(share, holder) for site, share in given.items()}
        point = self.holders.index(holder) + 1
        for kind, store in (("seeds", self.seeds), ("keys", self.keys)):
            for site, share in read[kind].items():
                store.setdefault(site, {})[point] = share

    def total(self, vectors: Sequence[MaskedVector]) -> tuple[Int64Array, tuple[int, ...]]:
        """Return the sum over the sites that are left."""
        answers = sorted(vectors, key=lambda vector: vector.site)
        if tuple(vector.site for vector in answers) != self.left:
            raise FederationError("a sum needs one answer of each site on the list; run again")
        check_answers(answers, self.agreement)
        cells, wide = answers[0].cells, answers[0].wide
        parts = [vector.words() for vector in answers]
        for site in self.left:
            words, wides = self_masks(self._secret(self.seeds, site), self.agreement, site, cells, wide)
            parts.append(_negative(words, wides))
        for site in set(self.agreement.sites) - set(self.left):
            private = X25519PrivateKey.from_private_bytes(self._secret(self.keys, site))
            if private.public_key().public_bytes_raw() != self.agreement.offer_of(site).public_key:
                raise FederationError("the shares of a site's key do not belong together; run again")
            for peer in self.left:
                shared = private.exchange(X25519PublicKey.from_public_bytes(self.agreement.offer_of(peer).public_key))
                words, wides = pair_masks(shared, self.agreement, site, peer, cells, wide)
                parts.append(_negative(words, wides) if peer < site else (words, wides))
        return checked_total(parts)

    def _secret(self, shares: Mapping[str, Mapping[int, int]], site: str) -> bytes:
        held = shares.get(site, {})
        if len(held) < self.threshold:
            raise FederationError(f"too few sites showed their shares of site {site!r}; run again")
        return combined(dict(list(held.items())[: self.threshold]), _SECRET)


def _negative(words: UInt64Array, wides: Sequence[int]) -> tuple[UInt64Array, list[int]]:
    return np.negative(words), [-value for value in wides]


def _number(share: object, holder: str) -> int:
    try:
        number = int(share, 16) if isinstance(share, str) and len(share) <= 140 and share.isalnum() else -1
    except ValueError:
        number = -1
    if not 0 <= number < PRIME:
        raise FederationError(f"a share that site {holder!r} showed is malformed")
    return number


def _vote_statement(site: str, agreement: Agreement, left: Collection[str]) -> bytes:
    return written(b"vote", site.encode(), agreement.digest().encode(), *(name.encode() for name in sorted(left)))
