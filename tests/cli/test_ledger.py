"""`confide ledger`: accounts, what was spent, and whether it still holds."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group

from confide.cli.ledger import app
from confide.errors import UsageError
from tests.cli.commands import Answer, confide
from tests.ledger.asking import Book, ask


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def used(path: Path) -> Path:
    """A ledger with two accounts, of which one has an answer."""
    with Book(path) as ledger:
        ledger.open_account("trial", epsilon=3, analyst_epsilon=1, analysts={"alice": 2})
        ledger.release(ask("1/3"), account="trial", analyst="alice")
        ledger.open_account("[b]other[/b]")
    return path


def ask_ledger(path: Path, *arguments: str) -> Answer:
    return confide("ledger", *arguments, "--ledger", path)


def ask_json(path: Path, *arguments: str) -> dict[str, Any]:
    answer = ask_ledger(path, *arguments, "--json")
    assert answer.code == 0, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    assert document["schema"] == "confide.ledger/1"
    return document


def test_an_account_is_opened_changed_and_shown(path: Path) -> None:
    opened = ask_json(path, "new", "trial", "--epsilon", "3", "--per-analyst", "1/2", "--analyst", "a=b=2")
    (account,) = opened["accounts"]
    assert account["cap"] == {"epsilon": 3.0, "delta": 0.0}
    assert (account["neighbours"], account["unit"], account["each_analyst"]) == ("replace-one", "row", 0.5)
    assert [(one["analyst"], one["cap"]) for one in account["analysts"]] == [("a=b", 2.0)]
    again = ask_ledger(path, "new", "trial", "--epsilon", "4")
    assert again.code == 2
    assert "--change" in again.err
    changed = ask_json(path, "new", "trial", "--epsilon", "4", "--change")
    assert changed["accounts"][0]["cap"] == {"epsilon": 4.0, "delta": 0.0}
    changed = ask_json(path, "new", "trial", "--delta", "1e-5", "--change")
    assert changed["accounts"][0]["cap"] == {"epsilon": 4.0, "delta": 1e-05}
    assert changed["accounts"] == ask_json(path, "show")["accounts"] == ask_json(path, "show", "trial")["accounts"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "a", "--epsilon", "-1"), "epsilon must be greater than 0"),
        (("new", "a", "--epsilon", "much"), "epsilon must be a finite number"),
        (("new", "a", "--epsilon", "0"), "epsilon must be greater than 0"),
        (("new", "a"), "an account has no default cap"),
        (("new", "a", "--delta", "1e-5"), "an account has no default cap"),
        (("new", "a", "-e", "3", "--delta", "2"), "delta must lie in"),
        (("new", "a", "-e", "3", "--neighbours", "none"), "neighbours must be one of"),
        (("new", "a", "-e", "3", "--neighbours", "label-only"), r"name the column \(`label`\)"),
        (("new", "a", "-e", "3", "--neighbours", "label-only", "-l", "y"), r"the data \(`data`: their file"),
        (("new", "a", "-e", "3", "--unit", "dog"), "unit must be one of"),
        (("new", "a", "-e", "3", "--rows-per-person", "2"), "person"),
        (("new", "a", "-e", "3", "--data", "nowhere.csv"), "nowhere.csv"),
        (("new", "a", "-e", "3", "--data-name", "two\nlines"), "a name and version"),
        (("new", "a", "-e", "3", "--data-name", f"data-{'0' * 32}"), "digest of a file"),
        (("new", "a", "-e", "3", "--data", "a.csv", "--data-name", "a"), "not both"),
        (("new", "a", "-e", "3", "--analyst", "ana"), "NAME=EPSILON"),
        (("new", "a", "-e", "3", "--analyst", "ana=1", "--analyst", "ana=2"), "give one cap for each analyst"),
        (("new", "a", "-e", "3", "--analyst", "ana=-1"), "must not be negative"),
        (("new", "a", "--change", "--unit", "person"), "cannot be changed"),
        (("new", "a", "--change", "--rows-per-person", "2"), "cannot be changed"),
        (("new", "a", "--change", "--data-name", "b"), "cannot be changed"),
        (("new", "a", "--change", "--label", "y"), "cannot be changed"),
        (("new", "a", "--change", "--epsilon", "3"), "so no account either"),
        (("new", " ", "--epsilon", "3"), "account must be a name"),
        (("history", "a"), "so no account either"),
    ],
)
def test_wrong_usage_makes_nothing(
    path: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=said):
        get_group(app)([*arguments, "--ledger", str(path)], standalone_mode=False)
    assert capsys.readouterr().out == ""
    assert not path.exists()


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_no_ledger_is_not_taken_for_a_whole_one(path: Path, verb: str) -> None:
    answer = ask_ledger(path, verb)
    assert (answer.code, answer.out) == (2, "")
    assert "there is no ledger" in answer.err
    assert "confide ledger new" in answer.err
    assert not path.exists()


def test_what_was_spent_is_shown(used: Path) -> None:
    answer = ask_ledger(used, "show")
    assert answer.code == 0
    for expected in (
        "trial",
        "[b]other[/b]",
        "replace-one, each row",
        "0.3333",
        "2.667",
        "alice",
        "1.667",
        "any other",
    ):
        assert expected in answer.out
    trial = ask_json(used, "show", "trial")["accounts"][0]
    assert trial["spent"]["epsilon"] == pytest.approx(1 / 3)
    assert trial["analysts"][0]["remaining"]["epsilon"] == pytest.approx(5 / 3)


def test_history_shows_what_was_answered(used: Path) -> None:
    answer = ask_ledger(used, "history", "trial")
    assert answer.code == 0
    for expected in ("open", "charge: auc", "answer to 2", "alice", "0.3333"):
        assert expected in answer.out
    entries = ask_json(used, "history", "trial")["entries"]
    assert [entry["kind"] for entry in entries] == ["open", "charge", "answer"]
    assert f"auc {entries[2]['answer'][0]['value']:.4g}" in answer.out


def test_verify_names_what_is_broken(used: Path) -> None:
    whole = ask_ledger(used, "verify")
    assert whole.code == 0
    assert "is intact" in whole.err
    assert ask_json(used, "verify")["whole"] is True
    with sqlite3.connect(used) as connection:
        changed = "replace(text, 'alice', 'bob')"
        connection.execute(f'UPDATE confide_entries SET text = {changed} WHERE text LIKE \'%"kind":"charge"%\'')  # noqa: S608
    connection.close()
    broken = ask_ledger(used, "verify")
    assert broken.code == 1
    assert "account 'trial' breaks at entry 2" in broken.err
    assert "entry 2" in broken.out
    told = ask_ledger(used, "verify", "--json")
    assert told.code == 1
    document = json.loads(told.out)
    assert document["whole"] is False
    assert [check["broken"] for check in document["accounts"]] == [None, 2]
    assert ask_ledger(used, "show", "trial").code == 1


def test_verify_misses_a_removed_account(used: Path) -> None:
    with sqlite3.connect(used) as connection:
        connection.execute("DELETE FROM confide_entries WHERE chain = 'account:trial'")
        connection.execute("DELETE FROM confide_heads WHERE chain = 'account:trial'")
    connection.close()
    answer = ask_ledger(used, "verify")
    assert answer.code == 1
    assert "an account was removed, added or set back" in answer.err


@pytest.mark.parametrize("command", [("show", "trail"), ("history", "trail"), ("new", "trail", "-e", "4", "--change")])
def test_a_wrong_name_is_refused_and_the_right_one_proposed(used: Path, command: tuple[str, ...]) -> None:
    before = used.read_bytes()
    answer = ask_ledger(used, *command)
    assert (answer.code, answer.out) == (2, "")
    assert "there is no account 'trail'. Did you mean 'trial'?" in answer.err
    assert used.read_bytes() == before


def test_the_terms_of_an_account_are_shown(path: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("y,score\n1,0.5\n")
    terms = ("--epsilon", "3", "--unit", "person", "--rows-per-person", "2", "--data", str(tmp_path / "scores.csv"))
    (file,) = ask_json(path, "new", "file", *terms)["accounts"]
    assert (file["unit"], file["rows_per_person"]) == ("person", 2)
    assert re.fullmatch("data-[0-9a-f]{32}", file["data"])
    labels = ("--neighbours", "label-only", "--label", "y", "--positive", "1", "--data-name", "labels, version 1")
    (contest,) = ask_json(path, "new", "contest", "--epsilon", "3", *labels)["accounts"]
    assert (contest["data"], contest["label"], contest["positive"]) == ("labels, version 1", "y", "1")


def test_a_damaged_ledger_is_an_error_without_a_traceback(used: Path) -> None:
    used.write_bytes(b"")
    for command in (("show",), ("history", "trial"), ("verify",), ("new", "third", "--epsilon", "3")):
        answer = ask_ledger(used, *command)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith("error: ledger ")
        assert len(answer.err.splitlines()) == 1


def test_passwords_are_not_shown() -> None:
    url = "postgresql://ana:hunter2@127.0.0.1:1/ledgers"
    answer = confide("ledger", "show", "--ledger", url)
    assert answer.code == 1
    assert "postgresql://ana@127.0.0.1:1/ledgers" in answer.err
    assert "hunter2" not in answer.out + answer.err


def test_help_has_examples() -> None:
    for command in ("new", "show", "history", "verify"):
        answer = confide("ledger", command, "--help")
        assert answer.code == 0
        assert f"confide ledger {command}" in answer.out
