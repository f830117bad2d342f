"""Answers of a site in the private mode: a share of a sum, and noisy counts of its own.

A ledger identifies what it stored by the rows, too. Before the rows are read, all that is known of a part is whether it
was charged for with any rows. A part that never was costs its full price, so a question whose new parts cannot be paid
is refused without reading anything. The others may be stored: once the rows are read, the ledger decides.

Two answers are paid for in one transaction: the site's counts with a *share* of the noise, which may be seen only
inside a sum, and an ordinary release of noisy counts for the site's own curves. Both are stored, so that the same
question costs nothing more. The share is stored encrypted: alone it promises less than was paid for.

`accounts` has the account that they are charged to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.errors import BudgetError, ParameterError, RefusedError, UnpayableError
from confide.federation.modes.private import pooled_terms
from confide.federation.modes.registry import mode_of
from confide.federation.policy import Policy
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.federation.site.accounts import (
    UNIT,
    Prices,
    account_by_policy,
    left_to_study,
    one_charge_at_a_time,
    require_allowance,
    require_study,
    unpayable,
)
from confide.federation.site.records import SiteRecords
from confide.federation.site.register import Register
from confide.federation.site.scored_rows import SiteRows
from confide.ledger.entries import Kind
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.ledger.requests import Request
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise
from confide.records.chain import canonical_json
from confide.releases.curves import prepare_curves
from confide.releases.release import PreparedRelease
from confide.releases.terms import checked_counts

if TYPE_CHECKING:
    from confide.federation.crypto.agreement import Offer
    from confide.federation.crypto.shares import Seal
    from confide.ledger.entries import Entry
    from confide.ledger.receipts import Quote


_IDENTIFYING = ("request", "guarantee", "part")
"""Keys of a charge that identify its request, beside the question; it also holds how the account counted it."""


def never_charged(
    prepared: Sequence[Prepared[Any]], about: PublicQuestion, history: Sequence[Entry]
) -> list[Prepared[Any]]:
    """Return those of some prepared answers that no charge in a ledger's history was for, with any rows."""
    charged = {_without_data(entry.request_data) for entry in history if entry.kind == Kind.CHARGE}
    return [one for one in prepared if _without_data(json.loads(Request.of(one, about).parameters)) not in charged]


def _without_data(plain: Mapping[str, Any]) -> str:
    """Write everything that identifies a request, except the rows."""
    question = {name: value for name, value in plain.get("question", {}).items() if name != "data"}
    return canonical_json({**{name: plain.get(name) for name in _IDENTIFYING}, "question": question}, "request")


SCHEMA = "confide.share/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A site's counts with its share of the noise, encrypted for storage; it may be seen only inside a sum.

    `keys` is a digest of the own keys of the sites with which it was first sent: see `check_same_sites`.
    """

    guarantee: Guarantee
    sealed: str = field(repr=False)
    keys: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"schema": SCHEMA, "sealed": self.sealed, "keys": self.keys, "guarantee": self.guarantee.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], guarantee: Guarantee) -> Share:
        """Read a stored share; its guarantee is given, as plain data does not hold exact fractions."""
        return cls(guarantee=guarantee, sealed=plain["sealed"], keys=plain["keys"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """Paid answer of a site: integers for the sum, its own release as plain data, and the receipt."""

    integers: NDArray[np.int64] = field(repr=False)
    own: dict[str, Any] | None
    receipt: dict[str, Any]


def prepare_share(
    counts: ScoreCounts, question: Question, seal: Seal, noise: Noise = SYSTEM_NOISE, *, keys: str = ""
) -> Prepared[Share]:
    """Prepare a site's part of the sum with its price; every refusal comes before the charge.

    Requests are the same if everything that the sum depends on is the same: the model, the sites, the number of
    colluders, the grid, the noise and its price, and the data. The study makes no difference.
    """
    _require_private(question)
    checked_counts(counts)
    grid, law = question.public_grid, noise_of(question)
    query = law.share(cells_on(counts, grid))
    guarantee = law.pooled_guarantee(
        unit=UNIT,
        public=("grid of scores", "which sites take part", f"that {question.honest} of them keep their shares secret"),
    )

    def draw(noise: Noise = noise) -> tuple[Share, ...]:
        plain = np.array(query.draw(noise), dtype="<i8").tobytes()
        return (Share(guarantee=guarantee, sealed=seal.seal(plain, _context(question)), keys=keys),)

    return Prepared(
        guarantee=guarantee,
        request={
            "metric": "share",
            "mechanism": law.pooled_shares.mechanism,
            "strategy": law.strategy.name,
            **pooled_terms(question),
        },
        draw=draw,
        read=Share.from_dict,
        numbers=8 * len(grid),
    )


def opened_share(share: Share, question: Question, seal: Seal) -> NDArray[np.int64]:
    """Return the integers of a share: first of the positives, then of the negatives."""
    return np.frombuffer(seal.open(share.sealed, _context(question)), dtype="<i8").astype(np.int64)


def prepare_own(counts: ScoreCounts, question: Question, noise: Noise = SYSTEM_NOISE) -> PreparedRelease | None:
    """Prepare a site's own noisy counts with their price; None if only the sum is asked for.

    The release is the raw one, "counts", from which `curves_of` derives everything else.
    """
    _require_private(question)
    law = noise_of(question)
    if not law.has_own:
        return None
    prepared = prepare_curves(
        counts,
        **law.own_options(),
        grid=question.public_grid,
        neighbours=Neighbours.ADD_REMOVE_ONE,
        unit=UNIT,
        rows_per_person=question.rows_per_person,
        noise=noise,
    )
    return replace(prepared, requested=(), derive=None)


def quote(ledger: Ledger, account: str, question: Question, rows: SiteRows, seal: Seal) -> Quote:
    """Return the price of a question; refuse one that the account cannot pay. Nothing is charged."""
    about = _public_question(ledger, question, rows)
    prepared = _prepared(rows.counts, question, seal)
    return _quoted(ledger, account, question, prepared, about)


def charge(
    ledger: Ledger,
    account: str,
    question: Question,
    rows: SiteRows,
    seal: Seal,
    noise: Noise = SYSTEM_NOISE,
    *,
    keys: str = "",
) -> Paid:
    """Charge a question to its study, for both answers or none, then draw the answers or read the stored ones."""
    prepared = _prepared(rows.counts, question, seal, noise, keys=keys)
    about = _public_question(ledger, question, rows)
    try:
        receipt = ledger.release(prepared, account=account, analyst=question.study, question=about)
    except BudgetError:
        _quoted(ledger, account, question, prepared, about)  # says what is short, and in which rule
        raise UnpayableError("this site's ledger could not pay for this just now; ask again") from None
    share, *own = receipt.releases
    check_same_sites(share, keys)
    return Paid(
        integers=opened_share(share, question, seal),
        own=own[0].to_dict() if own else None,
        receipt={
            "charged": receipt.charged.to_dict(),
            "remaining": replace(receipt.remaining, epsilon=left_to_study(ledger, account, question.study)).to_dict(),
            "reused": receipt.reused,
        },
    )


def check_affordable(records: SiteRecords, policy: Policy, question: Question) -> None:
    """Refuse a private question that the site cannot pay for whatever its rows are; they are not read.

    Parts that were charged for before may be stored, and count as nothing here.
    """
    ledger = records.ledger
    account = account_by_policy(ledger, policy).name
    nobody = SiteRows(counts=ScoreCounts.empty(), identity=b"")
    about = _public_question(ledger, question, nobody)
    every = _prepared(nobody.counts, question, _seal(ledger))
    new = never_charged(every, about, ledger.history(account))
    if new:
        _require_limits(ledger, account, policy, question, _quoted(ledger, account, question, new, about))


def check_payable(records: SiteRecords, policy: Policy, question: Question, rows: SiteRows) -> None:
    """Refuse a private question that the site could not answer or pay for; nothing is charged."""
    account = account_by_policy(records.ledger, policy).name
    asked = _check_stored(records, account, question, rows, _seal(records.ledger))
    _require_limits(records.ledger, account, policy, question, asked)


def charged_answer(records: SiteRecords, policy: Policy, question: Question, rows: SiteRows, *, keys: str = "") -> Paid:
    """Answer a private question: charge it, enter it in the register, and return what is sent.

    A question in the register was answered and stored before. If the ledger has no answer to it, it is not the ledger
    that was charged: drawing new noise while other sites send stored shares would protect the site's rows by its own
    shares alone.
    """
    ledger = records.ledger
    with one_charge_at_a_time(records.folder):
        account = account_by_policy(ledger, policy).name
        seal = _seal(ledger)
        asked = _check_stored(records, account, question, rows, seal)
        _require_limits(ledger, account, policy, question, asked)
        paid = charge(ledger, account, question, rows, seal, keys=keys)
    Register(records).fix(question, rows)
    return paid


def _require_limits(ledger: Ledger, account: str, policy: Policy, question: Question, asked: Quote) -> None:
    """Refuse a question that the study or the present period cannot pay."""
    price = Prices.of_question(question, asked.full_price)
    require_study(ledger, account, question.study, policy.epsilon_per_study, price)
    require_allowance(ledger, account, policy.allowance, price)


def check_same_sites(share: Share, keys: str) -> None:
    """Refuse to send a stored share if another site was set up anew, and so has lost its own share."""
    if share.keys != keys:
        raise RefusedError(
            "a site was set up anew since this question was answered, and would draw its noise anew while others send "
            "what they stored, which protects less than was paid for; ask it as a new edition (`edition`)"
        )


def own_keys(offers: Iterable[Offer]) -> str:
    """Return a digest of the keys that the sites of a sum made for themselves: a site set up anew has another key."""
    listed = sorted((offer.site, offer.own_key.hex()) for offer in offers)
    return sha256(json.dumps(listed).encode()).hexdigest()


def _check_stored(records: SiteRecords, account: str, question: Question, rows: SiteRows, seal: Seal) -> Quote:
    ledger, register = records.ledger, Register(records)
    register.check(question, rows)
    asked = quote(ledger, account, question, rows, seal)
    if register.holds(question) and not _share_is_stored(ledger, account, question, rows, seal):
        raise RefusedError(
            "this site has answered this question, but its ledger no longer has the answer: restore the ledger from a "
            "backup, or ask the question as a new edition (`edition`)"
        )
    return asked


def _share_is_stored(ledger: Ledger, account: str, question: Question, rows: SiteRows, seal: Seal) -> bool:
    """Return whether the ledger has the site's share of this sum, whatever epsilon its own counts had."""
    share = prepare_share(rows.counts, question, seal)
    about = _public_question(ledger, question, rows)
    return ledger.quote(share, account=account, analyst=question.study, question=about).answered


def _quoted(
    ledger: Ledger, account: str, question: Question, prepared: list[Prepared[Any]], about: PublicQuestion
) -> Quote:
    """Return the price of answers, refusing one that the account cannot pay in the words of the site's policy."""
    asked = ledger.quote(prepared, account=account, analyst=question.study, question=about)
    if asked.refusal is not None:
        raise unpayable(ledger.account(account), question.study, asked)
    return asked


def _prepared(
    counts: ScoreCounts, question: Question, seal: Seal, noise: Noise = SYSTEM_NOISE, *, keys: str = ""
) -> list[Prepared[Any]]:
    share, own = prepare_share(counts, question, seal, noise, keys=keys), prepare_own(counts, question, noise)
    return [share] if own is None else [share, own]


def _public_question(ledger: Ledger, question: Question, rows: SiteRows) -> PublicQuestion:
    """Return a question's public identity for the ledger: the site's files as they are stored, and the model's name."""
    return PublicQuestion(data=ledger.identify([rows.identity]), details={"model": question.model})


def _context(question: Question) -> bytes:
    """Return the context that a sealed share is bound to."""
    return canonical_json(pooled_terms(question), "question").encode()


def _require_private(question: Question) -> None:
    if not mode_of(question).private:
        raise ParameterError(f"mode {question.mode} is not charged to a ledger; ask in mode private")


def _seal(ledger: Ledger) -> Seal:
    from confide.federation.crypto.shares import Seal  # brings cryptography with it

    return Seal.of(ledger.derive_key("stored answers of a site"))
