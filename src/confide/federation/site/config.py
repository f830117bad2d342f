"""Configuration of a site: its folder, `site.toml`, and the policy of a new site.

Rows are counted as they are read, and only counts are kept. A score column is counted where the file is read; a
model that the site runs itself scores each distinct row by itself.

A model has one entry. Two entries for the same file and scores are refused, since exact answers about them could be
subtracted from each other. Another name for a model refers to its entry (`same_as`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide.counts import ScoreCounts
from confide.errors import NoRowsError, ParameterError, RefusedError
from confide.federation.modes.registry import mode_of
from confide.federation.policy import checked_modes, default_policy
from confide.federation.private_noise import NOISES, checked_small_delta
from confide.federation.question import Question
from confide.federation.question_terms import checked_names
from confide.federation.site.row_sources import (
    DatabaseRows,
    FileRows,
    Rows,
    RowSource,
    checked_location,
    is_url,
    same_file,
    same_source,
)
from confide.federation.site.scored_rows import ScoredRows, score_rows, within
from confide.federation.site_files import check_keys, parsed, read_text, table_text, toml_value, write_whole
from confide.ledger.account_terms import Composition
from confide.privacy.guarantee import checked_epsilon


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """Paths in a site's folder; everything in it is the site's own and never leaves."""

    path: Path

    @property
    def config(self) -> Path:
        """Configuration: the data of each model."""
        return self.path / "site.toml"

    @property
    def policy(self) -> Path:
        """Policy: the questions that the site answers."""
        return self.path / "policy.toml"

    @property
    def database(self) -> Path:
        """Database of all records: ledger, register, log of requests and approvals."""
        return self.path / "site.db"

    @property
    def key(self) -> Path:
        """Signing key that the site made for itself: other sites know this one by it."""
        return self.path / "site.key"

    @property
    def revoked(self) -> Path:
        """Last list of revoked certificates that came with a question."""
        return self.path / "revoked.json"

    @property
    def new_key(self) -> Path:
        """Private key for TLS of a request whose certificate has not come yet."""
        return self.path / "request.key"

    def request(self, name: str) -> Path:
        """Return the file of the site's request for a certificate."""
        return self.path / f"{name}.request"

    @property
    def kit(self) -> Path:
        """Workspace of the engine: certificates, the key for TLS and settings."""
        return self.path / "kit"


FILE = "site.toml"

_HEAD = """\
# This site's name, and for each model that is validated here:
#   data      a file of rows (CSV, Parquet or JSON lines), relative to this folder; or a table of a database:
#             postgresql://host/database/schema.table or duckdb:////path/of/file.db?table=name, without a password
#   query     with the URL of a database alone: a file with the SELECT statement that returns the rows, and
#             `query_sha256`, the digest of its text. A changed file is refused.
#   label     the column with the outcome, and `positive`, its value for those who had it (not needed for 0 and 1)
#   score     the column with the model's scores; or, for a model that is run here,
#   features  the columns that the model takes, of which `text` lists those to be read as text even where they look
#             like numbers, and
#   range     between which scores lie; [0.0, 1.0] unless given. Scores beyond count as the end that they passed.
#   model_file  the model: scikit-learn's saved with joblib (.joblib, .pkl), or .onnx with its weights inside. A .joblib
#             or .pkl file runs as a program: take it only from people whom you would let run programs here.
# Another name for a model that is here already has one line instead of all these:
#   same_as   the model's first name. What is answered under one name without noise counts for both.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteModel:
    """Location of a model's rows, and how they are scored: by a column, or by a model file from features."""

    data: str
    label: str
    positive: str | int | float | bool | None = None
    score: str | None = None
    features: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    model_file: str | None = None
    range: tuple[float, float] = (0.0, 1.0)
    query: str | None = None
    query_sha256: str | None = None

    def __post_init__(self) -> None:
        for name in ("data", "label"):
            _check_text(getattr(self, name), name)
        for name in ("score", "model_file", "query", "query_sha256"):
            if getattr(self, name) is not None:
                _check_text(getattr(self, name), name)
        if not isinstance(self.positive, str | int | float | None):
            raise ParameterError("positive must be a label: a text or a number")
        object.__setattr__(self, "features", _checked_features(self.features, "features"))
        object.__setattr__(self, "text", _checked_features(self.text, "text"))
        if not set(self.text) <= set(self.features):
            raise ParameterError("text must name columns that features names too")
        object.__setattr__(self, "range", _checked_range(self.range))
        runs = bool(self.features) and self.model_file is not None
        if (self.score is not None) == runs or (bool(self.features) != (self.model_file is not None)):
            raise ParameterError(
                "give either score, the column with the model's scores, or both features and model_file, so that the "
                "site scores the rows itself"
            )
        if (self.query is None) != (self.query_sha256 is None) or (self.query is not None and not is_url(self.data)):
            raise ParameterError("query needs query_sha256, the digest of its text, and the URL of a database in data")
        if is_url(self.data):
            checked_location(self.data, None if self.query is None else "SELECT")


class TwoEntriesError(ParameterError):
    """Two models of a site have the same rows and scores, under two names."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(
            f"models {one!r} and {other!r} have the same rows and scores: exact answers about them could be subtracted "
            f"from each other. Take one of them out of {FILE}, or let both names share one entry: under "
            f'[models."{other}"] write the one line same_as = "{one}"'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfig:
    """A site's name and its models; paths are relative to `folder`.

    `aliases` are further names of models, each with the name of the entry that it stands for.
    """

    name: str
    models: Mapping[str, SiteModel] = field(default_factory=dict)
    folder: Path = Path()
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_names([self.name], "site")
        checked_names(self.models, "model")
        checked_names(self.aliases, "model")
        object.__setattr__(self, "models", MappingProxyType(dict(self.models)))
        object.__setattr__(self, "aliases", MappingProxyType(dict(self.aliases)))
        self._check_aliases()
        self._check_apart()

    @classmethod
    def load(cls, folder: str | Path) -> SiteConfig:
        """Read a site's folder."""
        path = Path(folder) / FILE
        return cls.from_toml(read_text(path, "site configuration"), folder, source=str(path))

    @classmethod
    def from_toml(cls, text: str, folder: str | Path, *, source: str = FILE) -> SiteConfig:
        """Read the text of a configuration, refusing keys that nothing reads."""
        given = parsed(text, source)
        check_keys(given, ("site", "models"), source)
        site, models = _table(given.get("site", {}), f"{source}: [site]"), given.get("models", {})
        check_keys(site, ("name",), f"{source}: [site]")
        if "name" not in site:
            raise ParameterError(f"{source}: [site] needs a name; write it as the site's certificate has it")
        found: dict[str, SiteModel] = {}
        aliases: dict[str, str] = {}
        for name, plain in _table(models, f"{source}: models").items():
            where = f'{source}: [models."{name}"]'
            table = _table(plain, where)
            if "same_as" in table:
                check_keys(table, ("same_as",), where)
                aliases[name] = str(table["same_as"])
            else:
                found[name] = _model(table, where)
        return cls(name=site["name"], models=found, folder=Path(folder), aliases=aliases)

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which models can be asked for."""
        return (*self.models, *self.aliases)

    def with_model(self, name: str, model: SiteModel) -> SiteConfig:
        """Return the configuration with one more model, or another one of that name."""
        aliases = {alias: first for alias, first in self.aliases.items() if alias != name}
        return replace(self, models={**self.models, name: model}, aliases=aliases)

    def with_alias(self, name: str, same_as: str) -> SiteConfig:
        """Return the configuration with another name for a model that it has."""
        first = self.aliases.get(same_as, same_as)
        models = {known: model for known, model in self.models.items() if known != name or name == first}
        return replace(self, models=models, aliases={**self.aliases, name: first})

    def model(self, name: str) -> SiteModel:
        """Return the model that a name stands for."""
        first = self.aliases.get(name, name)
        if first not in self.models:
            raise RefusedError(f"this site has no model {name!r}; ask its administrator which names it has")
        return self.models[first]

    def source(self, name: str) -> str:
        """Return from which file or table, and by which column or model file, a model's scores come."""
        return json.dumps(self._source(self.model(name)), ensure_ascii=False)

    def to_toml(self) -> str:
        """Return the configuration as TOML."""
        tables = [table_text("site", {"name": self.name})]
        for name, model in self.models.items():
            values = {key: getattr(model, key) for key in MODEL_KEYS}
            lists = {"features": model.features or None, "text": model.text or None}
            tables.append(table_text(f"models.{toml_value(name)}", {**values, **lists}))
        for name, first in self.aliases.items():
            tables.append(table_text(f"models.{toml_value(name)}", {"same_as": first}))
        return "\n\n".join([_HEAD.rstrip(), *tables]) + "\n"

    def write(self, folder: str | Path) -> None:
        """Write the configuration into a folder, in place of one that is there."""
        write_whole(Path(folder) / FILE, self.to_toml())

    def counts(self, model: str) -> ScoreCounts:
        """Count a model's rows by score; see `scored`."""
        return self.scored(model).counts

    def scored(self, model: str) -> ScoredRows:
        """Count a model's rows by score.

        It is private whether a class is absent, whether there are any rows, and for how many rows the model fails, so
        none of these is an error. Data that cannot be read are an error, as for every source. Its message tells nothing
        that was read from them, but it may name files and columns of the site's.
        """
        with self.row_source(self.model(model)).open() as held:
            return self.scored_in(model, held.rows)

    def scored_in(self, model: str, rows: Rows) -> ScoredRows:
        """Count a model's rows by score in its file or table, which is open."""
        chosen = self.model(model)
        try:
            if chosen.score is None:
                return score_rows(rows, self.model_path(chosen), chosen)
            counts = ScoreCounts.from_table(
                rows, label=chosen.label, score=chosen.score, positive=chosen.positive, one_class=True
            )
        except NoRowsError:
            counts = ScoreCounts.empty()
        return ScoredRows(within(counts, *chosen.range))

    def check_grid(self, question: Question) -> None:
        """Refuse a grid that does not hold the model's range of scores: by what is public, whatever the data are."""
        if mode_of(question).private or question.model not in self.names:
            return
        low, high = self.model(question.model).range
        edges = question.public_grid.edges
        if not (edges[0] <= low and high <= edges[-1]):
            raise RefusedError(
                f"scores of model {question.model!r} lie between {low:g} and {high:g} at this site, and the grid does "
                "not hold all of that; ask with a `grid` that does"
            )

    def row_source(self, model: SiteModel) -> RowSource:
        """Return the place of a model's rows: a file, or a table or query in a database."""
        if not is_url(model.data):
            return FileRows(self.folder / model.data)
        query = None if model.query is None else self.folder / model.query
        return DatabaseRows(url=model.data, folder=self.folder, query_file=query, query_sha256=model.query_sha256)

    def same_scores(self, one: SiteModel, other: SiteModel) -> bool:
        """Return whether two models of the same rows have the same scores: by one column, or one file and features.

        Labels and ranges make no difference: two tables of the same scores can be subtracted whatever they count.
        """
        if one.score is not None or other.score is not None:
            return one.score == other.score
        paths = self.model_path(one), self.model_path(other)
        return set(one.features) == set(other.features) and same_file(*paths)

    def _source(self, model: SiteModel) -> list[Any]:
        data = self.row_source(model).place()
        if model.score is not None:
            return [data, model.score]
        return [data, str(self.model_path(model).resolve()), sorted(model.features)]

    def _check_aliases(self) -> None:
        for name, first in self.aliases.items():
            if name in self.models or first not in self.models:
                raise ParameterError(
                    f"model {name!r} is said to be the same as {first!r}, which must be another model with data of its "
                    "own; write the name of one that has them"
                )

    def _check_apart(self) -> None:
        """Refuse two entries for the same file and scores, by what the settings say and not by what the files hold."""
        for (first, one), (second, other) in combinations(sorted(self.models.items()), 2):
            if same_source(self.row_source(one), self.row_source(other)) and self.same_scores(one, other):
                raise TwoEntriesError(first, second)

    def model_path(self, model: SiteModel) -> Path:
        """Return a model's file: inside the site's folder, unless an absolute path says otherwise."""
        given = Path(str(model.model_file))
        if given.is_absolute():
            return given
        path = (self.folder / given).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ParameterError(
                "model_file in site.toml leaves the site's folder; put the file there, or give its absolute path"
            )
        return path


MODEL_KEYS = tuple(SiteModel.__dataclass_fields__)


def _table(plain: object, source: str) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping):
        raise ParameterError(f"{source} must be a table; see the head of a new site's file for how it is written")
    return plain


def _model(plain: Mapping[str, Any], source: str) -> SiteModel:
    check_keys(plain, MODEL_KEYS, source)
    missing = [key for key in ("data", "label") if key not in plain]
    if missing:
        raise ParameterError(f"{source} needs {' and '.join(missing)}")
    try:
        return SiteModel(**plain)
    except ParameterError as error:
        raise ParameterError(f"{source}: {error}") from None


def _check_text(value: object, name: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{name} must be a text that is not empty; got {value!r}")


def _checked_range(ends: object) -> tuple[float, float]:
    if isinstance(ends, list | tuple) and len(ends) == 2 and all(type(end) in (int, float) for end in ends):
        low, high = float(ends[0]), float(ends[1])
        if math.isfinite(high - low) and low < high:
            return low, high
    raise ParameterError("range must be two numbers, the lower first, between which scores lie: [0.0, 1.0]")


def _checked_features(features: object, key: str) -> tuple[str, ...]:
    if not isinstance(features, list | tuple) or not all(isinstance(name, str) and name for name in features):
        raise ParameterError(f'{key} must be a list of columns, for example ["age", "creatinine"]')
    if len(set(features)) < len(features):
        raise ParameterError(f"{key} must name each column once")
    return tuple(features)


def new_policy(
    studies: Sequence[str],
    *,
    epsilon_in_all: object = None,
    epsilon_per_study: object = None,
    delta_in_all: object = None,
    modes: Sequence[str] = (),
) -> str:
    """Return the text of a new site's policy; limits that are None, and modes if none is named, keep their defaults.

    With a delta, the ledger adds up rho (zCDP), and answers may have Gaussian noise.
    """
    text = default_policy(studies=studies, **({"modes": checked_modes(list(modes), "`modes`")} if modes else {}))
    for rule, value in (("epsilon_in_all", epsilon_in_all), ("epsilon_per_study", epsilon_per_study)):
        if value is not None:
            text = _with_line(text, rule, _written(checked_epsilon(value)))
    delta = Fraction(0) if delta_in_all is None else checked_small_delta(delta_in_all)
    if delta:
        text = _with_line(text, "delta_in_all", _written(delta))
        text = _with_line(text, "composition", toml_value(Composition.ZCDP.value))
        text = _with_line(text, "noise", toml_value(NOISES))
    return text


def _written(exact: Fraction) -> str:
    """Write a limit; a fraction is written as text, so that it is read exactly."""
    return str(exact) if exact.denominator == 1 else toml_value(str(exact))


def _with_line(text: str, rule: str, written: str) -> str:
    """Replace the line of one rule."""
    changed, lines = re.subn(rf"^{rule} = .*$", f"{rule} = {written}", text, flags=re.MULTILINE)
    if lines != 1:
        raise ParameterError(f"the policy has no line for {rule}; change it in policy.toml by hand")
    return changed
