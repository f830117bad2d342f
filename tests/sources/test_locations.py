"""URLs of tables: read as they are meant, written back, and never quoted where they cannot be read."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, ParameterError, UsageError
from confide.sources.locations import Engine, TableLocation, as_location, query_digest

READ = {
    "postgresql://db.example/heart/trial.scores": ("postgresql", "heart", ("trial", "scores")),
    "postgres://ana@db.example:5433/heart?table=trial.scores": ("postgresql", "heart", ("trial", "scores")),
    "postgresql:///heart/scores?host=/run/postgresql": ("postgresql", "heart", ("scores",)),
    "postgresql://ana:@/heart/scores?sslmode=verify-full": ("postgresql", "heart", ("scores",)),
    "postgresql:///?table=scores&service=heart": ("postgresql", "", ("scores",)),
    "postgresql://db/h%40rt/a%2Eb.c": ("postgresql", "h@rt", ("a.b", "c")),
    "duckdb:///heart.db?table=scores": ("duckdb", "heart.db", ("scores",)),
    "duckdb:////data/heart.db?table=main.scores": ("duckdb", "/data/heart.db", ("main", "scores")),
    "spark://master:7078/data/rows.parquet": ("spark", "/data/rows.parquet", ()),
}


@pytest.mark.parametrize("url", READ)
def test_a_url_is_read_and_written_back(url: str) -> None:
    found = TableLocation.parse(url)
    assert (str(found.engine), found.place, found.table) == READ[url]
    assert TableLocation.parse(found.url) == found
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own
    assert as_location(url) == found
    assert hash(found) == hash(as_location(url))


def test_the_user_is_not_in_what_is_shown() -> None:
    found = TableLocation.parse("postgresql://ana@db.example:5433/heart/scores?sslmode=require")
    assert found.shown == "postgresql://db.example:5433/heart/scores"
    assert found.settings == {"host": "db.example", "port": "5433", "user": "ana", "sslmode": "require"}


def test_anything_else_stays_what_it_is() -> None:
    for source in ("rows.csv", Path("rows.csv"), "s3://bucket/rows.parquet", None, [1, 2]):
        assert as_location(source) is source


SECRET = "hunter2secret"  # noqa: S105 - what must not be shown
REFUSED = (
    f"postgresql://ana:{SECRET}@db/heart/scores",
    f"postgresql://ana:{SECRET}/x@db/heart/scores",
    f"postgresql://ana:12/{SECRET}@db/heart",
    f"postgresql://db/heart/scores?password={SECRET}",
    f"postgresql://db/heart/scores?PASSWORD={SECRET}",
    f"postgresql://db/heart/scores?sslpassword={SECRET}",
    f"postgresql://db/heart/scores?options={SECRET}",
    f"postgresql://db:{SECRET}/heart/scores",
    f"postgresql://ana@{SECRET}@db/heart/scores",
    f"postgresql://db/heart/scores#{SECRET}",
    f"postgresql://db/heart/{SECRET}/scores",
    f"postgresql://db/{SECRET}",
    f"postgresql://db/heart/a.b.{SECRET}",
    f"duckdb://{SECRET}.db?table=scores",
    f"duckdb:///heart.db?password={SECRET}&table=scores",
    f"spark://ana:{SECRET}@master:7077/rows.parquet",
    f"spark://{SECRET}@master:7077/rows.parquet",
    f"mysql://{SECRET}@db/heart/scores",
)


@pytest.mark.parametrize("url", REFUSED)
def test_a_refused_url_is_not_quoted(url: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TableLocation.parse(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)


@given(st.text(alphabet="ab:@/?#&=%.[]", max_size=30))
def test_no_url_raises_anything_but_our_own_error(rest: str) -> None:
    for scheme in ("postgresql", "duckdb", "spark"):
        try:
            found = TableLocation.parse(f"{scheme}://{rest}")
        except ConfideError:
            continue
        assert TableLocation.parse(found.url).url == found.url


def test_a_query_stands_in_for_the_table(tmp_path: Path) -> None:
    file = tmp_path / "cohort.sql"
    file.write_text("SELECT 1 AS died")
    found = TableLocation.parse("postgresql://db/heart", query=file)
    assert found.query_sha256 == query_digest("SELECT 1 AS died")
    assert found.details() == {"query": found.query_sha256}
    assert "SELECT" not in repr(found)
    with pytest.raises(ParameterError, match="take the table out"):
        TableLocation.parse("postgresql://db/heart/scores", query=file)
    with pytest.raises(ParameterError, match="names no table"):
        TableLocation.parse("postgresql://db/heart")
    with pytest.raises(UsageError, match=r"gone\.sql does not exist"):
        TableLocation.parse("postgresql://db/heart", query=tmp_path / "gone.sql")


def test_a_path_is_read_by_spark_if_that_is_asked_for() -> None:
    found = TableLocation.parse("data/rows.parquet", engine="spark")
    assert (found.engine, found.place, found.url) == (Engine.SPARK, "data/rows.parquet", "data/rows.parquet")
    for url, engine in (("rows.parquet", "duckdb"), ("postgresql://db/h/t", "spark"), ("rows.parquet", "sprak")):
        with pytest.raises(ParameterError):
            TableLocation.parse(url, engine=engine)
