"""A query file may end in semicolons and comments, as SQL files do; nothing else of it is changed."""

from __future__ import annotations

import pytest

from confide.sources.locations import statement_of

DIALECTS = ("duckdb", "postgres", "spark")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1;", "SELECT 1"),
        ("SELECT 1 ;; \n;\n", "SELECT 1"),
        ("SELECT 1; -- all of it", "SELECT 1"),
        ("-- who\nSELECT 1 /* one */;\n/* the end; */\n-- yes;", "-- who\nSELECT 1 /* one */"),
        ("SELECT 1 -- one;", "SELECT 1 -- one;"),
        ("SELECT ';' AS a", "SELECT ';' AS a"),
        ("SELECT 'ä; 😀 -- no' AS a; -- 😀", "SELECT 'ä; 😀 -- no' AS a"),
        ("SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"),
        ("\ufeffSELECT 1;", "SELECT 1"),
        ("SELECT 'open; -- no", "SELECT 'open; -- no"),
        (";", ""),
    ],
)
def test_what_ends_a_statement_is_cut(text: str, statement: str, dialect: str) -> None:
    assert statement_of(text, dialect) == statement


def test_quotes_of_a_dialect_are_known() -> None:
    assert statement_of("SELECT $$a; -- b$$ AS c; -- d", "postgres") == "SELECT $$a; -- b$$ AS c"
    assert statement_of(r"SELECT E'\'; -- b' AS c; -- d", "postgres") == r"SELECT E'\'; -- b' AS c"
