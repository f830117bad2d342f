"""Requests for the steps of a private workflow: a selection of features, and the training of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.tasks.requests import options
from confide.tasks.requests.options import Repeat, optional

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.ledger.payer import LedgerPlace
    from confide.ledger.question import PublicQuestion
    from confide.privacy.guarantee import Exact
    from confide.tasks.workflow_terms import StepTerms

READING = (
    *("label", "positive", "text", "bits", "leave_out", "vocabulary", "columns", "hold_out", "hold_out_by", "budget"),
    *("unit", "rows_per_person"),
)
"""Fields that a workflow is begun with. Its later steps go on with them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkflowRequest:
    """What both steps take: how rows are read and held out, the price, and who pays. See `confide.select`.

    A request that was made is right in itself: its parameters were tried without rows. `terms` are what follows.
    """

    source: Any = field(kw_only=False, repr=False)
    label: str | None = field(default=None, metadata=options.LABEL)
    text: str | None = optional(
        None, metavar="COL", help="Column of text: each word is a feature, hashed to one of 2^14 places."
    )
    columns: str | Sequence[str] | None = optional(
        None,
        *("--column", "-c"),
        metavar="RULE",
        repeat=Repeat.LISTED,
        help="Column with a public rule: smoker (0/1), age=40,50,60 (cut at points) or sex=f|m (values); repeatable.",
    )
    budget: object = optional(
        None, metavar="E", help="Epsilon of the whole workflow, divided among its steps. [default: 1]"
    )
    epsilon: object = optional(None, "-e", metavar="E", help="Epsilon of this step. [default: its part of --budget]")
    hold_out: object = optional(
        None, metavar="SHARE", help="Share of rows kept for evaluation; 0 for none. [default: 0.3]"
    )
    hold_out_by: str | Sequence[str] | None = optional(
        None,
        metavar="COL",
        repeat=Repeat.LISTED,
        help="Hold out by this column, so that a person's rows stay together. [default: by the row's features]",
    )
    positive: str | None = field(default=None, metadata=options.PRIVATE_POSITIVE)
    bits: int | None = optional(
        None, metavar="B", kind=int, help="With --text: hash words to 2^B places. [default: 14]"
    )
    leave_out: str | Path | None = optional(
        None, metavar="WORDS.txt", kind=Path, help="With --text: words to leave out, one a line; public."
    )
    vocabulary: str | Path | None = optional(
        None,
        metavar="WORDS.txt",
        kind=Path,
        help="With --text: take these words, one a line, instead of hashing. The list must be public: words "
        "collected from the private rows give them away.",
    )
    dictionary: str | Path | None = optional(
        None,
        metavar="WORDS.txt",
        kind=Path,
        help="With --text: public words, one a line, that name the places of hashed words in tables and on the "
        "page; nothing else changes.",
    )
    neighbours: str | None = optional(
        None,
        metavar="RELATION",
        choices=options.NEIGHBOURS,
        help="What may differ: a row's presence (add-remove-one, default), its values (replace-one) or its label "
        "(label-only).",
    )
    unit: str | None = optional(
        None, metavar="UNIT", choices=options.UNITS, help="What it protects: row or person. [default: row]"
    )
    rows_per_person: int | None = field(default=None, metadata=options.ROWS_PER_PERSON)
    data_name: str | None = None
    question: PublicQuestion | None = None
    ledger: LedgerPlace = field(default=None, repr=False, metadata=options.LEDGER)
    account: str | None = field(default=None, metadata=options.ACCOUNT)
    analyst: str | None = field(default=None, metadata=options.ANALYST)
    also_charge: bool = field(default=False, metadata=options.ALSO_CHARGE)

    @property
    def files_of_words(self) -> tuple[Path, ...]:
        """Return the files of public words that the step reads."""
        return tuple(Path(one) for one in (self.leave_out, self.vocabulary, self.dictionary) if one is not None)

    def check_features(self) -> None:
        """Refuse a workflow without labels, or without features."""
        if self.label is None:
            raise ParameterError("name the column of labels (`label=COL`)")
        if self.text is None and not self.columns:
            raise ParameterError("say what the features are: a column of text (`text=COL`) or columns (`columns=RULE`)")


_SELECTION = "How features are selected"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelectRequest(WorkflowRequest):
    """Request for a private selection of features. `confide.select` says what the fields mean."""

    k: int | None = optional(
        None,
        "-k",
        metavar="K",
        kind=int,
        panel=_SELECTION,
        help="Number of features to take; not for clusters. [default: 100, or all]",
    )
    threshold: float | None = optional(
        None,
        metavar="T",
        kind=float,
        panel=_SELECTION,
        help="Take features whose score reaches T, instead of K of them.",
    )
    method: str = optional(
        "score-perturbation",
        metavar="NAME",
        choices=options.METHODS,
        panel=_SELECTION,
        help="score-perturbation, sparse-vector, peeling, permute-and-flip or clusters.",
    )
    score: str = optional(
        "total-count",
        metavar="NAME",
        choices=options.FEATURE_SCORES,
        panel=_SELECTION,
        help="total-count, difference-count, purity-index or information-gain.",
    )
    features_per_row: int | None = optional(
        None,
        metavar="R",
        kind=int,
        panel=_SELECTION,
        help="From a row with more features, R count. [default: 10 where it reduces noise]",
    )
    clusters: int | None = optional(
        None, metavar="N", kind=int, panel=_SELECTION, help="With --method clusters. [default: 8]"
    )
    mechanism: str = optional(
        "laplace",
        metavar="NOISE",
        panel=_SELECTION,
        help="Noise on scores: laplace, or gaussian with --delta, for zcdp accounts.",
    )
    delta: Exact = optional(0, metavar="D", panel=_SELECTION, help="For mechanisms that need one; far below 1 / rows.")

    terms: StepTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from confide.tasks.workflow_terms import selection_terms

        self.check_features()
        object.__setattr__(self, "terms", selection_terms(self))


_MODEL = "Classifier"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainRequest(WorkflowRequest):
    """Request to train a private classifier. `confide.train` says what the fields mean."""

    features: str | Path | Workflow | None = optional(
        None,
        metavar="FILE.json",
        kind=Path,
        panel=_MODEL,
        help="File that `confide select` wrote; it says how rows are read and held out.",
    )
    model: str = optional(
        "naive-bayes", metavar="NAME", choices=options.MODELS, panel=_MODEL, help="naive-bayes or logistic-regression."
    )
    mechanism: str | None = optional(
        None,
        metavar="NOISE",
        panel=_MODEL,
        help="Noise of naive Bayes: laplace (default), or gaussian with --delta, for zcdp accounts.",
    )
    delta: Exact | None = optional(None, metavar="D", panel=_MODEL, help="For gaussian noise; far below 1 / rows.")
    row_weight: int | None = optional(
        None, metavar="R", kind=int, panel=_MODEL, help="Naive Bayes: a row counts for at most R features. [default: 3]"
    )
    limit: str | None = optional(
        None,
        metavar="KIND",
        panel=_MODEL,
        help="Naive Bayes: spread a row's weight, or sample R features. [default: spread]",
    )
    keep: float | None = optional(
        None,
        metavar="Z",
        kind=float,
        panel=_MODEL,
        help="Naive Bayes: keep features that differ by Z deviations. [default: 0.5]",
    )
    calibration: object = optional(
        None,
        metavar="SHARE",
        panel=_MODEL,
        help="Naive Bayes: share of epsilon for calibrating probabilities. [default: 0.1]",
    )
    regularization: float | None = optional(
        None,
        metavar="L",
        kind=float,
        panel=_MODEL,
        help="Logistic regression: penalty on weights. [default: from epsilon and width]",
    )
    perturb: str | None = optional(
        None, metavar="WHAT", panel=_MODEL, help="Logistic regression: objective or output. [default: objective]"
    )

    terms: StepTerms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from confide.tasks.workflow_terms import training_terms

        if self.features is None:
            self.check_features()
        else:
            self.refuse_features()
        object.__setattr__(self, "terms", training_terms(self))

    def refuse_features(self) -> None:
        """Refuse what the file of selected features has decided."""
        for name in READING:
            if getattr(self, name) not in (None, [], ()):
                raise ParameterError(f"`{name}` comes from the file of `features`; leave it out")
