"""Release metrics of private rows under differential privacy, paid from an account of a ledger.

The steps, for every face: make the request, whose parameters are checked on made-up rows; find the account and the
identity of the data; read the rows; then quote the price, or charge it and draw noise. Nothing is charged before all
input was checked. Whether a request is refused follows from public facts, except that rows must be fit for counting.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confide.counts import ScoreCounts
from confide.errors import ConfideWarning, ParameterError
from confide.grid import Grid
from confide.ledger.payer import DeclaredSubject, FileSubject, Note, Payer, Subject, refuse_names_of_files
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Quote, Receipt, quote_document, split_document
from confide.privacy.neighbours import Neighbours
from confide.provenance import PublicProvenance
from confide.releases.confusion import common_cells
from confide.releases.release import SCHEMA, PreparedRelease, Release
from confide.releases.terms import public_rows
from confide.sources.locations import TableLocation
from confide.tasks.provenance import public_provenance
from confide.tasks.release_terms import ModelScores, Scores, describe_grid, public_files
from confide.tasks.requests.options import verb_of
from confide.tasks.requests.release import ReleaseRequest

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
        return {**self._release_document(), "data": dict(self.data), **self._origin()}

    def _release_document(self) -> dict[str, Any]:
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
        from confide.report.release import release_page

        usual = "Private release" if self.revealed is None else "Private release beside exact curves"
        return release_page(
            self.receipt, title=title or usual, about=self.about, revealed=self.revealed, origin=self.origin
        )

    def plot(self) -> Figure:
        """Draw the released curves, or the intervals of the released numbers."""
        from confide.report.release_plots import plot_releases

        return plot_releases(self.releases)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with one row for each released number."""
        from confide.report.release import release_frame

        return release_frame(self.releases)

    def _repr_html_(self) -> str:
        from confide.report.release import fragment

        return fragment(self.releases)


_ARRAYS = (
    "Give arrays as ScoreCounts.from_arrays(labels, scores), or as columns of a dataframe that `label` and `score` name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyRelease:
    """A release whose input was checked and whose rows were read. Nothing was charged.

    `remarks` tell the user what is unusual about the request, before it is paid.
    """

    payer: Payer
    scores: Scores
    prepared: tuple[PreparedRelease, ...]
    grid: Grid | str | None = None
    reveal: bool = False
    remarks: tuple[str, ...] = ()

    def quote(self) -> ReleaseQuote:
        """Return the price. Nothing is charged."""
        return ReleaseQuote(quote=self.payer.quote(self.prepared), prepared=self.prepared)

    def _data(self) -> dict[str, str]:
        """Describe the data: their declared name, and the number of rows where it is public. Files stay unnamed."""
        subject = self.payer.subject
        stated = subject.stated if isinstance(subject, DeclaredSubject) else None
        named = {} if stated is None else {"data": stated.data}
        if self.prepared[0].guarantee.neighbours == Neighbours.ADD_REMOVE_ONE:
            return named
        return {**named, "rows": f"{public_rows(self.prepared[0].counts):,}"}

    def pay(self) -> ReleaseResult:
        """Charge the account, then draw noise."""
        receipt: Receipt[Release] = self.payer.pay(self.prepared)
        about = {**self._data(), **self.scores.about()}
        if any({"grid", "cells"} & set(release.options) for release in receipt.releases):
            about["grid"] = describe_grid(self.grid)
        return ReleaseResult(
            receipt=receipt,
            data=self.scores.data(),
            about=about,
            notes=self.payer.notes(receipt),
            origin=public_provenance(),
            revealed=self.prepared[0].counts if self.reveal else None,
        )


def prepare_release(request: ReleaseRequest) -> ReadyRelease:
    """Find who pays and read the rows of a request; then `quote` its price or `pay` for it."""
    source, terms = request.source, request.terms
    _check_location(source, terms.trial[0])
    payer = Payer(
        subject=_subject(request, terms.scores),
        ledger=request.ledger,
        account=request.account,
        analyst=request.analyst,
        also_charge=request.also_charge,
    ).checked()
    from confide.sources.open_tables import is_view, opened

    cells = None if request.reveal else common_cells(terms.trial)
    with opened(source, private=True) as rows:
        if isinstance(source, TableLocation) and is_view(rows, source):
            _check_neighbours(terms.trial[0])
        prepared = terms.scores.prepare(rows, request.metrics, terms.options, cells)
    return ReadyRelease(
        payer=payer,
        scores=terms.scores,
        prepared=prepared,
        grid=request.grid,
        reveal=request.reveal,
        remarks=_threshold_remark(request.threshold, request.grid),
    )


@verb_of(ReleaseRequest, by_position=_ARRAYS)
def release(request: ReleaseRequest) -> ReleaseResult:
    """Release metrics under differential privacy, with intervals, and charge an account of a ledger.

    The budget is charged before noise is drawn, and is never refunded. The same request about the same data gets the
    same answer at no further cost. Each score must be a function of its own row.

    Parameters
    ----------
    source
        The private rows: the path of a file (CSV, TSV, JSON lines, Parquet), the URL of a table in a database
        ("postgresql://host/database/schema.table" or "duckdb:///file.db?table=name"; see `TableLocation`), a dataframe,
        an Ibis table, or a `ScoreCounts`. The bytes of a file identify its data. All else needs `data_name` or
        `question`.
    label, score, positive
        Columns of labels and of scores, and the positive label unless labels are 0/1, -1/1 or false/true. With a
        `ScoreCounts` they are the public names of what was counted.
    model
        Instead of columns: the file that `confide train` wrote. The model is run on the rows of the file that were
        held out of its training.
    metrics
        One or more of `confide.releases.RELEASE_METRICS`, such as "auc", "recall", "roc". Curves and all else that is
        requested with them follow from one table of noisy counts.
    epsilon, delta, neighbours, unit, rows_per_person
        The guarantee. `epsilon` has no default unless `model` has a budget; `neighbours` is "replace-one" or that of
        the training.
    mechanism, grid, strategy, prevalence_guess
        How noise is added. All choices must be public.
    threshold, shape, target, safe, level
        Decision threshold of confusion measures; shape of curves; a threshold to choose, such as "recall=0.9"
        (`safe`: the lower end of its interval reaches it); confidence level.
    with_auc
        With curves: spend a quarter of epsilon on an AUC of its own, which is then the AUC of the ROC curve. Its
        interval is far narrower if scores have few values; if all scores differ, that of the counts is narrower.
    data_name, question
        For data that are not a file: their declared name and version, such as "heart attacks, version 2"; or the whole
        public question.
    ledger, account, analyst, also_charge
        Who pays. `ledger` is a path, a URL or an open `Ledger`; by default the ledger of the user. Without `account`,
        the only account that knows the data pays. `also_charge` charges an account although another one knows the same
        data.
    reveal
        Keep the exact counts in the result, to draw exact curves beside the private ones. Such a page is not private.
    """
    ready = prepare_release(request)
    _warn(ready.remarks)
    return ready.pay()


@verb_of(ReleaseRequest, by_position=_ARRAYS)
def quote_release(request: ReleaseRequest) -> ReleaseQuote:
    """Return the price of a release without charging it. Takes the parameters of `release`."""
    ready = prepare_release(request)
    _warn(ready.remarks)
    return ready.quote()


def _warn(remarks: Sequence[str]) -> None:
    for remark in remarks:
        warnings.warn(remark, ConfideWarning, stacklevel=4)


def _threshold_remark(threshold: float | None, grid: object) -> tuple[str, ...]:
    """Return a remark about a threshold that divides no probabilities. It follows from public facts alone."""
    if threshold is None or grid is not None or 0.0 < threshold <= 1.0:
        return ()
    called = "everybody" if threshold <= 0.0 else "nobody"
    return (
        f"threshold {threshold:g} calls {called} positive if scores are probabilities, and the measures at it then say "
        "nothing about the scores; choose one between 0 and 1",
    )


def _check_location(source: Any, trial: PreparedRelease) -> None:
    """Refuse columns whose types follow from all values, and a public number of rows that a query selects."""
    if not isinstance(source, TableLocation):
        return
    if source.infers_types:
        raise ParameterError(
            "Spark decides the types of a CSV file by all its rows, so that one row changes how others are read; give "
            "Parquet, or the file without `engine`"
        )
    if source.query is not None:
        _check_neighbours(trial)


def _check_neighbours(trial: PreparedRelease) -> None:
    """Refuse a public number of rows of a query or a view.

    Both select by values. Were the number of their rows public, it would reveal how many people have these values.
    """
    if trial.guarantee.neighbours != Neighbours.ADD_REMOVE_ONE:
        raise ParameterError(
            "the number of rows that a query or a view returns depends on values in them, so it must be private: give "
            "`neighbours=add-remove-one`, or the name of a table"
        )


def _subject(request: ReleaseRequest, scores: Scores) -> Subject:
    """Identify the data: a file by its bytes, data in memory by what the caller declares."""
    source, data_name, question = request.source, request.data_name, request.question
    public = public_files(request.grid)
    if isinstance(source, Path):
        refuse_names_of_files(data_name=data_name, question=question)
        return FileSubject(
            file=source,
            label=scores.label,
            positive=scores.positive,
            details=scores.details(),
            public_files=public,
        )
    if isinstance(scores, ModelScores):
        raise ParameterError("a model is run on the rows of a file; give the path of the file")
    if public:
        raise ParameterError("cells of a public file are for a private file, which they are compared with; give others")
    if (data_name is None) == (question is None):
        raise ParameterError(
            "data in memory have no identity of their own; give `data_name`, their declared name and version, or "
            "`question`, not both"
            if not isinstance(source, TableLocation)
            else "a table has no identity of its own; declare the name and version of its rows in `data_name`, such as "
            "'heart attacks, version 2', and a new version whenever they change"
        )
    details = {**scores.details(), **(source.details() if isinstance(source, TableLocation) else {})}
    if question is None:
        question = PublicQuestion(data=str(data_name), label=scores.label, positive=scores.positive)
    elif (question.label, question.positive) != (scores.label, scores.positive) and not (
        isinstance(source, ScoreCounts) and question.label is None
    ):
        raise ParameterError("`question` is about other labels than those that are read; state the same label in both")
    if any(question.details.get(name, value) != value for name, value in details.items()):
        raise ParameterError(
            "`question` is about another score or table than the one that is read; state the same one in both"
        )
    stated = replace(question, details={**question.details, **details})
    return DeclaredSubject(stated=stated)
