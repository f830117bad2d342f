"""Checks of a site: a model's rows when it is set up, equal rows under two names, and files before a start.

Findings and errors are for the administrator, who has the data. A running site replies alike whether or not there are
rows, and whether or not the model can score them.

`SiteConfig` sees when two models name one file. A copy of the file, or of its column of scores, shows only in the
content. The content is compared when an administrator sets a model up or starts the site; the result is shown on that
terminal. Replies to a coordinator never depend on it: whether two models score all rows alike would tell of single
rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ConfideError, DataError, ParameterError, UsageError
from confide.federation.policy import Policy
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel, TwoEntriesError
from confide.federation.site.register import Register
from confide.federation.site.row_sources import same_content, same_source
from confide.federation.site.scored_rows import ScoredRows, within
from confide.sources.error_details import errors_shown

ANYWHERE = (-1e300, 1e300)
"""A range that every finite score of a model lies in."""


def check_copies(config: SiteConfig) -> None:
    """Refuse two entries whose files are copies of each other and whose scores have the same column or model."""
    for (first, one), (second, other) in combinations(config.models.items(), 2):
        if _scored_alike(config, one, other) and config.row_source(one).copies(config.row_source(other)):
            raise TwoEntriesError(first, second)


def check_rows_apart(config: SiteConfig) -> None:
    """Refuse two entries whose rows have the same scores, whatever their files, columns and labels are.

    Reads, scores and counts the rows of every model once. Models whose rows cannot be read now are passed over.
    """
    seen: dict[str, ScoreCounts] = {}
    for name, model in config.models.items():
        counts = _counted(config, model)
        if counts is None or not counts.scores.size:
            continue
        for other, known in seen.items():
            if _alike(known, counts):
                raise TwoEntriesError(other, name)
        seen[name] = counts


def require_new_rows(config: SiteConfig, name: str, model: SiteModel, counts: ScoreCounts) -> None:
    """Refuse a new model whose rows have the scores of another one's, or were asked about under another name.

    `counts` are the model's rows wherever their scores lie. Labels make no difference. Models whose rows cannot be read
    now are passed over: they cannot be asked about either.
    """
    for other, known in config.models.items():
        if other != name and (_one_source(config, known, model) or _alike(_counted(config, known), counts)):
            raise _set_up_already(name, other)
    for earlier in Register(config.folder).names_of(within(counts, *model.range)):
        if earlier != name:
            raise ParameterError(
                f"these rows and scores were asked about without noise under the name {earlier!r}: under another name "
                f"a second exact answer could be subtracted from the first. Give the name {earlier!r} again; if that "
                f"answer was never seen, first run `confide site forget FOLDER {earlier} --yes`"
            )


def _scored_alike(config: SiteConfig, one: SiteModel, other: SiteModel) -> bool:
    """Return whether two models have the same column of scores, or copies of one model file and the same features."""
    if config.same_scores(one, other):
        return True
    copies = one.model_file is not None and other.model_file is not None
    return (
        copies
        and set(one.features) == set(other.features)
        and same_content(config.model_path(one), config.model_path(other))
    )


def _one_source(config: SiteConfig, one: SiteModel, other: SiteModel) -> bool:
    return same_source(config.row_source(one), config.row_source(other)) and config.same_scores(one, other)


def _counted(config: SiteConfig, model: SiteModel) -> ScoreCounts | None:
    anywhere = SiteConfig(name=config.name, models={"model": replace(model, range=ANYWHERE)}, folder=config.folder)
    try:
        return anywhere.counts("model")
    except ConfideError:
        return None


def _alike(one: ScoreCounts | None, other: ScoreCounts) -> bool:
    """Return whether the same number of rows, of either class, has each score."""
    return (
        one is not None
        and np.array_equal(one.scores, other.scores)
        and np.array_equal(one.positives + one.negatives, other.positives + other.negatives)
    )


def _set_up_already(name: str, other: str) -> ParameterError:
    return ParameterError(
        f"model {other!r} has these rows and scores already: exact answers under two names could be subtracted from "
        f"each other. Ask for it as {other!r}, or let both names share one entry: confide site add-model FOLDER "
        f"--model-name {name} --same-as {other}"
    )


FEATURE_ADVICE = "check that the features are those it was trained with, and that features of text are listed in `text`"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCheck:
    """Findings about a model's rows: private, for the site's administrator alone.

    Parameters
    ----------
    counts
        The rows by score, wherever the scores lie.
    seconds
        Time that reading and scoring took.
    unscored
        A sentence about rows without a score; empty if there are none.
    score_range, beyond_range
        The range that the administrator stated, and whether a score lies outside it.
    small_class
        Whether a class has fewer rows than the policy's `smallest_class`.
    """

    counts: ScoreCounts = field(repr=False)
    seconds: float
    unscored: str = field(repr=False)
    score_range: tuple[float, float]
    beyond_range: bool = field(repr=False)
    small_class: bool = field(repr=False)


def check_data(model_name: str, model: SiteModel, policy: Policy) -> DataCheck:
    """Read, score and count a model's rows once; write nothing of them.

    Raises DataError for a table without rows and for a model that can score none of them.
    """
    started = time.perf_counter()
    with errors_shown():
        config = SiteConfig(name="this site", models={model_name: replace(model, range=ANYWHERE)})
        scored = config.scored(model_name)
    _require_scores(scored)
    counts = scored.counts
    return DataCheck(
        counts=counts,
        seconds=time.perf_counter() - started,
        unscored=scored.note,
        score_range=model.range,
        beyond_range=_beyond(scored, *model.range),
        small_class=min(counts.total_positives, counts.total_negatives) < policy.smallest_class,
    )


def _require_scores(scored: ScoredRows) -> None:
    rows = scored.counts.total_positives + scored.counts.total_negatives
    if not rows:
        raise DataError("the table has no rows; check the file")
    if sum(scored.unscored.values()) == rows:
        raise DataError(f"the model could not score any of the rows ({', '.join(scored.unscored)}); {FEATURE_ADVICE}")


def _beyond(scored: ScoredRows, low: float, high: float) -> bool:
    """Return whether a score lies outside the range. Rows without a score are counted at the lowest end."""
    scores = scored.counts.scores
    if scored.unscored:
        scores = scores[scores > ANYWHERE[0]]
    return not (low <= scores.min() and scores.max() <= high)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCheck:
    """A site that may start. `seconds` is the time that comparing its models took; None if none were compared."""

    name: str
    seconds: float | None


def check_site(folder: SiteFolder, *, certificate_name: str) -> StartCheck:
    """Check that a site's files can be read, that its name is its certificate's, and that no two models share rows."""
    policy = Policy.load(folder.policy)
    config = SiteConfig.load(folder.path)
    check_copies(config)
    seconds = _compare_models(config, policy)
    if config.name != certificate_name:
        raise UsageError(
            f"{folder.config} is about a site called {config.name!r}, but the certificate is that of "
            f"{certificate_name!r}; write the certificate's name there"
        )
    return StartCheck(name=config.name, seconds=seconds)


def _compare_models(config: SiteConfig, policy: Policy) -> float | None:
    """Refuse two models with the same rows and scores, if the policy allows answers without noise.

    The comparison reads and scores every model's rows. A site with one model, or with noise in all answers, skips it.
    """
    if len(config.models) < 2 or not policy.allows_exact:
        return None
    started = time.perf_counter()
    check_rows_apart(config)
    return time.perf_counter() - started
