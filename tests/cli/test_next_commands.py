"""A command that a message advises names the ledger and the file of the command that failed."""

from __future__ import annotations

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from confide.cli.flags import as_commands, find_call
from confide.cli.main import app

OPEN = "open it (`Ledger.open_account('it is', epsilon=E)`)"
CHANGE = "change its caps (`Ledger.change_caps('heart', epsilon=E)`)"
ASKED = ("release", "my rows.csv", "-l", "y", "-s", "s", "-e", "1")
PLACE = ("--ledger", "postgresql://ana:secret@db.example/ledgers")


@pytest.mark.parametrize(
    ("message", "arguments", "written"),
    [
        (OPEN, ASKED, "open it (`confide ledger new 'it is' --epsilon E --data 'my rows.csv'`)"),
        (
            OPEN,
            (*ASKED, *PLACE),
            "open it (`confide ledger new 'it is' --epsilon E --data 'my rows.csv' --ledger "
            "postgresql://ana@db.example/ledgers`)",
        ),
        (
            CHANGE,
            ("ledger", "new", "heart", "--ledger=a.db"),
            "change its caps (`confide ledger new heart --epsilon E --change --ledger a.db`)",
        ),
        ("`Ledger.open_account(NAME, epsilon=E)`", ("ledger", "show"), "`confide ledger new NAME --epsilon E`"),
        (
            "run `confide ledger verify`, and",
            ("ledger", "show", "--ledger", "a.db"),
            "run `confide ledger verify --ledger a.db`, and",
        ),
        ("nothing to do", ("ledger", "show"), "nothing to do"),
    ],
    ids=str,
)
def test_advice_works_as_it_is_printed(message: str, arguments: tuple[str, ...], written: str) -> None:
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    assert as_commands(message, *find_call(command, arguments)) == written
