"""Exit codes over all verbs: 0 done, 1 failed, 2 wrong usage, 3 refused for lack of budget.

Usage is what a user typed: an option, a name, a path with nothing there. What is there but cannot be used fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from confide import Ledger
from confide.examples import HEART_ATTACK
from tests.cli.commands import confide
from tests.cli.test_lazy_verbs import TREE

DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3

E = "-l died -s logistic"
BOOK = "--ledger book.sqlite"
ZIP = "-d rows.csv --model-name risk"
TO = "--to https://oracle.example"
SEX = "-l died -c sex=male|female"

CASES: dict[str, list[tuple[int, str]]] = {
    "evaluate": [
        (DONE, f"rows.csv {E}"),
        (FAILED, f"empty.csv {E}"),
        (FAILED, "header.csv -l died -s risk"),
        (FAILED, "nan.csv -l died -s risk"),
        (FAILED, "one.csv -l died -s risk"),
        (FAILED, "rows.csv -l died -s sex"),
        (FAILED, f"bad.parquet {E}"),
        (USAGE, ""),
        (USAGE, "rows.csv"),
        (USAGE, f"nothing.csv {E}"),
        (USAGE, f"folder {E}"),
        (USAGE, f"words.txt {E}"),
        (USAGE, "rows.csv -l dead -s logistic"),
        (USAGE, f"rows.csv {E} --level 2"),
        (USAGE, f"rows.csv {E} -t much"),
        (USAGE, f"rows.csv {E} --positive 7"),
        (USAGE, f"rows.csv {E} --report page.txt"),
        (USAGE, f"rows.csv {E} --report nowhere/page.html"),
        (USAGE, f"rows.csv {E} --nothing"),
    ],
    "release": [
        (DONE, f"rows.csv {E} -e 0.1 --account trial --dry-run {BOOK}"),
        (FAILED, f"empty.csv {E} -e 0.1 --account trial {BOOK}"),
        (FAILED, f"rows.csv {E} -e 0.1 --ledger broken.sqlite"),
        (FAILED, f"rows.csv --model other.json {BOOK}"),
        (USAGE, f"nothing.csv {E} -e 1 {BOOK}"),
        (USAGE, f"rows.csv {E} {BOOK}"),
        (USAGE, f"rows.csv {E} -e 0 {BOOK}"),
        (USAGE, f"rows.csv {E} -e 0.1 -m nothing {BOOK}"),
        (USAGE, f"rows.csv {E} -e 0.1 --account nothing {BOOK}"),
        (USAGE, f"rows.csv {E} -e 0.1 --ledger nothing.sqlite"),
        (USAGE, f"rows.csv --model nothing.json {BOOK}"),
        (USAGE, f"rows.csv {E} -e 0.1 --reveal {BOOK}"),
        (REFUSED, f"rows.csv {E} -e 5 --account trial {BOOK}"),
        (REFUSED, f"rows.csv {E} -e 5 --account trial --dry-run {BOOK}"),
    ],
    "plan": [
        (USAGE, ""),
        (USAGE, "-n 100"),
        (USAGE, "-n 0 -e 1"),
        (USAGE, "-n 100 -e 1 -m nothing"),
        (USAGE, "-n 100 -e 1 --report page.txt"),
    ],
    "select": [
        (DONE, f"rows.csv {SEX} --account train --dry-run {BOOK}"),
        (FAILED, f"empty.csv {SEX} --account train {BOOK}"),
        (USAGE, f"rows.csv -l died --account train {BOOK}"),
        (USAGE, f"rows.csv {SEX} -k 9 --account train {BOOK}"),
        (USAGE, f"rows.csv -l died -c nothing --account train {BOOK}"),
        (USAGE, f"nothing.csv {SEX} --account train {BOOK}"),
        (REFUSED, f"rows.csv {SEX} --budget 9 --account train {BOOK}"),
        (REFUSED, f"rows.csv {SEX} --budget 9 --account train --dry-run {BOOK}"),
    ],
    "train": [
        (DONE, f"rows.csv {SEX} --account train --dry-run {BOOK}"),
        (FAILED, f"rows.csv --features other.json --account train {BOOK}"),
        (FAILED, f"rows.csv --features words.txt --account train {BOOK}"),
        (USAGE, f"rows.csv --features nothing.json --account train {BOOK}"),
        (USAGE, f"rows.csv --features folder --account train {BOOK}"),
        (USAGE, f"rows.csv {SEX} --model tree --account train {BOOK}"),
        (USAGE, f"rows.csv {SEX} -o model.txt --account train {BOOK}"),
        (USAGE, f"rows.csv {SEX} --dictionary nothing.txt --account train {BOOK}"),
        (REFUSED, f"rows.csv {SEX} -e 9 --account train {BOOK}"),
        (REFUSED, f"rows.csv {SEX} -e 9 --account train --dry-run {BOOK}"),
    ],
    "predict": [
        (FAILED, "other.json rows.csv -o scored.csv"),
        (USAGE, "nothing.json rows.csv -o scored.csv"),
        (USAGE, "other.json rows.csv"),
    ],
    "validate": [
        (USAGE, ""),
        (USAGE, "-f nothing --model-name risk --mode private -e 1"),
        (USAGE, "-f folder --model-name risk --mode private -e 1"),
    ],
    "audit": [
        (USAGE, "nothing"),
        (USAGE, "--draws 1"),
        (USAGE, "--epsilon much"),
        (USAGE, "--error 2"),
    ],
    "demo": [(USAGE, "--folder rows.csv")],
    "federation demo": [(USAGE, "--sites 9"), (USAGE, "--mode nothing"), (USAGE, "--data nothing.csv -l died -s risk")],
    "federation init": [(USAGE, "net"), (USAGE, "rows.csv --name net --site a")],
    "federation add-site": [(USAGE, "nothing east"), (USAGE, "folder east")],
    "federation sign": [(USAGE, "nothing words.txt"), (USAGE, "folder words.txt")],
    "federation revoke": [(USAGE, "nothing north"), (USAGE, "folder north")],
    "federation renew": [(USAGE, "nothing"), (USAGE, "folder --days 0")],
    "federation start": [(USAGE, "nothing"), (USAGE, "folder")],
    "federation stop": [(USAGE, "nothing"), (USAGE, "folder")],
    "federation status": [(USAGE, "nothing"), (USAGE, "folder")],
    "site request": [(USAGE, "rows.csv --name a"), (USAGE, "nothing/site --name a"), (USAGE, "site")],
    "site renew": [(USAGE, "nothing words.txt"), (USAGE, "folder words.txt")],
    "site init": [
        (USAGE, f"words.txt site {ZIP} {E}"),
        (USAGE, f"nothing.zip site {ZIP} {E}"),
        (USAGE, f"nothing.zip site {E}"),
    ],
    "site add-model": [(USAGE, "nothing --model-name risk")],
    "site start": [(USAGE, "nothing")],
    "site stop": [(USAGE, "nothing")],
    "site status": [(USAGE, "nothing"), (USAGE, "folder")],
    "site pending": [(USAGE, "nothing"), (USAGE, "folder")],
    "site approve": [(USAGE, "nothing 12"), (USAGE, "folder")],
    "site refuse": [(USAGE, "nothing 12 --why no"), (USAGE, "folder 12")],
    "site verify": [(USAGE, "nothing"), (USAGE, "folder")],
    "site forget": [(USAGE, "nothing risk --yes")],
    "ledger new": [
        (DONE, "other --epsilon 1 --ledger new.sqlite"),
        (FAILED, "other --epsilon 1 --ledger broken.sqlite"),
        (USAGE, f"other {BOOK}"),
        (USAGE, f"trial --epsilon 1 {BOOK}"),
        (USAGE, f"other --epsilon much {BOOK}"),
        (USAGE, f"other --epsilon 1 --change {BOOK}"),
        (USAGE, f"other --epsilon 1 --analyst ana {BOOK}"),
    ],
    "ledger show": [
        (DONE, BOOK),
        (FAILED, "--ledger broken.sqlite"),
        (USAGE, f"nothing {BOOK}"),
        (USAGE, "--ledger nothing.sqlite"),
        (USAGE, f"--tight 2 {BOOK}"),
    ],
    "ledger history": [(DONE, f"trial {BOOK}"), (USAGE, f"nothing {BOOK}"), (USAGE, "trial --ledger nothing.sqlite")],
    "ledger verify": [(DONE, BOOK), (FAILED, "--ledger broken.sqlite"), (USAGE, "--ledger nothing.sqlite")],
    "submit": [
        (FAILED, f"rows.csv {TO}/contests/heart"),
        (USAGE, "rows.csv"),
        (USAGE, "rows.csv --to nothing"),
        (USAGE, "rows.csv --to http://oracle.example/contests/heart"),
        (USAGE, f"- {TO}/contests/heart"),
    ],
    "serve": [
        (FAILED, "--home nothing --verify"),
        (USAGE, "--port 99999 --home folder/home"),
    ],
    "contest plan": [(USAGE, ""), (USAGE, "--rows 1 -e 1"), (USAGE, "--rows 100 -e much")],
    "contest new": [
        (USAGE, f"heart rows.csv -l died -e 1 --account trial {BOOK}"),
        (USAGE, f"heart nothing.csv -l died -e 1 --account trial {BOOK}"),
        (USAGE, f"Heart rows.csv -l died -e 1 --account trial {BOOK}"),
        (USAGE, f"heart rows.csv -l died --account trial {BOOK}"),
    ],
    "contest check": [(USAGE, "other.json rows.csv"), (USAGE, "nothing.json rows.csv"), (USAGE, "other.json")],
    "contest publish": [(USAGE, f"nothing words.txt --labels rows.csv {BOOK}"), (USAGE, "folder words.txt")],
    "contest token": [
        (FAILED, "heart --home nothing --participant ana"),
        (FAILED, f"heart {TO} --participant ana"),
        (USAGE, "heart --participant ana"),
        (USAGE, "heart --home folder"),
        (USAGE, f"heart --home folder {TO} --participant ana"),
    ],
    "contest open": [(FAILED, f"heart {TO}"), (USAGE, "heart"), (USAGE, f"Heart {TO}")],
    "contest pause": [(FAILED, f"heart {TO}"), (USAGE, "heart")],
    "contest status": [(FAILED, f"heart {TO}"), (USAGE, "heart")],
    "contest finalists": [(FAILED, f"heart {TO}"), (USAGE, f"heart {TO} --choose 1 -o all.zip")],
    "contest close": [(FAILED, f"heart {TO}"), (USAGE, "heart")],
    "contest backup": [(FAILED, "copy --home nothing"), (USAGE, "copy")],
    "contest restore": [(FAILED, "nothing --home copy"), (USAGE, "copy --home folder/..")],
    "contest demo": [(USAGE, "--rows 1"), (USAGE, "--epsilon much"), (USAGE, "rows.csv")],
    "attack file": [
        (FAILED, "one.csv -l died -s risk"),
        (USAGE, f"nothing.csv {E}"),
        (USAGE, "rows.csv -l died -s nothing"),
        (USAGE, f"rows.csv {E} -r auc:nothing"),
        (USAGE, f"rows.csv {E} --report page.txt"),
    ],
    "attack labelings": [
        (DONE, "--rows 5 --auc 0.5"),
        (USAGE, "--rows 5"),
        (USAGE, "--rows 5 --auc 2"),
        (USAGE, "--rows 5 --auc 0.5 --ties x"),
        (USAGE, "--rows 5 --auc 0.5 --list --json"),
    ],
    "attack contest": [(USAGE, "--rows 1 --queries 5"), (USAGE, "--rows 9 --queries 0"), (USAGE, "--rows 9")],
    "attack curve": [(FAILED, "empty.csv"), (USAGE, "nothing.csv"), (USAGE, "rows.csv"), (USAGE, "curve.csv --rows 1")],
    "completion install": [(USAGE, "tcsh")],
    "completion show": [(DONE, "fish"), (USAGE, "tcsh")],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, a ledger of small accounts, and files that are not what they should be."""
    place = tmp_path_factory.mktemp("codes")
    for name, text in {
        "empty.csv": "",
        "header.csv": "died,risk\n",
        "nan.csv": "died,risk\n1,nan\n0,0.2\n",
        "one.csv": "died,risk\n1,0.3\n1,0.2\n",
        "curve.csv": "fpr,tpr\n0,0\n0.5,1\n1,1\n",
        "bad.parquet": "no parquet",
        "other.json": "{}",
        "words.txt": "word\n",
        "broken.sqlite": "no database",
    }.items():
        (place / name).write_text(text)
    (place / "rows.csv").write_bytes(HEART_ATTACK.read_bytes())
    (place / "folder").mkdir()
    with Ledger(place / "book.sqlite") as ledger:
        ledger.open_account("trial", epsilon=1)
        ledger.open_account("train", epsilon=1, neighbours="add-remove-one")
    return place


def test_every_verb_is_tried() -> None:
    groups = {name.split()[0] for name in TREE if " " in name}
    assert set(CASES) == set(TREE) - groups


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("verb", "code", "typed"),
    [
        pytest.param(verb, code, typed, id=f"{verb} {typed}"[:80])
        for verb, cases in CASES.items()
        for code, typed in cases
    ],
)
def test_exit_codes_mean_the_same_everywhere(verb: str, code: int, typed: str, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    answer = confide(*verb.split(), *typed.split(), folder=folder)
    assert answer.code == code, answer.err
    if code in (FAILED, USAGE):
        assert answer.out == ""
        assert answer.err
    if code != DONE:
        assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("typed", "code"),
    [("", USAGE), ("-h", DONE), ("--version", DONE), ("nothing", USAGE), ("--nothing", USAGE)]
    + [(group, USAGE) for group in ("federation", "site", "contest", "ledger", "attack", "completion")]
    + [(f"{group} nothing", USAGE) for group in ("federation", "site", "contest", "ledger", "attack", "completion")],
)
def test_the_command_itself_and_groups(typed: str, code: int, folder: Path) -> None:
    assert confide(*typed.split(), folder=folder).code == code
