"""Two neighbouring files and one sequence of commands give one transcript, byte by byte, but for the noise.

Noise ignores its input here. So every byte that still differs, of stdout, stderr, exit codes, pages, written files or
the ledger's text, is something that the data told without a price. The data's own identity and the clock are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from typer.main import get_command

from confide.cli import main
from confide.ledger.ledger import Ledger
from confide.privacy.queries import Noise
from tests.cli.commands import Answer, confide
from tests.noises import Deaf

Row: TypeAlias = tuple[str, int, str, float, float, int]
HEAD = "name,age,sex,risk,other,died"
TARGET = 7


def made_rows(count: int = 60) -> list[Row]:
    """People with two scores, which are the same for everybody."""
    rng = np.random.default_rng(11)
    scores = rng.permutation(np.linspace(0.02, 0.98, count))
    ages, died = rng.integers(20, 90, count).tolist(), (rng.random(count) < 0.4).astype(int).tolist()
    twice = [(float(score), float(score)) for score in scores]
    return [(f"p{n:03}", ages[n], "fm"[n % 2], *twice[n], died[n]) for n in range(count)]


def replaced(rows: Sequence[Row]) -> list[Row]:
    """Another person in the target's place, whose two scores differ."""
    return [*rows[:TARGET], ("q999", 33, "m", 0.111, 0.999, 1 - rows[TARGET][-1]), *rows[TARGET + 1 :]]


def removed(rows: Sequence[Row]) -> list[Row]:
    return [*rows[:TARGET], *rows[TARGET + 1 :]]


def relabelled(rows: Sequence[Row]) -> list[Row]:
    return [*rows[:TARGET], (*rows[TARGET][:-1], 1 - rows[TARGET][-1]), *rows[TARGET + 1 :]]


NEIGHBOURS: dict[str, Callable[[Sequence[Row]], list[Row]]] = {
    "replace-one": replaced,
    "add-remove-one": removed,
    "label-only": relabelled,
}


@dataclass(frozen=True)
class Transcript:
    """All that a sequence of commands showed or wrote."""

    answers: tuple[Answer, ...]
    files: dict[str, bytes]


def everything_the_same() -> Noise:
    deaf = Deaf().noise()
    return replace(
        deaf,
        exponential_top=lambda costs, rate, k: list(range(k)),
        permute_and_flip_top=lambda costs, rate, k: list(range(k)),
    )


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_simulated_tables: None, unpadded_ledgers: None
) -> Callable[..., Transcript]:
    """Run commands about some rows in a folder of their own, with noise that ignores its input."""
    monkeypatch.setattr(main, "app", get_command(main.app))
    for variable in ("CONFIDE_LEDGER", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, "own.sqlite" if variable == "CONFIDE_LEDGER" else str(tmp_path / variable))
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)
    worlds = iter(range(100))

    def run_all(rows: Sequence[Row], commands: Sequence[Sequence[object]]) -> Transcript:
        folder = tmp_path / f"world-{next(worlds)}"
        folder.mkdir()
        text = "\n".join([HEAD, *(",".join(map(str, row)) for row in rows)]) + "\n"
        (folder / "rows.csv").write_text(text, encoding="utf-8")
        monkeypatch.setattr(Ledger, "noise", everything_the_same())
        answers = tuple(masked(confide(*command, folder=folder)) for command in commands)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".html", ".json")}
        audit = folder / "audit.csv"
        if audit.exists():
            files[audit.name] = masked_text(audit.read_text(encoding="utf-8")).encode()
        return Transcript(answers=answers, files=files)

    return run_all


def masked(answer: Answer) -> Answer:
    """Without the data's identity and the clock."""
    return Answer(answer.code, masked_text(answer.out), masked_text(answer.err))


def masked_text(text: str) -> str:
    text = re.sub(r"data-[0-9a-f]{8}(?:[0-9a-f]{24}|…)", "data-x", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", "then", text)


def every_verb(relation: str) -> list[tuple[object, ...]]:
    """All verbs that may be asked about private rows, in an order that an adversary would choose."""
    label = ("--label", "died") if relation == "label-only" else ()
    hidden = ("--neighbours", relation)
    rows = ("rows.csv", "-l", "died", *hidden)
    held_out = ("--hold-out", "0") if relation == "replace-one" else ()
    name = ("select", *rows, *held_out, "-k", "1", "-e", "1/10", "-c")
    columns = (*rows, *held_out, "-c", "age=40,60", "-c", "sex=f|m")
    ask, model = ("release", *rows), ("release", "rows.csv", "--model", "model.json", "-e", "1/4", "-m", "accuracy")
    curves = ("-e", "1/2", "--grid", "uniform:8", "-m")
    return [
        ("ledger", "new", "trial", "-e", "6", "--data", "rows.csv", *label, *hidden),
        ("ledger", "new", "other", "-e", "6", "--data-name", "other people", *label, *hidden),
        (*ask, "-s", "risk", "-e", "1/10", "--dry-run"),
        (*ask, "-s", "risk", "-e", "1/10", "--report", "risk.html", "--out", "risk.json"),
        (*ask, "-s", "other", "-e", "1/10", "--dry-run"),  # the scores are the same but for the target
        (*ask, "-s", "other", "-e", "1/10", "--report", "other.html"),
        (*ask, "-s", "risk", "-e", "1/10", "--json"),  # asked before
        (*ask, "-s", "risk", "-e", "1/2", "-m", "brier,recall,prevalence,average_precision", "-t", "0.3", "--json"),
        (*ask, "-s", "risk", *curves, "roc,pr,calibration", "--report", "curves.html"),
        (*ask, "-s", "risk", *curves, "roc", "--level", "0.8", "--json"),
        (*ask, "-s", "other", *curves, "roc", "--dry-run", "--json"),
        (*ask, "-s", "risk", *curves, "roc", "--with-auc", "--json"),
        (*name, "name=nobody|"),
        (*name, "name=p007|", "--dry-run"),  # whether p007 is among the rows
        (*name, "name=p007|", "--json"),
        ("select", *columns, "-k", "2", "-e", "1/2", "--out", "features.json"),
        ("train", "rows.csv", "--features", "features.json", "-e", "1/4", "--out", "model.json", "--report", "m.html"),
        ("train", *columns, "--model", "logistic-regression", "-e", "1/4", "--dry-run", "--json"),
        (*model, "--dry-run"),
        (*model, "--report", "accuracy.html"),
        (*ask, "-s", "other", "-e", "7"),  # more than is left
        (*ask, "-s", "other", "-e", "7", "--dry-run", "--json"),
        (*ask, "-s", "other", "-e", "1/10", "--account", "trail"),  # no such account
        (*ask, "-s", "other", "-e", "1/10", "--account", "other"),  # the account of other data
        (*ask, "-s", "agee", "-e", "1/10"),  # no such column
        ("ledger", "show", "--json"),
        ("ledger", "history", "trial"),
        ("ledger", "history", "trial", "--json", "--csv", "audit.csv"),
        ("ledger", "verify"),
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_neighbours_have_one_transcript(run: Callable[..., Transcript], relation: str) -> None:
    rows, commands = made_rows(), every_verb(relation)
    one, other = (run(found, commands) for found in (rows, NEIGHBOURS[relation](rows)))
    for command, mine, theirs in zip(commands, one.answers, other.answers, strict=True):
        assert mine == theirs, command
    assert one.files == other.files
    codes = [answer.code for answer in one.answers]
    assert set(codes) == {0, 2, 3}
    assert codes.count(0) >= len(commands) - 5
    assert {
        "risk.html",
        "risk.json",
        "audit.csv",
        "curves.html",
        "features.json",
        "model.json",
        "accuracy.html",
    } <= set(one.files)


def concentrated_verbs(relation: str) -> list[tuple[object, ...]]:
    """An account of composition zcdp: small and large pure releases, Gaussian curves with an AUC, until none fits."""
    label = ("--label", "died") if relation == "label-only" else ()
    hidden = ("--neighbours", relation)
    ask = ("release", "rows.csv", "-l", "died", "-s", "risk", *hidden)
    curves = (*ask, "--grid", "uniform:8", "--delta", "1e-7", "-m", "roc,pr,auc")
    beside = (*curves, "-e", "1/2", "--with-auc")
    opened = ("ledger", "new", "many", "-e", "2", "--delta", "1e-4", "--composition", "zcdp", "--data", "rows.csv")
    return [
        (*opened, *label, *hidden),
        (*beside, "--dry-run", "--json"),
        (*beside, "--report", "beside.html", "--out", "beside.json"),
        (*beside, "--json"),  # asked before
        (*beside, "--level", "0.8", "--shape", "isotonic", "--target", "recall=0.9", "--report", "again.html"),
        (*beside, "--prevalence-guess", "0.4", "--dry-run"),
        (*curves, "-e", "1/2", "--dry-run", "--json"),  # without an AUC of its own
        (*beside, "--mechanism", "laplace", "--dry-run"),
        (*ask, "-e", "1/20", "--json", "--out", "small.json"),
        (*ask, "-e", "9/10", "--json"),  # counted by its epsilon
        (*ask, "-e", "1/100", "-m", "brier", "--json"),
        (*beside[:-3], "-e", "1", "--with-auc", "--dry-run"),
        (*beside[:-3], "-e", "2", "--with-auc"),  # more than is left
        (*ask, "-e", "2e-6", "-m", "roc", "--with-auc"),  # too little to divide
        ("ledger", "show", "--json"),
        ("ledger", "history", "many"),
        ("ledger", "history", "many", "--json", "--csv", "audit.csv"),
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_neighbours_have_one_transcript_in_a_concentrated_account(
    run: Callable[..., Transcript], relation: str
) -> None:
    rows, commands = made_rows(), concentrated_verbs(relation)
    one, other = (run(found, commands) for found in (rows, NEIGHBOURS[relation](rows)))
    for command, mine, theirs in zip(commands, one.answers, other.answers, strict=True):
        assert mine == theirs, command
    assert one.files == other.files
    assert {"beside.html", "beside.json", "again.html", "small.json", "audit.csv"} <= set(one.files)
    assert {answer.code for answer in one.answers} == {0, 2, 3}
    for published in ("beside.html", "beside.json", "again.html", "small.json"):
        text = one.files[published].decode()
        assert not re.search(r"data-[0-9a-f]{8}|\b[0-9a-f]{64}\b", text), published  # no digest of the data
        assert "rows.csv" not in text
        assert "own.sqlite" not in text
        assert not re.search(r"\d\d:\d\d:\d\d", text), published  # days, no times


def test_a_guess_of_the_file_given_as_words_is_not_confirmed(run: Callable[..., Transcript], tmp_path: Path) -> None:
    """Once `--leave-out` refused a copy of the private file and took one in which a single label differed."""
    rows = made_rows()
    guess = tmp_path / "guess.csv"
    guess.write_text("\n".join([HEAD, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    asked = ("select", "rows.csv", "-l", "died", "--text", "name", "-k", "1", "-e", "1/10", "--dry-run")
    commands = [
        ("ledger", "new", "trial", "-e", "1", "--data", "rows.csv", "--neighbours", "add-remove-one"),
        *((*asked, option, guess) for option in ("--leave-out", "--vocabulary", "--dictionary")),
    ]
    one, other = run(rows, commands), run(relabelled(rows), commands)
    assert one == other
    assert [answer.code for answer in one.answers] == [0, 1, 1, 1]


def test_a_budget_used_up_tells_nothing(run: Callable[..., Transcript]) -> None:
    """Once the exit code, 0 or 3, said whether a question had the private content of an earlier one."""
    ask = ("release", "rows.csv", "-l", "died", "-e", "1/10")
    commands = [
        ("ledger", "new", "trial", "-e", "1/10", "--data", "rows.csv"),
        (*ask, "-s", "risk"),
        (*ask, "-s", "other"),
        (*ask, "-s", "risk"),
    ]
    rows = made_rows()
    one, other = run(rows, commands), run(replaced(rows), commands)
    assert [answer.code for answer in one.answers] == [answer.code for answer in other.answers] == [0, 0, 3, 0]
    assert one.answers[-1].out == other.answers[-1].out


def test_the_test_sees_what_depends_on_the_rows(run: Callable[..., Transcript]) -> None:
    """An exact evaluation differs, and so does a request that is known by its numbers: the comparison can fail."""
    rows = made_rows()
    exact = [("evaluate", "rows.csv", "-l", "died", "-s", "risk", "--json")]
    assert run(rows, exact) != run(replaced(rows), exact)
