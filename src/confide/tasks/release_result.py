"""Results of `confide.release`: what was released, what it cost and what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confide.counts import ScoreCounts
from confide.ledger.payer import Note
from confide.ledger.receipts import Quote, Receipt, quote_document, split_document
from confide.provenance import PublicProvenance
from confide.releases.release import SCHEMA, PreparedRelease, Release

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseQuote:
    """Price of a release; nothing was charged."""

    quote: Quote
    prepared: tuple[PreparedRelease, ...] = field(repr=False)

    @property
    def fits(self) -> bool:
        """Tell whether the account can pay."""
        return self.quote.fits

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        parts = [(part.requested or (part.request["metric"],), part.guarantee) for part in self.prepared]
        return quote_document(self.quote, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """A paid release.

    Parameters
    ----------
    receipt
        The answers and what they cost. `releases` holds them one after another.
    data
        Public facts about the scores, as plain data.
    about
        The same for readers of a page.
    notes
        What the user should read after the charge.
    origin
        Version and day, which may be published.
    revealed
        The exact counts, if `reveal` was given. They are private.
    """

    receipt: Receipt[Release]
    data: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    origin: PublicProvenance | None = None
    revealed: ScoreCounts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("data", "about"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __repr__(self) -> str:
        shown = ", ".join(f"{release.metric} {release.value:.4g}" for release in self.releases)
        return f"ReleaseResult({shown}; paid {self.receipt.in_words()} by {self.receipt.account})"

    def __str__(self) -> str:
        receipt = self.receipt
        paid = f"paid {receipt.in_words()} by account {receipt.account}, which has {receipt.remaining.in_words()} left"
        return "\n".join((*(str(release) for release in self.releases), paid))

    @property
    def releases(self) -> tuple[Release, ...]:
        """Return the released numbers and curves."""
        return self.receipt.releases

    def __getitem__(self, metric: str) -> Release:
        for release in self.releases:
            if release.metric == metric:
                return release
        raise KeyError(metric)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema: one release flat, several in a list.

        `ledger` is for the data holder: the account, its analyst's share and what is left. `to_public_dict` leaves it
        out.
        """
        return {**self.to_public_dict(), "ledger": self.receipt.to_dict()}

    def to_public_dict(self) -> dict[str, Any]:
        """Return what may be published as it is, as plain data in the same schema."""
        return {**self._released(), "data": dict(self.data), **self._origin()}

    def _released(self) -> dict[str, Any]:
        if len(self.releases) == 1:
            return self.releases[0].to_dict()
        listed = [
            {name: value for name, value in release.to_dict().items() if name != "schema"} for release in self.releases
        ]
        parts = [([release.metric for release in answer], answer[0].guarantee) for answer in self.receipt.answers]
        return {
            "schema": SCHEMA,
            "releases": listed,
            "split": split_document(parts),
            "guarantee": self.receipt.guarantee.to_dict(),
        }

    def _origin(self) -> dict[str, Any]:
        """Return the day of the release, the guarantee of all releases of the account so far, and version and day."""
        at, total = self.receipt.released_at, self.receipt.total
        return {
            "released": None if at is None else at[:10],  # the day: a time would tell how long the work took
            "total": None if total is None else total.to_dict(),
            "provenance": None if self.origin is None else self.origin.to_dict(),
        }

    def to_html(self, *, title: str | None = None) -> str:
        """Return the page. It may be published as it is, unless exact curves were revealed."""
        from confide.report.release.page import release_page

        usual = "Private release" if self.revealed is None else "Private release beside exact curves"
        return release_page(
            self.receipt, title=title or usual, about=self.about, revealed=self.revealed, origin=self.origin
        )

    def plot(self) -> Figure:
        """Draw the released curves, or the intervals of the released numbers."""
        from confide.report.release.plots import plot_releases

        return plot_releases(self.releases)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each released number."""
        from confide.report.release.frames import release_frame

        return release_frame(self.releases)

    def _repr_html_(self) -> str:
        from confide.report.release.page import fragment

        return fragment(self.releases)
