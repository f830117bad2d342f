"""Sites whose rows lie in PostgreSQL or DuckDB answer as sites with files do, and reveal nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from confide.errors import ParameterError, UsageError
from confide.federation.flare.confinement import credential_files, data_files
from confide.federation.protocol import OFFER, RunError
from confide.federation.question import PROTOCOL
from confide.federation.site.approvals import Decision
from confide.federation.site.checks import check_rows_apart
from confide.federation.site.config import SiteConfig, SiteModel, TwoEntriesError
from confide.federation.site.register import Register
from confide.federation.site.scored_rows import read_rows
from confide.federation.site.site import Site
from confide.federation.site_state import SiteState
from confide.sources import open_tables
from confide.sources.locations import TableLocation, query_digest
from confide.tasks.site import site_model
from tests.databases import Database, in_file, on_server
from tests.federation.network import MODEL, Network
from tests.federation.site_books import approvals_of, logged
from tests.federation.site_rows import BOTH, DATA, SECRET, counted, same_rows, save
from tests.servers import running_server

COHORT = "SELECT age, marker, risk, event FROM patients WHERE age > 40"
ROWS = {name: DATA[name].tolist() for name in DATA.columns}
CHANGED = "the data changed"


@pytest.fixture(scope="module", params=["postgresql", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "duckdb":
        yield in_file(tmp_path_factory.mktemp("duckdb") / "cdm.db")
        return
    with running_server() as server:
        yield on_server(server.get_uri())


@pytest.fixture
def patients(database: Database) -> Database:
    database.fill("patients", ROWS)
    return database


def config(folder: Path, **models: SiteModel) -> SiteConfig:
    return SiteConfig(name="hospital-a", models=models, folder=folder)


def by_query(folder: Path, database: Database, text: str = COHORT, **scored: Any) -> SiteModel:
    file = folder / "cohort.sql"
    file.write_text(text)
    return site_model(data=database.url, query=file, label="event", **{"score": "risk", **scored})


@pytest.mark.few(1)
def test_a_table_and_a_query_are_counted_as_files_are(patients: Database, tmp_path: Path) -> None:
    table = site_model(data=patients.table_url("patients"), label="died", positive="yes", score="risk")
    found = config(tmp_path, m=table).counts("m")
    assert found == counted(DATA["risk"])
    chosen = DATA[DATA["age"] > 40]
    assert config(tmp_path, m=by_query(tmp_path, patients)).counts("m") == counted(chosen["risk"], chosen["event"])


@pytest.mark.few(1)
def test_a_local_model_scores_rows_of_a_query(patients: Database, tmp_path: Path) -> None:
    model = LogisticRegression().fit(DATA[BOTH], DATA["event"])
    save(model, tmp_path / "model.joblib")
    scored: dict[str, Any] = {"score": None, "model_file": tmp_path / "model.joblib", "features": BOTH}
    found = config(tmp_path, m=by_query(tmp_path, patients, **scored)).scored("m")
    chosen = DATA[DATA["age"] > 40]
    same_rows(found.counts, model.predict_proba(chosen[BOTH])[:, 1], chosen["event"])
    assert not found.unscored


def test_the_text_of_a_query_is_fixed(patients: Database, tmp_path: Path) -> None:
    model = by_query(tmp_path, patients)
    assert model.query_sha256 == query_digest(COHORT)
    place = config(tmp_path, m=model)
    place.write(tmp_path)
    assert SiteConfig.load(tmp_path).models == {"m": model}
    first = read_rows(place, "m").identity
    (tmp_path / "cohort.sql").write_text(COHORT + " AND age < 90")
    with pytest.raises(UsageError, match="not the one that was set up"):
        read_rows(place, "m")
    assert read_rows(config(tmp_path, m=by_query(tmp_path, patients, COHORT + " ")), "m").identity != first


def test_the_identity_follows_the_rows(patients: Database, tmp_path: Path) -> None:
    place = config(tmp_path, m=site_model(data=patients.table_url("patients"), label="event", score="risk"))
    first = read_rows(place, "m")
    order = np.random.default_rng(1).permutation(len(DATA)).tolist()
    patients.fill("patients", {name: [values[row] for row in order] for name, values in ROWS.items()})
    again = read_rows(place, "m")
    assert (again.identity, again.counts) == (first.identity, first.counts)
    patients.run("UPDATE patients SET sex = 'x' WHERE age = (SELECT max(age) FROM patients)")
    changed = read_rows(place, "m")
    assert changed.identity != first.identity
    assert changed.counts == first.counts


@pytest.fixture
def network(patients: Database, tmp_path: Path) -> Network:
    """Four sites, of which the first reads a database."""
    found = Network.build(tmp_path, {"east": 90, "north": 60, "south": 75, "west": 80})
    labels, scores = found.rows["east"]
    patients.fill("east", {"outcome": labels.tolist(), "risk": scores.tolist(), "note": ["a"] * len(labels)})
    model = site_model(data=patients.table_url("east"), label="outcome", score="risk")
    site = found.sites["east"]
    site.config = replace(site.config, models={MODEL: model})
    site.config.write(site.folder.path)
    return found


@pytest.mark.few(1)
def test_a_federation_sums_files_and_tables(network: Network) -> None:
    outcome = network.run(network.question("secure-sum", minimum_cell=1))
    files = network.sites["east"]
    files.config = replace(files.config, models={MODEL: SiteModel(data="rows.csv", label="outcome", score="risk")})
    Register(files.folder.path).forget(MODEL, source=files.config.source(MODEL))
    again = network.run(network.question("secure-sum", minimum_cell=1))
    assert outcome.total == again.total


def told(site: Site, network: Network, mode: str, **terms: Any) -> tuple[str, str | None]:
    question = network.question(mode, **terms).to_dict()
    reply = site.reply(OFFER, {"protocol": PROTOCOL, "session": "5" * 32, "question": question})
    return reply["state"], reply.get("message")


@pytest.mark.few(1)
@pytest.mark.parametrize("fewest", [4, 3])
def test_no_query_runs_before_a_person_approves(
    network: Network, patients: Database, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    """The site does not connect, so what it says is the same if the table is gone."""
    opened: list[TableLocation] = []
    real = open_tables.open_table

    def counted(location: TableLocation, **options: Any) -> Any:
        opened.append(location)
        return real(location, **options)

    monkeypatch.setattr(open_tables, "open_table", counted)
    east = network.sites["east"]
    policy = east.folder.policy.read_text().replace('approval = "automatic"', 'approval = "manual"')
    east.folder.policy.write_text(policy)
    east = network.sites["east"] = Site.open(east.folder.path, east.identity, coordinator=east.coordinator)  # type: ignore[index]
    terms: dict[str, Any] = {"minimum_cell": 1, "fewest": fewest, "colluders": 1}
    assert bool(network.question("secure-sum", **terms).threshold) == (fewest == 3)
    first = told(east, network, "secure-sum", **terms)
    assert first[0] == SiteState.HELD
    patients.run("ALTER TABLE east RENAME TO hidden")
    assert told(east, network, "secure-sum", **terms) == first
    patients.run("ALTER TABLE hidden RENAME TO east")
    with pytest.raises(RunError, match="Waiting for a person's approval: east"):
        network.run(network.question("secure-sum", **terms))
    assert not opened
    (held,) = approvals_of(east.folder).waiting()
    approvals_of(east.folder).decide(held.id, Decision.APPROVED, by="anna")
    assert network.run(network.question("secure-sum", **terms)).total is not None
    assert len(opened) == 1


@pytest.mark.few(1)
def test_changed_rows_are_refused_as_in_a_file(network: Network, patients: Database) -> None:
    """The same words, whether a file or a table changed."""
    network.run(network.question("secure-sum", minimum_cell=1))
    east, north = network.sites["east"], network.sites["north"]
    assert told(east, network, "secure-sum", minimum_cell=1)[0] == "answered"
    patients.run("UPDATE east SET note = 'b'")
    file = north.folder.path / "rows.csv"
    file.write_text(file.read_text() + "0,0.5\n")
    changed = told(east, network, "secure-sum", minimum_cell=1)
    assert changed[0] == "refused"
    assert changed == told(north, network, "secure-sum", minimum_cell=1)


def test_a_coordinator_learns_no_reason(network: Network, patients: Database) -> None:
    """A table that is gone, a wrong type and a database out of reach look like a file that cannot be read."""
    east, north = network.sites["east"], network.sites["north"]
    (north.folder.path / "rows.csv").unlink()
    unreadable = told(north, network, "private", epsilon="1/4")
    assert unreadable[0] == "failed"
    patients.run("DROP TABLE east")
    assert told(east, network, "private", epsilon="1/4") == unreadable
    patients.fill("east", {"outcome": [1, 0], "risk": [f"word {SECRET}", "0.5"]})
    assert told(east, network, "private", epsilon="1/4") == unreadable
    away = "postgresql:///x/t?host=/nowhere" if patients.engine == "postgresql" else "duckdb:////nowhere.db?table=t"
    east.config = replace(east.config, models={MODEL: SiteModel(data=away, label="outcome", score="risk")})
    assert told(east, network, "private", epsilon="1/4") == unreadable
    entries = logged(east.folder)
    assert str(SECRET) not in json.dumps(entries)
    assert len({entry["message"] for entry in entries[-3:]}) == 3  # for the administrator


@pytest.mark.few(1)
def test_a_private_answer_is_drawn_once_for_a_table(network: Network, patients: Database) -> None:
    question = network.question("private", epsilon="1/4")
    first = network.run(question)
    assert network.spent("east") == 0.25
    again = network.run(question)
    assert network.spent("east") == 0.25
    assert first.total is not None
    assert first.total == again.total
    patients.run("DELETE FROM east WHERE risk > 0.7")
    with pytest.raises(RunError):
        network.run(question)
    assert network.spent("east") == 0.25


def test_one_source_under_two_names_is_refused(patients: Database, tmp_path: Path) -> None:
    first = site_model(data=patients.table_url("patients"), label="event", score="risk")
    with pytest.raises(TwoEntriesError):
        config(tmp_path, m=first, other=replace(first, label="died", positive="yes"))
    same = by_query(tmp_path, patients, "SELECT * FROM patients")
    with pytest.raises(TwoEntriesError):  # by content, which shows when the site starts
        check_rows_apart(config(tmp_path, m=first, other=same))
    place = config(tmp_path, m=first)
    assert Register(tmp_path).answered_exactly("m", source=place.source("m")) is False
    assert "patients" in place.source("m")
    assert json.loads(config(tmp_path, m=same).source("m"))[0][-1] == same.query_sha256


@pytest.mark.parametrize(
    "keys",
    [
        {"data": "postgresql://ana:secretword@db/cdm/patients"},
        {"data": "postgresql://db/cdm"},
        {"data": "mysql://db/cdm/patients"},
        {"data": "spark://master:7077/rows.parquet"},
        {"data": "rows.csv", "query": "cohort.sql", "query_sha256": "0" * 64},
        {"data": "postgresql://db/cdm", "query": "cohort.sql"},
        {"data": "postgresql://db/cdm/patients", "query": "cohort.sql", "query_sha256": "0" * 64},
    ],
)
def test_wrong_settings_are_refused_without_a_connection(keys: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        SiteModel(label="event", score="risk", **keys)
    assert "secretword" not in str(caught.value)


def test_a_confined_engine_may_read_credentials_and_nothing_beside(
    patients: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "secrets" / "pass"))
    config(tmp_path, m=by_query(tmp_path, patients)).write(tmp_path)
    database = [Path(patients.place).resolve()] if patients.engine == "duckdb" else []
    assert list(data_files(tmp_path)) == [*database, tmp_path / "cohort.sql"]
    found = set(credential_files(tmp_path))
    assert (tmp_path / "secrets" / "pass" in found) == (patients.engine == "postgresql")
    assert tmp_path / "home" not in found


@pytest.fixture
def scored(patients: Database, tmp_path: Path) -> SiteConfig:
    """A site that runs a model on numbers and truth values of a table."""
    kind = "numeric" if patients.engine == "postgresql" else "double"
    patients.run("DROP TABLE IF EXISTS features")
    patients.run(f"CREATE TABLE features (age {kind}, marker boolean, event int)")
    for row in range(40):
        patients.run(f"INSERT INTO features VALUES ({row / 40}, {row % 3 == 0}, {row % 2})")  # noqa: S608
    train = DATA[BOTH].assign(marker=DATA["marker"] > 0)
    save(LogisticRegression().fit(train, DATA["event"]), tmp_path / "model.joblib")
    url = patients.table_url("features")
    model = site_model(data=url, label="event", model_file=tmp_path / "model.joblib", features=BOTH)
    return config(tmp_path, m=model)


@pytest.mark.few(1)
@pytest.mark.parametrize("value", ["NULL", "'NaN'", "'Infinity'", "1e300", "1e400", "-1e400", "1e-400"])
def test_no_value_of_a_feature_keeps_a_site_from_answering(scored: SiteConfig, patients: Database, value: str) -> None:
    """Neighbours: with and without one row. PostgreSQL would refuse to convert some of these numbers."""
    before = scored.counts("m").total_positives
    if patients.engine == "duckdb" and "e" in value and not value.endswith("300"):
        value = f"CAST('{value}' AS DOUBLE)" if value == "1e-400" else "CAST('inf' AS DOUBLE)"
    patients.run(f"INSERT INTO features VALUES ({value}, true, 1)")  # noqa: S608
    assert scored.counts("m").total_positives == before + 1


def test_a_site_s_query_reads_no_file_outside_of_its_database(tmp_path: Path) -> None:
    """DuckDB would decide the types of text by all rows of the file."""
    database = in_file(tmp_path / "cdm.db")
    database.fill("patients", ROWS)
    rows = tmp_path / "rows.csv"
    rows.write_text("event,risk\n1,0.5\n0,0.1\n")
    with pytest.raises(ParameterError, match="reads a file outside of the database"):
        read_rows(config(tmp_path, m=by_query(tmp_path, database, f"SELECT * FROM read_csv('{rows}')")), "m")  # noqa: S608
