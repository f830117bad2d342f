"""Messages of the core name parameters; the command line shows its own flags."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from confide.cli.errors import find_command, translate
from confide.cli.federation_common import with_flags
from confide.cli.main import run_app
from confide.errors import ParameterError
from tests.cli.commands import confide

app = typer.Typer()


@app.command()
def ask(
    file: Annotated[str, typer.Argument(metavar="FILE")],
    positive: Annotated[str | None, typer.Option()] = None,
    rows_per_person: Annotated[int, typer.Option("--rows-per-person", "-k")] = 1,
    metrics: Annotated[list[str] | None, typer.Option("--metric", "-m")] = None,
    also_charge: Annotated[bool, typer.Option("--also-charge")] = False,
) -> None:
    raise ParameterError("give `positive`, not `epsilon`")


@app.command()
def other(epsilon: Annotated[str | None, typer.Option("--epsilon", "-e")] = None) -> None:
    raise ParameterError("give `positive`, not `epsilon`")


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("give `positive`", "give --positive"),
        ("`rows_per_person` must be 1", "--rows-per-person must be 1"),
        ("name `metrics=auc`", "name --metric auc"),
        ("say so (`also_charge=True`)", "say so (--also-charge)"),
        ("`file` is a folder", "FILE is a folder"),
        ("`epsilon` is no option here", "`epsilon` is no option here"),
        ("run `confide ledger new` first", "run `confide ledger new` first"),
        ("positive stays as it is", "positive stays as it is"),
    ],
)
def test_parameters_in_backticks_become_flags(message: str, written: str) -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    assert translate(message, find_command(group, ["ask", "x.csv", "other"])) == written


@pytest.mark.parametrize(
    ("arguments", "written"),
    [(["ask", "x"], "give --positive, not `epsilon`"), (["other"], "give `positive`, not --epsilon")],
)
def test_the_command_that_ran_decides(
    arguments: list[str], written: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["confide", *arguments])
    with pytest.raises(SystemExit) as stop:
        run_app(app, prog_name="confide")
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"error: {written}\n"


def test_a_group_without_a_command_is_itself() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    assert find_command(group, ["--help"]) is group


def test_the_real_command_line_has_no_parameters_in_backticks(tmp_path: object) -> None:
    answer = confide("release", "nowhere.csv", "-l", "died", "-s", "risk", "-e", "nothing")
    assert answer.code == 2
    assert "`" not in answer.err


def test_messages_of_sites_show_the_flags_of_the_command_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["confide", "validate", "--model-name", "risk"])
    assert with_flags("ask with `minimum_cell=5`, or allow `fewest`") == "ask with --minimum-cell 5, or allow --fewest"
