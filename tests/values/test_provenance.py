"""Origin of results: what is shown to whom, and that no password and no digest gets where it must not be."""

from __future__ import annotations

import io
import re
from dataclasses import fields
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest
from rich.console import Console

import confide
from confide.errors import ParameterError, UsageError
from confide.provenance import Provenance, PublicProvenance, shown_command
from confide.report.origin import (
    banner_text,
    exact_banner,
    print_banner,
    print_provenance,
    provenance_line,
    provenance_section,
    provenance_table,
)
from confide.tasks.provenance import public_provenance, read_provenance
from tests.report.test_evaluation_page import Elements

DAY = date(2026, 3, 1)
DIGEST = sha256(b"rows").hexdigest()
WHOLE = Provenance(version="1.2", date=DAY, command="confide evaluate <a>.csv", sha256=DIGEST, seed=7)


class TestShownCommand:
    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://ana:hunter2@db.example:5432/ledgers",
            "postgresql://ana:hunter2/with/slashes@db.example/ledgers",
            "postgresql://ana:hunter2@with@db.example/ledgers",
            "postgresql://ana@db.example/ledgers?password=hunter2",
            "postgresql://db.example/ledgers?user=ana&password=hunter2#x",
            "postgresql://ana:hunter2?@db.example/ledgers",
            "postgresql+psycopg://:hunter2@db.example/ledgers",
        ],
    )
    @pytest.mark.parametrize("form", ["--ledger {}", "--ledger={}"])
    def test_passwords_are_left_out(self, url: str, form: str) -> None:
        command = shown_command(["release", "rows.csv", *form.format(url).split(" ")])
        assert "hunter2" not in command
        assert "password" not in command
        assert "db.example" in command
        assert "ana" not in command
        assert command.startswith("confide release rows.csv --ledger")

    @pytest.mark.parametrize(
        "place",
        [
            "postgresql://db.example:5432/ledgers?user=ana&password=an@hunter2",
            "postgresql://db.example?password=an@hunter2",
            "postgresql://db.example/ledgers?user=ana:x&password=an@hunter2",
            "postgresql://an/a:hunter2@db.example/ledgers",
            "postgresql://ana:1/hunter2@db.example/ledgers",
            "host=db.example user=ana password=hunter2",
            "md:ledgers?motherduck_token=hunter2",
            "PGPASSWORD=hunter2",
            "https://db.example/rows.csv;sig=hunter2",
        ],
    )
    def test_what_may_be_a_password_is_left_out(self, place: str) -> None:
        """An @ in a query, a slash in a name, settings that are no URL: what cannot be told from a login is cut."""
        assert "hunter2" not in shown_command(["evaluate", "rows.csv", "--ledger", place])

    def test_a_place_without_secrets_is_shown_as_it_is(self) -> None:
        for place in ("ledger.sqlite", "sqlite:///a/b.sqlite", "postgresql://db.example:5432/ledgers", "me@work"):
            assert shown_command(["ledger", "show", "--ledger", place]) == f"confide ledger show --ledger {place}"
        assert shown_command(["evaluate", "https://example.org/a@b.csv"]).endswith("https://example.org/a@b.csv")

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("postgresql://ana@db.example:5432/heart/trial.scores", "postgresql://db.example:5432/heart/trial.scores"),
            ("postgresql://ana@/heart/trial.scores?host=/run", "postgresql:///heart/trial.scores"),
            ("postgresql://ana@db.example/heart?table=a.b", "'postgresql://db.example/heart?table=a.b'"),
            (
                "postgresql://db.example/heart?user=ana&sslmode=require&table=a.b",
                "'postgresql://db.example/heart?table=a.b'",
            ),
            ("postgresql://ana@db.example/heart?table=a@b", "postgresql://db.example/heart"),
            ("duckdb:///heart.db?table=scores", "'duckdb:///heart.db?table=scores'"),
        ],
    )
    def test_a_table_is_shown_without_its_user(self, url: str, shown: str) -> None:
        assert shown_command(["evaluate", "--table", url]) == f"confide evaluate --table {shown}"

    def test_a_shell_reads_it_back(self) -> None:
        import shlex

        arguments = ["evaluate", "my rows.csv", "--label", "it's", "-s", "$HOME"]
        assert shlex.split(shown_command(arguments)) == ["confide", *arguments]


class TestValues:
    def test_a_public_origin_has_no_place_for_a_digest(self) -> None:
        """A digest would confirm a guess of all rows. The two types share no base, so neither passes for the other."""
        assert {field.name for field in fields(PublicProvenance)} == {"version", "date"}
        assert not issubclass(Provenance, PublicProvenance)
        assert not issubclass(PublicProvenance, Provenance)
        with pytest.raises(TypeError):
            PublicProvenance(version="1", date=DAY, sha256=DIGEST)  # type: ignore[call-arg]
        public = WHOLE.public()
        assert public == PublicProvenance(version="1.2", date=DAY)
        assert public.to_dict() == {"version": "1.2", "date": "2026-03-01"}

    def test_plain_data_hold_every_fact(self) -> None:
        assert WHOLE.to_dict() == {
            "version": "1.2", "date": "2026-03-01", "command": "confide evaluate <a>.csv", "sha256": DIGEST, "seed": 7
        }  # fmt: skip
        assert Provenance(version="1", date=DAY).to_dict()["sha256"] is None

    @pytest.mark.parametrize("wrong", ["", "abc", DIGEST.upper(), DIGEST + "0", "z" * 64])
    def test_what_is_no_digest_is_refused_without_being_shown(self, wrong: str) -> None:
        with pytest.raises(ParameterError, match="64 hexadecimal digits") as raised:
            Provenance(version="1", date=DAY, sha256=wrong)
        assert not wrong or wrong not in str(raised.value)


class TestReading:
    def test_the_digest_is_that_of_the_bytes(self, tmp_path: Path) -> None:
        file = tmp_path / "rows.csv"
        file.write_bytes(b"died,risk\n" * 300_000)  # more than one piece
        origin = read_provenance(file=file, arguments=["evaluate", "rows.csv"], seed=0)
        assert origin.sha256 == sha256(file.read_bytes()).hexdigest()
        assert (origin.version, origin.command, origin.seed) == (confide.__version__, "confide evaluate rows.csv", 0)
        assert abs((origin.date - public_provenance().date).days) <= 1

    def test_data_in_memory_have_neither_digest_nor_command(self) -> None:
        origin = read_provenance()
        assert (origin.sha256, origin.command, origin.seed) == (None, None, None)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="does not exist"):
            read_provenance(file=tmp_path / "none.csv")

    def test_a_day_of_release_is_kept(self) -> None:
        assert public_provenance(DAY).date == DAY


class TestShowing:
    def test_a_page_shows_every_fact_escaped(self) -> None:
        page = "".join(provenance_section(WHOLE))
        text = " ".join(Elements(page).text)
        for words in ("confide 1.2", "2026-03-01", "confide evaluate <a>.csv", DIGEST, "7"):
            assert words in text
        assert "<a>" not in page

    def test_what_is_not_known_has_no_line(self) -> None:
        assert [row[0] for row in provenance_table(Provenance(version="1", date=DAY)).body] == ["version", "date"]

    def test_one_line_names_all(self) -> None:
        assert provenance_line(WHOLE.public()) == "confide 1.2; date 2026-03-01"
        buffer = io.StringIO()
        print_provenance(WHOLE, Console(file=buffer, width=400, color_system=None))
        assert buffer.getvalue().strip() == provenance_line(WHOLE)
        assert provenance_line(WHOLE).endswith(f"SHA-256 of the file {DIGEST}; seed 7")


def test_the_banner_says_the_same_on_a_page_and_on_a_terminal() -> None:
    page, buffer = exact_banner(), io.StringIO()
    print_banner(Console(file=buffer, width=400, color_system=None))
    words = re.sub(r"\s+", " ", " ".join(Elements(page).text)).replace(" .", ".")
    assert words == banner_text().replace("`", "") == buffer.getvalue().strip().replace("`", "")
    for said in ("Exact numbers, not differentially private", "do not publish", "confide release"):
        assert said in words
