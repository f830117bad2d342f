"""Identity of a site's rows: it follows data, model file and settings, and a change while reading is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

from confide.errors import ConfideError, DataError
from confide.federation.site.config import SiteConfig, SiteModel
from confide.federation.site.scored_rows import read_rows
from tests.federation.site_rows import BOTH, DATA, config, save


@pytest.fixture
def scored(tmp_path: Path) -> SiteConfig:
    DATA.to_csv(tmp_path / "rows.csv", index=False)
    save(LogisticRegression().fit(DATA[BOTH], DATA["event"]), tmp_path / "model.joblib")
    return config(tmp_path, model_file="model.joblib", features=tuple(BOTH))


def test_another_model_file_is_another_identity(scored: SiteConfig, tmp_path: Path) -> None:
    first = read_rows(scored, "m").identity
    assert read_rows(scored, "m").identity == first
    save(LogisticRegression(C=0.01).fit(DATA[BOTH], DATA["event"]), tmp_path / "model.joblib")
    assert read_rows(scored, "m").identity != first


def test_other_rows_and_other_settings_are_another_identity(scored: SiteConfig, tmp_path: Path) -> None:
    first = read_rows(scored, "m").identity
    other = config(tmp_path, model_file="model.joblib", features=tuple(reversed(BOTH)))
    assert read_rows(other, "m").identity != first
    DATA.iloc[1:].to_csv(tmp_path / "rows.csv", index=False)
    assert read_rows(scored, "m").identity != first


@pytest.mark.parametrize("file", ["rows.csv", "model.joblib"])
def test_a_change_while_rows_are_read_is_noticed(
    scored: SiteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    honest = SiteConfig.scored_in

    def slow(self: SiteConfig, *given: Any) -> Any:
        found = honest(self, *given)
        with (tmp_path / file).open("ab") as stream:
            stream.write(b"60,0.1,f,0.5,no,0\n")
        return found

    monkeypatch.setattr(SiteConfig, "scored_in", slow)
    with pytest.raises(DataError, match="changed while they were read"):
        read_rows(scored, "m")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("duckdb:///h.db?table=t", "duckdb:///h.db?table=main.T"),
        ("duckdb:///h.db?table=t", "duckdb:///h.db?table=h.t"),
        ("postgresql://db/heart/t", "postgresql://db:5432/heart/public.t"),
        ("postgresql://localhost/heart/t", "postgresql:///heart/t"),
    ],
)
def test_two_spellings_of_a_table_are_one_source(one: str, other: str, tmp_path: Path) -> None:
    models = {name: SiteModel(data=data, label="y", score="s") for name, data in (("a", one), ("b", other))}
    with pytest.raises(ConfideError):
        SiteConfig(name="north", models=models, folder=tmp_path)


def test_tables_of_other_names_are_other_sources(tmp_path: Path) -> None:
    urls = ("duckdb:///h.db?table=t", "duckdb:///h.db?table=u.t", "postgresql://db/heart/t", "postgresql://db/heart/T")
    models = {str(place): SiteModel(data=url, label="y", score="s") for place, url in enumerate(urls)}
    assert len(SiteConfig(name="north", models=models, folder=tmp_path).models) == 4
