"""Make up hospitals: each a PostgreSQL database with tables as in the OMOP common data model.

    python examples/omop/make_tables.py north south west

The server, the user and the password come from the environment, as for every program of PostgreSQL (PGHOST, PGUSER,
PGPASSWORD). Nobody in these tables exists. The same names give the same rows.
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from typing import Any
from zlib import crc32

import numpy as np
import psycopg
from psycopg import sql

HEART_FAILURE, DIABETES, INPATIENT, OUTPATIENT, CREATININE = 316139, 201826, 9201, 9202, 3016723
MALE, FEMALE = 8507, 8532

TABLES = """
CREATE TABLE person (person_id bigint PRIMARY KEY, gender_concept_id int NOT NULL, year_of_birth int NOT NULL);
CREATE TABLE visit_occurrence (visit_occurrence_id bigint PRIMARY KEY, person_id bigint NOT NULL,
    visit_concept_id int NOT NULL, visit_start_date date NOT NULL, visit_end_date date NOT NULL);
CREATE TABLE condition_occurrence (condition_occurrence_id bigint PRIMARY KEY, person_id bigint NOT NULL,
    condition_concept_id int NOT NULL, condition_start_date date NOT NULL);
CREATE TABLE measurement (measurement_id bigint PRIMARY KEY, person_id bigint NOT NULL,
    measurement_concept_id int NOT NULL, measurement_date date NOT NULL, value_as_number numeric);
CREATE TABLE death (person_id bigint PRIMARY KEY, death_date date NOT NULL);
"""


def made_up(name: str, people: int) -> dict[str, list[tuple[Any, ...]]]:
    """Draw the rows of a hospital's tables."""
    rng = np.random.default_rng(crc32(name.encode()))
    rows: dict[str, list[tuple[Any, ...]]] = {
        table: [] for table in ("person", "visit_occurrence", "condition_occurrence", "measurement", "death")
    }

    def add(table: str, *values: Any) -> None:
        rows[table].append((len(rows[table]) + 1, *values))

    for person in range(1, people + 1):
        female, age = bool(rng.random() < 0.45), int(np.clip(rng.normal(72, 11), 30, 98))
        diabetes, creatinine = bool(rng.random() < 0.3), float(rng.lognormal(0.15 + 0.005 * (age - 70), 0.35))
        admitted = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 600)))
        add("person", FEMALE if female else MALE, admitted.year - age)
        add("visit_occurrence", person, OUTPATIENT, admitted - timedelta(days=90), admitted - timedelta(days=90))
        discharged = admitted + timedelta(days=int(rng.integers(2, 15)))
        add("visit_occurrence", person, INPATIENT, admitted, discharged)
        if rng.random() < 0.85:
            add("condition_occurrence", person, HEART_FAILURE, admitted)
        if diabetes:
            add("condition_occurrence", person, DIABETES, admitted - timedelta(days=400))
        if rng.random() < 0.9:  # nobody measured it in the others
            add("measurement", person, CREATININE, admitted, round(creatinine, 2))
        risk = -3.4 + 0.05 * (age - 70) + 0.9 * np.log(creatinine) + 0.5 * diabetes - 0.2 * female
        if rng.random() < 1 / (1 + np.exp(-risk)):
            rows["death"].append((person, admitted + timedelta(days=int(rng.integers(1, 31)))))
    return rows


def make_database(name: str, people: int) -> None:
    """Make a database with its tables."""
    with psycopg.connect(dbname="postgres", autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with psycopg.connect(dbname=name) as connection:
        connection.execute(TABLES)
        for table, rows in made_up(name, people).items():
            columns = sql.SQL(", ").join(sql.Placeholder() * len(rows[0]))
            insert = sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(table), columns)
            connection.cursor().executemany(insert, rows)


def main() -> None:
    """Make the databases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="hospitals: names of new databases")
    parser.add_argument("--people", type=int, default=800, help="people at each hospital")
    given = parser.parse_args()
    for name in given.names:
        make_database(name, given.people)
        print(f"made database {name}: {given.people} people")  # noqa: T201 - an example's own output


if __name__ == "__main__":
    main()
