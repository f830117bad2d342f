"""Describe a model of a site: the place of its rows, and how they are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import UsageError
from confide.tasks.federation_folders import require_engine

if TYPE_CHECKING:
    from confide.federation.site.data import SiteModel


def site_model(
    *,
    data: str | Path,
    label: str,
    positive: str | None = None,
    score: str | None = None,
    model_file: str | Path | None = None,
    features: Sequence[str] = (),
    score_range: tuple[float, float] | None = None,
    query: str | Path | None = None,
) -> SiteModel:
    """Describe a model's rows and scores, with absolute paths, so that they hold wherever the site is started.

    `data` is the path of a file, or the URL of a table in PostgreSQL or DuckDB. With `query`, the path of a file with a
    SELECT statement, the URL names the database alone. The text of the query is fixed by its digest.
    """
    require_engine()
    from confide.federation.site.data import SiteModel

    model = None if model_file is None else Path(model_file)
    place, digest = _row_place(data, query)
    if model is not None and not model.is_file():
        raise UsageError(f"there is no file {model}; give the model's file")
    if score is not None and score == label:
        raise UsageError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    if (score is None) == (model is None and not features):
        raise UsageError("give `score`, the column of scores, or `model_file` with `features`, the columns it takes")
    return SiteModel(
        data=place,
        label=label,
        positive=positive,
        score=score,
        features=tuple(features),
        model_file=None if model is None else str(model.resolve()),
        range=(0.0, 1.0) if score_range is None else score_range,
        query=None if query is None else str(Path(query).resolve()),
        query_sha256=digest,
    )


def _row_place(data: str | Path, query: str | Path | None) -> tuple[str, str | None]:
    """Return the absolute path or the URL of rows, and the digest of the query that returns them."""
    from confide.federation.site.row_sources import checked_location, is_url
    from confide.sources.locations import Engine, read_query

    if isinstance(data, str) and is_url(data):
        text = None if query is None else read_query(Path(query))
        found = checked_location(data, text)
        if found.engine is Engine.DUCKDB:
            found = replace(found, place=str(Path(found.place).resolve()))
        return found.url, found.query_sha256
    rows = Path(data)
    if not rows.is_file():
        raise UsageError(f"there is no file {rows}; give the file of rows, or the URL of a table")
    if query is not None:
        raise UsageError("`query` is for a database; give its URL as `data`, such as postgresql://host/database")
    return str(rows.resolve()), None
