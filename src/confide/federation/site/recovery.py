"""Site's part in a sum that survives dropouts: sealed shares before it answers, a vote and shown shares after.

The rounds are those of `crypto.recovery`. What a site must know before it shows a share is checked here: that enough
sites are left, that each of them answered under the same masks, that enough of them voted for the same list, and that
the register has no other list for this sum. Secrets are in memory only: a site that is restarted in the middle of a run
has none to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from confide.errors import FederationError, RefusedError
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.identity import Identity
from confide.federation.crypto.recovery import Answered, Sharer, Vote, check_answered, check_votes
from confide.federation.crypto.secure_sum import Masks
from confide.federation.crypto.shares import SealingKey, verified_keys
from confide.federation.protocol import Message
from confide.federation.question import Question
from confide.federation.site.register import Register, check_members

_ORDER = "this site was not asked for this step of the run; ask again from the beginning"


@dataclass(slots=True, kw_only=True)
class SiteRecovery:
    """Secrets and state of one session; `signed` is the question as the coordinator signed it."""

    signed: Question
    register: Register
    source: str
    identity: Identity
    keys: KeyPair = field(repr=False)
    offer: Offer
    pinned: Mapping[str, str] | None
    sealing: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate, repr=False)
    agreement: Agreement | None = None
    taking_part: Agreement | None = None
    answered: bool = False
    _proven: tuple[str, ...] | None = field(default=None, repr=False)
    _sharer: Sharer | None = field(default=None, repr=False)

    def first_reply(self) -> dict[str, Any]:
        """Return the key to which others seal their shares for this site."""
        return {"sealing": SealingKey.signed(self.identity, self.sealing, self.offer).to_dict()}

    def settled(self) -> Mapping[str, str] | None:
        """Return the list of sites that the register has for this sum."""
        return self.register.settled(self.signed, source=self.source)

    def settled_with(self, listed: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return with which sites alone this site answers, from those that the register lists for the question.

        While no list of those that are left is settled, any of the question's sites may still be on it.
        """
        if listed is not None and listed != self.signed.sites:
            return listed
        settled = self.settled()
        return None if settled is None else tuple(sorted(settled))

    def shares(self, offers: tuple[Offer, ...], request: Message) -> dict[str, Any]:
        """Split this site's secrets and seal the shares to all sites on the list, once. Nothing is charged yet."""
        if self._sharer is not None:
            raise FederationError("this site has sealed its shares in this run; ask again from the beginning")
        self._check_enough(len({offer.site for offer in offers}))
        self.agreement = Agreement.verified(
            offers,
            session=self.offer.session,
            question=self.signed.digest(),
            asked=self.signed.sites,
            root=self.identity.root,
            at=datetime.now(UTC),
            pinned=self.pinned,
            revoked=self.identity.revoked,
        )
        if self.offer not in self.agreement.offers:
            raise FederationError("the offer of this site is not on the list as it was made; nothing is sent")
        self._check_settled(self.agreement)
        sealing = request.get("sealing")
        if not isinstance(sealing, list):
            raise FederationError("the request has no sealing keys of the other sites; ask with `confide validate`")
        keys = verified_keys((SealingKey.from_dict(key) for key in sealing), self.agreement)
        self._sharer = Sharer(
            self.agreement, self.keys, self.sealing, keys, self.identity, threshold=self.signed.threshold or 0
        )
        return {"boxes": self._sharer.boxes()}

    def masks(self, request: Message) -> Masks:
        """Open the shares of all who take part, and return this site's masks; enough of them must be there."""
        boxes = request.get("boxes")
        if self._sharer is None or not isinstance(boxes, Mapping):
            raise FederationError(_ORDER)
        self._check_enough(len(boxes) + 1)
        self.taking_part, masks = self._sharer.masks(boxes)
        self._check_settled(self.taking_part)
        return masks

    def meet(self) -> None:
        """Store the own keys of all who take part, before the answer is sent."""
        if self.taking_part is None:
            raise FederationError(_ORDER)
        self.register.meet(self.signed, _own_keys(self.taking_part), source=self.source)

    def vote(self, request: Message) -> dict[str, Any]:
        """Vote for the list of sites that are left, after it is in the register."""
        left, agreement = self._checked_list(request)
        self._settle(left, agreement)
        return {"vote": Vote.signed(self.identity, agreement, left).to_dict()}

    def shown(self, request: Message) -> dict[str, Any]:
        """Show shares of seeds of the sites that are left and of keys of the others, for one list, ever."""
        left, agreement = self._checked_list(request)
        if left != agreement.sites:
            votes = request.get("votes")
            listed = votes if isinstance(votes, list) else []
            check_votes((Vote.from_dict(vote) for vote in listed), left, agreement, self.signed.threshold or 0)
        self._settle(left, agreement)
        if self._sharer is None:
            raise FederationError(_ORDER)
        return {"shares": self._sharer.shown(left)}

    def _checked_list(self, request: Message) -> tuple[tuple[str, ...], Agreement]:
        """Return the list of a request, if each site on it proved that it answered under this site's masks."""
        left, answered = request.get("left"), request.get("answered")
        if self.taking_part is None or not self.answered:
            raise FederationError(_ORDER)
        if not isinstance(left, list) or not all(isinstance(name, str) for name in left):
            raise FederationError("the request has no list of sites; ask with `confide validate`")
        if len(set(left)) < len(left):
            raise FederationError("the request lists a site twice; ask with `confide validate`")
        listed = tuple(sorted(left))
        self._check_enough(len(listed))
        if self.identity.name not in listed:
            raise RefusedError("this site is not among those that are left, and shows nothing")
        if listed != self._proven:
            proofs = [Answered.from_dict(proof) for proof in (answered if isinstance(answered, list) else [])]
            check_answered(proofs, listed, self.taking_part)
            self._proven = listed
        return listed, self.taking_part

    def _settle(self, left: tuple[str, ...], agreement: Agreement) -> None:
        members = {site: key for site, key in _own_keys(agreement).items() if site in left}
        self.register.settle(self.signed, members, source=self.source)

    def _check_settled(self, agreement: Agreement) -> None:
        """Refuse, before anything is charged, a list that cannot become the settled one, or a site set up anew."""
        settled, members = self.settled(), _own_keys(agreement)
        if settled is not None:
            check_members(self.signed, settled, members)
        self.register.check_met(self.signed, members, source=self.source)

    def _check_enough(self, sites: int) -> None:
        if sites < self.signed.left:
            raise RefusedError(
                f"{sites} sites are left, and the coordinator signed that a sum needs {self.signed.left}; ask all of "
                "them again"
            )


def _own_keys(agreement: Agreement) -> dict[str, str]:
    return {offer.site: offer.own_key.hex() for offer in agreement.offers}
