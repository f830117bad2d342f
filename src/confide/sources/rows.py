"""Rows kept as rows, and their scores by place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from confide.counts import CountArray, FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.sources.arrays import checked_scores, checked_weights, code_checked, count_checked
from confide.sources.labels import binary_labels, is_missing, is_sequence, one_dimensional


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CodedScores:
    """Counts of whole rows, and two whole numbers of each row.

    `codes` is the place of its score among the distinct scores. `components` is, for a positive, twice the number of
    negatives below it and once that of those tied with it; for a negative it likewise counts the positives above.
    """

    counts: ScoreCounts
    codes: NDArray[Any]
    components: NDArray[Any]

    def __repr__(self) -> str:
        return "CodedScores(<private>)"


Missing = Literal["refuse", "drop"]
MISSING: tuple[Missing, ...] = ("refuse", "drop")
CROSSING = " × "
"""Joins the names of grouping columns whose values are crossed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """Columns of a table that an evaluation reads."""

    label: str
    scores: tuple[str, ...]
    weight: str | None = None
    survey_weight: str | None = None
    groups: tuple[str, ...] = ()
    cluster: str | None = None
    fold: str | None = None

    def __post_init__(self) -> None:
        if self.weight is not None and self.survey_weight is not None:
            raise ParameterError("give weights or sampling weights, not both")

    @property
    def countable(self) -> bool:
        """Tell whether the counts of one score say everything: rows are independent and not divided."""
        divided = self.groups or self.cluster is not None or self.fold is not None or self.survey_weight is not None
        return len(self.scores) == 1 and not divided

    @property
    def names(self) -> list[str]:
        """Every column, each once."""
        extra = (self.weight, self.survey_weight, *self.groups, self.cluster, self.fold)
        return list(dict.fromkeys([self.label, *self.scores, *(name for name in extra if name is not None)]))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MissingScores:
    """Rows left out because a score was missing, in all and for each score."""

    rows: int
    by_score: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"rows": self.rows, "by_score": dict(self.by_score)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouping:
    """A column that divides rows into groups, with the group of each row."""

    column: str
    groups: NDArray[np.object_]

    def members(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield each group with its rows, numbers before words, each in order."""
        names = sorted(set(self.groups.tolist()), key=_place)
        places = {name: code for code, name in enumerate(names)}
        member = np.fromiter(map(places.__getitem__, self.groups.tolist()), dtype=np.int64, count=self.groups.size)
        for code, name in enumerate(names):
            yield name, member == code


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Labels and one or more columns of scores, row by row; perhaps weights, groups, clusters and folds.

    Rows of one cluster, such as the stays of one patient, depend on each other. Rows of one fold were scored by one
    model of a cross-validation. If `survey`, weights are inverse sampling probabilities, not numbers of rows.
    """

    labels: NDArray[np.bool_]
    names: tuple[str, ...]
    scores: tuple[FloatArray, ...]
    weights: CountArray | None = None
    groupings: tuple[Grouping, ...] = ()
    clusters: NDArray[np.int64] | None = None
    folds: NDArray[np.int64] | None = None
    missing: MissingScores | None = None
    survey: bool = False
    _coded: list[CodedScores] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.weights is not None and not self.survey and (self.clusters is not None or self.folds is not None):
            raise ParameterError(
                "weights cannot be combined with clusters or folds; repeat the rows, or give sampling weights"
            )
        if self.folds is not None and (self.clusters is not None or self.survey):
            raise ParameterError("folds cannot be combined with clusters or sampling weights; evaluate one fold alone")

    def __len__(self) -> int:
        return self.labels.size

    def __repr__(self) -> str:
        return f"Rows(<private>, names={self.names!r})"

    @classmethod
    def checked(
        cls,
        labels: ArrayLike,
        names: Sequence[str],
        scores: Sequence[ArrayLike],
        *,
        weights: ArrayLike | None = None,
        survey_weights: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        clusters: ArrayLike | None = None,
        folds: ArrayLike | None = None,
        positive: object = None,
        missing: Missing = "refuse",
    ) -> Rows:
        """Validate rows given as arrays. `groups` maps the name of each grouping column to its values."""
        named = dict(zip(names, scores, strict=True))
        parts: dict[str, Any] = {f"the scores of {name!r}": column for name, column in named.items()}
        if weights is not None and survey_weights is not None:
            raise ParameterError("give weights or sampling weights, not both")
        parts |= {"weights": survey_weights if weights is None else weights, "clusters": clusters, "folds": folds}
        parts |= {f"the groups of {column!r}": values for column, values in (groups or {}).items()}
        left_out = None
        if check_missing(missing) == "drop":
            labels, parts, left_out = _drop(labels, parts, named)
        columns = tuple(checked_scores(parts[f"the scores of {name!r}"]) for name in named)
        label = binary_labels(labels, positive)
        for name, array in parts.items():
            if array is not None and _length(array) != label.size:
                raise ParameterError(f"{name} and labels differ in length; give one of each for every row")
        return cls(
            label,
            tuple(names),
            columns,
            None if parts["weights"] is None else checked_weights(parts["weights"]),
            tuple(Grouping(column, group_names(parts[f"the groups of {column!r}"])) for column in groups or {}),
            None if parts["clusters"] is None else member_codes(parts["clusters"], "clusters"),
            None if parts["folds"] is None else member_codes(parts["folds"], "folds"),
            left_out,
            survey_weights is not None,
        )

    def counts(self) -> tuple[ScoreCounts, ...]:
        """Count each column of scores."""
        if self._coded:
            return tuple(each.counts for each in self._coded)
        return tuple(count_checked(self.labels, column, self.weights) for column in self.scores)

    def coded(self) -> Sequence[CodedScores] | None:
        """Count each column of scores, and find the place of each row; worked out once. None for weighted rows."""
        if self.weights is not None:
            return None
        if not self._coded:
            self._coded.extend(CodedScores(*code_checked(self.labels, column)) for column in self.scores)
        return self._coded

    def take(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the rows, without groups."""

        def part(array: Any) -> Any:
            return None if array is None else array[chosen]

        return replace(
            self,
            labels=self.labels[chosen],
            scores=tuple(column[chosen] for column in self.scores),
            weights=part(self.weights),
            clusters=part(self.clusters),
            folds=part(self.folds),
            groupings=(),
            missing=None,
        )

    def totals(self, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return the weight of positives and of negatives among some of the rows."""
        if self.weights is None:
            positives = int((self.labels & chosen).sum())
            return positives, int(chosen.sum()) - positives
        return self.weights[self.labels & chosen].sum().item(), self.weights[~self.labels & chosen].sum().item()

    def all_groupings(self) -> tuple[Grouping, ...]:
        """Return every grouping and, if there are several, their crossing."""
        if len(self.groupings) < 2:
            return self.groupings
        crossed = [", ".join(values) for values in zip(*(each.groups for each in self.groupings), strict=True)]
        column = CROSSING.join(each.column for each in self.groupings)
        return (*self.groupings, Grouping(column, np.array(crossed, dtype=object)))


def check_missing(missing: str) -> Missing:
    """Refuse an unknown way of treating missing scores."""
    for known in MISSING:
        if missing == known:
            return known
    raise ParameterError(f"`missing` must be 'refuse' or 'drop', got {missing!r}")


def group_names(groups: ArrayLike) -> NDArray[np.object_]:
    """Name the group of each row; rows without one form a group of their own."""
    array = one_dimensional(groups, "groups", DataError)
    return name_groups(array.tolist())


def name_groups(values: Sequence[object]) -> NDArray[np.object_]:
    """Name the group of each row; texts and whole numbers are named once each."""
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= {str, int, bool}:
        names = {value: group_name(value) for value in set(values)}
        named = list(map(names.__getitem__, values))
    else:
        named = [group_name(value) for value in values]
    result = np.empty(len(named), dtype=object)
    result[:] = named
    return result


def group_name(value: object) -> str:
    """Name a group; rows without one form a group of their own."""
    if is_missing(value):
        return "(missing)"
    return format(value, "f") if isinstance(value, Decimal) else str(value)  # as databases print it: no exponent


def member_codes(values: ArrayLike, what: str) -> NDArray[np.int64]:
    """Number the clusters or folds, as `what` calls them; rows without one are refused."""
    array = one_dimensional(values, what, DataError)
    if array.dtype.kind in "biu":
        return np.asarray(np.unique(array, return_inverse=True)[1], dtype=np.int64)
    known = array.tolist()
    if any(is_missing(value) for value in known):
        raise DataError(f"some {what} are missing; fill the column in, or leave those rows out")
    names = [str(value) for value in known]
    codes = {name: code for code, name in enumerate(sorted(set(names)))}  # NumPy's texts lose NULs at their ends
    return np.fromiter(map(codes.__getitem__, names), dtype=np.int64, count=len(names))


def with_scores(scores: Mapping[str, ArrayLike]) -> tuple[NDArray[np.bool_], MissingScores]:
    """Return which rows have every score, and how many rows and scores are missing."""
    absent = {name: _absent(column) for name, column in scores.items()}
    if len({mask.size for mask in absent.values()}) > 1:
        raise _other_lengths()
    kept = ~np.any(list(absent.values()), axis=0)
    if kept.size and not kept.any():
        raise DataError("every row lacks a score; check the columns of scores")
    by_score = tuple((name, int(mask.sum())) for name, mask in absent.items())
    return kept, MissingScores(rows=int((~kept).sum()), by_score=by_score)


def _other_lengths() -> ParameterError:
    return ParameterError("scores and labels differ in length; give one of each for every row")


def _drop(
    labels: ArrayLike, parts: Mapping[str, ArrayLike | None], scores: Mapping[str, ArrayLike]
) -> tuple[ArrayLike, dict[str, Any], MissingScores]:
    """Leave out the rows in which any score is missing."""
    kept, left_out = with_scores(scores)
    if kept.size != _length(labels):
        raise _other_lengths()

    def present(array: ArrayLike | None) -> Any:
        if array is None:
            return None
        if is_sequence(array) and len(array) == kept.size:
            return [value for value, keep in zip(array, kept.tolist(), strict=True) if keep]
        held = np.asarray(array)
        if held.ndim != 1 or held.size != kept.size:
            return held  # refused afterwards, with its name
        chosen = held[kept]
        return chosen.tolist() if chosen.dtype.kind == "O" else chosen  # a list has no type that one row decides

    return present(labels), {name: present(array) for name, array in parts.items()}, left_out


def _absent(scores: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(scores)
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array.tolist()], dtype=np.bool_)
    return np.zeros(array.shape[0] if array.ndim else 0, dtype=np.bool_)


def _length(array: ArrayLike) -> int:
    held = np.asarray(array)
    return held.shape[0] if held.ndim else -1


def _place(name: str) -> tuple[bool, float, str]:
    """Numbers in their order, then words in theirs."""
    try:
        value = float(name)
    except ValueError:
        value = math.nan
    return (True, 0.0, name) if math.isnan(value) else (False, value, name)
