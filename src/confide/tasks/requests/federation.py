"""Requests to set up a site of a federation, to add a model to one, and to rehearse a federation on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from confide.errors import UsageError
from confide.tasks.requests.options import Repeat, option, optional

FEWEST_DEMO_SITES, MOST_DEMO_SITES = 3, 5

_MODEL_NAME = option(metavar="NAME", help="The model's name, as the coordinator asks for it.")
_FEATURES = "the columns that the model takes, matched by name if the model knows names, else in this order."


_DATA = option(
    "-d",
    metavar="FILE|URL",
    help="The rows: CSV, TSV, JSON lines or Parquet, which stay where they are; or a table: "
    "postgresql://host/database/schema.table, duckdb:///file.db?table=name. Credentials come from the site's "
    "environment (PGUSER, PGPASSWORD, PGPASSFILE, PGSERVICE); a password in the URL is refused.",
)
_LABEL = option("-l", metavar="COL", help="Column of labels. It has two values, such as 0 and 1; see --positive.")


def _range(text: str, parameter: str) -> tuple[float, float]:
    """Read a range of scores, two numbers with a comma."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"`{parameter}` must be two numbers with a comma, such as -4,4; got {text!r}") from None
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelRows:
    """Scores of a model at a site: a column of its rows, or a file of the model that is run on them."""

    positive: str | None = optional(
        None, metavar="VALUE", help="The label of positive rows. Needed unless labels are 0/1, -1/1 or false/true."
    )
    score: str | None = optional(
        None, "-s", metavar="COL", help="Column of the model's scores, probabilities if possible."
    )
    model_file: str | Path | None = optional(
        None,
        metavar="FILE",
        kind=Path,
        help="Instead of --score: the model, run here on --features. scikit-learn (.joblib, .pkl: runs as a "
        "program, so take it only from people you trust) or ONNX (.onnx, with its weights inside).",
    )
    features: Sequence[str] = optional(
        (), metavar="A,B,...", repeat=Repeat.COMMAS, help=f"With --model-file: {_FEATURES}"
    )
    score_range: tuple[float, float] | None = optional(
        None,
        "--range",
        metavar="LOW,HIGH",
        read=_range,
        help="Range of the model's scores, the same at every site. A score beyond an end counts as that end. "
        "[default: 0,1]",
    )
    query: str | Path | None = optional(
        None,
        metavar="FILE.sql",
        kind=Path,
        help="With the URL of a database in --data: a file with the SELECT that returns the rows, such as a "
        "cohort. Its digest is fixed here; a changed file is refused.",
    )

    def model_terms(self, data: str | Path, label: str) -> dict[str, Any]:
        """Return what describes the model: its rows, labels and scores."""
        return {"data": data, "label": label, **{each.name: getattr(self, each.name) for each in fields(_ModelRows)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRequest(_ModelRows):
    """Request to set up a site. `init_site` says what the fields mean."""

    kit: str | Path = field(kw_only=False)
    folder: str | Path = field(kw_only=False)
    model_name: str = field(metadata=_MODEL_NAME)
    data: str | Path = field(repr=False, metadata=_DATA)
    label: str = field(metadata=_LABEL)
    studies: Sequence[str] = optional(
        (),
        "--study",
        metavar="NAME",
        repeat=Repeat.LISTED,
        help="A study that this site takes part in, as the coordinator names it; repeatable. Others are refused. "
        "[default: one with the federation's name]",
    )
    epsilon_in_all: object = optional(
        None,
        "--budget",
        metavar="E",
        help="Mode private: this site's privacy budget, the most epsilon that all studies together may spend. "
        "[default: 3]",
    )
    epsilon_per_study: object = optional(
        None,
        metavar="E",
        help="Mode private: the most epsilon that one study may spend, out of the budget. [default: 1]",
    )
    delta_in_all: object = optional(
        None,
        "--delta",
        metavar="D",
        help="Mode private: also answer with Gaussian noise, for many small questions; the most delta of all "
        "studies together, far below 1 / rows, such as 1e-6. The ledger then adds up rho (zCDP). "
        "[default: Laplace noise only]",
    )
    modes: Sequence[str] = optional(
        (),
        metavar="MODE,...",
        repeat=Repeat.COMMAS,
        help="Modes in which this site answers; repeatable. Name disclosure-control or secure-sum to answer "
        "without noise as well. [default: private]",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest(_ModelRows):
    """Request to add a model to a site. `add_model` says what the fields mean."""

    folder: str | Path = field(kw_only=False)
    model_name: str = field(kw_only=False, metadata=_MODEL_NAME)
    data: str | Path | None = field(default=None, repr=False, metadata=_DATA)
    label: str | None = field(default=None, metadata=_LABEL)
    same_as: str | None = optional(
        None,
        metavar="MODEL",
        help="Make NAME another name for this model, which the site has; give no data then. An answer without "
        "noise under one name counts for both.",
    )
    studies: Sequence[str] = optional(
        (),
        "--study",
        metavar="NAME",
        repeat=Repeat.LISTED,
        help="Another study that this site takes part in; repeatable.",
    )
    replace: bool = optional(False, kind=bool, help="Replace a model of that name.")

    def __post_init__(self) -> None:
        described = (self.data, self.label, self.positive, self.score, self.model_file, self.features, self.query)
        if self.same_as is not None and any((*described, self.score_range)):
            raise UsageError("`same_as` takes rows and scores of the model that it names; leave the other options out")
        if self.same_as is None and (self.data is None or self.label is None):
            raise UsageError("give the rows and the column of labels (`data`, `label`), or `same_as=MODEL`")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """Request for a demonstration of a federation. `plan_demo` says what the fields mean."""

    folder: str | Path | None = field(default=None, kw_only=False)
    sites: int | None = optional(
        None,
        metavar="N",
        kind=int,
        least=FEWEST_DEMO_SITES,
        most=MOST_DEMO_SITES,
        help="Number of hospitals. [default: 5]",
    )
    modes: Sequence[str] | None = optional(
        None,
        "--mode",
        metavar="MODE",
        repeat=Repeat.LISTED,
        help="disclosure-control, secure-sum, private; repeatable. [default: all, one after another]",
    )
    epsilon: object = optional(
        None, "-e", metavar="E", help="Mode private: the epsilon that each site charges. [default: 1]"
    )
    site_share: object = optional(
        None,
        metavar="F",
        help="Mode private: the share of epsilon for each site's own results. [default: 1/2; 0 for the 500 "
        "patients, too few at a site to be seen through noise]",
    )
    data: str | Path | None = optional(
        None, metavar="FILE", kind=Path, help="Rows of your own. [default: 500 patients after a heart attack]"
    )
    label: str | None = optional(None, "-l", metavar="COL", help="With --data: column of labels, which has two values.")
    score: str | None = optional(None, "-s", metavar="COL", help="With --data: column of scores.")
    positive: str | None = optional(
        None, metavar="VALUE", help="With --data: the label of positive rows, unless labels are 0/1."
    )
    model_file: str | Path | None = optional(
        None, metavar="FILE", kind=Path, help="Instead of --score: a model that each site runs."
    )
    features: Sequence[str] = optional(
        (), metavar="A,B,...", repeat=Repeat.COMMAS, help="With --model-file: the columns that it takes."
    )
    site_column: str | None = optional(
        None, metavar="COL", help="With --data: column that names each row's site. [default: rows in turn]"
    )
    timeout: float = optional(60, metavar="SECONDS", kind=float, help="The most that each round may take.")

    def __post_init__(self) -> None:
        described = (self.label, self.score, self.positive, self.model_file, self.features, self.site_column)
        if self.data is None:
            if any(described):
                raise UsageError("columns and models are for rows of your own; give `data` with them")
        elif self.label is None:
            raise UsageError("give `label`, the column of labels of your data")
        elif self.site_column is not None and self.sites is not None:
            raise UsageError("`site_column` says how many sites there are; leave `sites` out")
