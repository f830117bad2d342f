"""Messages of the core name parameters; the command line shows its own flags."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_command

from confide.cli.flags import find_command, translate
from confide.cli.main import app as real
from confide.cli.main import run_app
from confide.cli.steps import with_flags
from confide.errors import ParameterError
from confide.examples import HEART_ATTACK
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
        ("(`positive`, `metrics=auc`); `file`.", "(--positive, --metric auc); FILE."),
        ("a site's `positive`, sites' `positive`: yes", "a site's --positive, sites' --positive: yes"),
        ("`positive`'s rule, and `metrics`'s", "--positive's rule, and --metric's"),
        ("no column '`positive`'; give `positive`", "no column '`positive`'; give --positive"),
        ("""no column "it's `positive`"; give `positive`""", """no column "it's `positive`"; give --positive"""),
        (r"""no column 'a \' "`positive`'""", r"""no column 'a \' "`positive`'"""),
        ("no file data/`positive`", "no file data/`positive`"),
        ("`positive`.csv is no table, nor `file`/x", "`positive`.csv is no table, nor `file`/x"),
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


NESTED = typer.Typer()
NESTED.add_typer(app, name="inner")


@NESTED.callback()
def _nested(ledger: Annotated[str | None, typer.Option("--ledger", "-g")] = None, loud: bool = False) -> None: ...


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["inner", "ask", "--positive", "other"], "ask"),
        (["inner", "other", "-e", "ask"], "other"),
        (["--ledger", "inner", "inner", "ask"], "ask"),
        (["-g", "inner", "--no-loud", "inner", "other"], "other"),
        (["--ledger=inner", "--loud", "inner", "other"], "other"),
        (["inner", "--ledger", "ask", "other"], "inner"),  # the inner group has no such option: no command runs
        (["inner", "nothing", "other"], "inner"),
    ],
)
def test_the_value_of_an_option_names_no_command(arguments: list[str], name: str) -> None:
    group = get_command(NESTED)
    assert isinstance(group, TyperGroup)
    assert find_command(group, arguments).name == name


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["ledger", "--ledger", "new", "show"], "ledger"),
        (["ledger", "show", "--ledger", "new"], "show"),
        (["attack", "--label", "curve", "rows.csv"], "file"),
        (["attack", "rows.csv", "--label", "curve"], "file"),
        (["attack", "curve", "file"], "curve"),
        (["attack", "--help"], "attack"),
        (["evaluate", "release"], "evaluate"),
    ],
)
def test_the_real_commands_are_found(arguments: list[str], name: str) -> None:
    group = get_command(real)
    assert isinstance(group, TyperGroup)
    assert find_command(group, arguments).name == name


def test_a_column_that_is_called_as_an_option_keeps_its_name() -> None:
    answer = confide("evaluate", HEART_ATTACK, "-l", "died", "-s", "`label`")
    assert answer.code == 2
    assert "no column '`label`'" in answer.err
