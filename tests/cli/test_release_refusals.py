"""What `confide release` refuses: before the file is read, before the charge, and without showing the data."""

from __future__ import annotations

import pytest

from tests.cli.desk import COLUMNS, Desk
from tests.noises import FORBIDDEN

WRONG = [
    ("-e", "0"),
    ("-e", "-1"),
    ("-e", "nan"),
    ("-e", "inf"),
    ("-e", "lots"),
    ("-e", "1", "--delta", "1"),
    ("-e", "1", "--delta", "-1"),
    ("-e", "1", "--neighbours", "everybody"),
    ("-e", "1", "--unit", "family"),
    ("-e", "1", "--mechanism", "magic"),
    ("-e", "1", "--mechanism", "rank-sum", "--neighbours", "add-remove-one"),
    ("-e", "1", "--metric", "acu"),
    ("-e", "1", "--metric", ","),
    ("-e", "1", "--level", "95"),
    ("-e", "1", "--metric", "recall", "-t", "nan"),
    ("-e", "1", "--grid", "hexagons:3"),
    ("-e", "1", "--grid", "uniform:0"),
    ("-e", "1", "--prevalence-guess", "1.5"),
    ("-e", "1", "--mechanism", "published-laplace"),
    ("-e", "1", "--rows-per-person", "2"),
    ("-e", "1e-18"),
    ("-e", "1e400"),
]


class TestWhatItRefuses:
    @pytest.mark.parametrize("wrong", WRONG, ids=" ".join)
    def test_wrong_terms_before_the_file_is_read(self, desk: Desk, wrong: tuple[str, ...]) -> None:
        desk.open_account("trial")
        before = desk.files()
        desk.hear(FORBIDDEN)
        answer = desk.ask(*wrong, "--account", "trial", file="does-not-exist.csv")
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith("error: ")
        assert "does-not-exist" not in answer.err
        assert desk.files() == before

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            (("--report", "no-folder/out.html"), 2),
            (("--report", "out.txt"), 2),
            (("--report", "rows.csv"), 2),
            (("--report", "folder.html"), 2),
            (("--account", ""), 2),
            (("--account", "two\nlines"), 2),
            (("--analyst", " "), 2),
        ],
        ids=str,
    )
    def test_what_could_not_be_done_afterwards_is_refused_before_the_charge(
        self, desk: Desk, options: tuple[str, ...], code: int
    ) -> None:
        (desk.folder / "folder.html").mkdir()
        desk.open_account("trial", file="rows.csv")
        before = desk.book.read_bytes()
        desk.hear(FORBIDDEN)
        answer = desk.run("release", "rows.csv", *COLUMNS, "-e", 1, *options)
        assert answer.code == code
        assert desk.book.read_bytes() == before

    def test_a_name_for_a_file_is_refused_in_the_words_of_the_command(self, desk: Desk) -> None:
        desk.open_account("trial", file="rows.csv")
        answer = desk.run(
            "release", "rows.csv", *COLUMNS, "-e", 1, "--account", "trial", "--data-name", "rows, version 1"
        )
        assert answer.code == 2
        assert "the bytes of a file identify its data; leave --data-name out" in answer.err
        assert "question" not in answer.err

    def test_a_report_never_overwrites_the_ledger(self, desk: Desk) -> None:
        for option in (("--ledger", "book.html"), ("--ledger", "sqlite:///book.html")):
            asked = ("release", "rows.csv", *COLUMNS, "-e", 1, *option, "--report", "book.html", "--account", "trial")
            answer = desk.run(*asked)
            assert answer.code == 2
            assert "is the ledger" in answer.err
            assert not (desk.folder / "book.html").exists()

    @pytest.mark.parametrize(
        ("columns", "content", "code"),
        [
            (("-l", "dead", "-s", "risk"), None, 2),
            (("-l", "risk", "-s", "risk"), None, 2),
            (COLUMNS, "died,risk\n1,0.123456789\n0,\n", 1),
            (COLUMNS, "died,risk\n1,0.123456789\n0,inf\n", 1),
            (COLUMNS, "died,risk\n1,0.123456789\n0,Quixote\n", 1),
            (COLUMNS, "died,risk\nQuixote,0.123456789\nDulcinea,0.2\n", 1),
            ((*COLUMNS, "--positive", "Sancho"), "died,risk\nQuixote,0.123456789\n,0.2\n", 1),
            (COLUMNS, "died,risk\n0,0.123456789\n1,0.2\nQuixote,0.3\n", 1),
            (COLUMNS, "", 1),
        ],
        ids=["no column", "same column", "missing", "infinite", "text", "labels", "no label", "three", "empty"],
    )
    def test_bad_data_are_an_error_without_a_charge_that_shows_nothing(
        self, desk: Desk, columns: tuple[str, ...], content: str | None, code: int
    ) -> None:
        if content is not None:
            (desk.folder / "bad.csv").write_text(content, encoding="utf-8")
        desk.open_account("trial")
        before = desk.files()
        file = "rows.csv" if content is None else "bad.csv"
        answer = desk.ask("-e", 1, "--account", "trial", file=file, columns=columns)
        assert answer.code == code
        assert answer.out == ""
        for private in ("0.12345", "Quixote", "Dulcinea"):
            assert private not in answer.err
        assert desk.files() == before
