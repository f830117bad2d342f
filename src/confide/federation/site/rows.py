"""A model's rows at a site: their counts, and the identity of what they were read from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from confide.counts import ScoreCounts
from confide.errors import DataError
from confide.federation.site.config import SiteConfig
from confide.federation.site.row_sources import HeldRows
from confide.ledger.requests import source_digest
from confide.sources.digests import raw_bytes

_PLACES = ("data", "model_file", "query")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRows:
    """Counts of a model's rows, with the digest of the files or the table as they are and of how they are read.

    Whether a site's data are those of an earlier question is decided by the digest, and not by the counts: a refusal or
    a price that depended on the counts would tell of single rows. Without a key the digest could be guessed: it must
    not leave the process. `note` is about rows that the model could not score, for the site's own log.
    """

    counts: ScoreCounts = field(repr=False)
    identity: bytes = field(repr=False)
    note: str = field(default="", repr=False)


def read_rows(config: SiteConfig, model: str) -> SiteRows:
    """Count a model's rows, and identify the files or the table that they came from.

    A table is digested in the snapshot in which it is counted. Files are digested before and after.
    """
    with config.row_source(config.model(model)).open() as held:
        before = source_digest(_source(config, model, held))
        scored = config.scored_in(model, held.rows)
        if source_digest(_source(config, model, held)) != before:
            raise DataError("the site's data changed while they were read; try again when nobody writes to them")
    return SiteRows(counts=scored.counts, identity=before, note=scored.note)


def _source(config: SiteConfig, name: str, held: HeldRows) -> Iterator[bytes]:
    """Yield the settings of a model, but for where its files lie, and the digests of its rows and of its file."""
    model = config.model(name)
    settings = {key: value for key, value in asdict(model).items() if key not in _PLACES}
    if model.query_sha256 is None:
        del settings["query_sha256"]  # as if there were no such setting
    yield json.dumps(settings, sort_keys=True, default=str).encode()
    yield held.digest()
    if model.model_file is not None:
        yield source_digest(raw_bytes(config.model_path(model)))
