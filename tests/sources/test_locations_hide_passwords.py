"""A password that stands where none belongs is in no message, no location and no URL that is stored."""

from __future__ import annotations

import pickle
import traceback

import pytest
from typer.testing import CliRunner

from confide import evaluate, release
from confide.cli.main import app
from confide.errors import ConfideError
from confide.sources.locations import Engine, TableLocation, as_location

SECRET = "s3cret"  # noqa: S105 - searched for

FOREIGN = [
    f"mysql://ana:{SECRET}@host/heart/scores",
    f"postgresql+psycopg://ana:{SECRET}@host/heart/scores",
    f"jdbc:postgresql://host/heart?user=ana&password={SECRET}",
    f" postgresql://ana:{SECRET}@host/heart/scores",
    f"postgresql:/ana:{SECRET}@host/heart/scores",
    f"postgres:ana:{SECRET}@host/heart/scores",
    f"host=db.example dbname=heart password={SECRET}",
]
MISPLACED = [
    f"postgresql://host/heart/scores&password={SECRET}",
    f"postgresql://host/heart;password={SECRET}/scores",
    f"postgresql://host/heart;Pwd={SECRET}/scores",
    f"postgresql://host/password%3D{SECRET}%20dbname%3Dheart/scores",
    f"postgresql://host/heart/scores?application_name=x;password={SECRET}",
    f"postgresql://host/heart/scores?sslmode=require%26password%3D{SECRET}",
    f"postgresql://host/heart/scores?application_name=password%253D{SECRET}",
    f"postgresql://ana%3A{SECRET}@host/heart/scores",
    f"postgresql://host/heart/scores?user=ana:{SECRET}",
    f"duckdb:///heart.db?table=scores;password={SECRET}",
    f"spark://host:7077/rows.parquet;password={SECRET}",
]


def told(error: BaseException) -> str:
    """Return the message alone, as the lines of a traceback quote this test."""
    return "".join(traceback.format_exception_only(error)) + repr(error.__context__) + repr(error.__cause__)


@pytest.mark.parametrize("url", FOREIGN)
def test_a_url_of_another_program_is_not_taken_for_a_file(url: str) -> None:
    for call in (
        lambda: evaluate(url, label="died", score="risk"),
        lambda: release(url, label="died", score="risk", epsilon=1),
        lambda: release(url, label="died", score="risk", epsilon=1, data_name="heart, version 1"),
    ):
        with pytest.raises(ConfideError) as caught:
            call()
        assert SECRET not in told(caught.value)


@pytest.mark.parametrize("url", MISPLACED)
def test_a_password_that_looks_like_a_name_is_refused(url: str) -> None:
    with pytest.raises(ConfideError, match="password") as caught:
        TableLocation.parse(url)
    assert SECRET not in told(caught.value)


@pytest.mark.parametrize("name", ["password", "sslpassword", "passfile", "options"])
def test_a_location_made_by_hand_takes_known_settings_alone(name: str) -> None:
    with pytest.raises(ConfideError) as caught:
        TableLocation(engine=Engine.POSTGRESQL, place="heart", table=("scores",), settings={name: SECRET})
    assert SECRET not in told(caught.value)


def test_paths_and_usual_names_are_taken_as_before(tmp_path: object) -> None:
    assert as_location("scores.csv") == "scores.csv"
    assert as_location("C:\\data\\scores.csv") == "C:\\data\\scores.csv"
    kept = TableLocation.parse("postgresql://ana%40host@db/heart/trial.passwords?sslmode=require")
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301 - our own bytes


@pytest.mark.parametrize("command", ["evaluate", "release"])
@pytest.mark.parametrize("url", FOREIGN)
def test_the_command_line_repeats_none_of_them(command: str, url: str) -> None:
    found = CliRunner().invoke(app, [command, url, "--label", "died", "--score", "risk"])
    assert found.exit_code != 0
    assert SECRET not in found.output + repr(found.exception)
