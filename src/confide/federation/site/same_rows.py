"""Search for the same rows under two names by the content of files, for a site's administrator.

`SiteConfig` sees when two models name one file. A copy of the file, or of its column of scores, shows only in the
content. The content is compared when an administrator sets a model up or starts the site; the result is shown on that
terminal. Replies to a coordinator never depend on it: whether two models score all rows alike would tell of single
rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ConfideError, ParameterError
from confide.federation.site.data import SiteConfig, SiteModel, TwoEntriesError
from confide.federation.site.register import Register
from confide.federation.site.row_sources import same_content, same_source
from confide.federation.site.scored_rows import within

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
