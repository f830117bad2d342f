"""`python -m studies` lists its studies, and those that attack a paper's method run."""

from __future__ import annotations

import json
import runpy

import pytest

from tests.cli.commands import run_here
from tests.studies.commands import studies

NAMES = (
    *("all", "boyd-pr", "boyd-private"),
    *("stoddard", "stoddard-attacks", "schalk", "schalk-attacks", "whitehill"),
)


def test_without_a_name_studies_are_listed() -> None:
    answer = studies()
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()] == list(NAMES)
    assert "python -m studies NAME" in answer.err


@pytest.mark.filterwarnings("ignore:'studies.__main__' found in sys.modules")
def test_the_package_runs_as_a_module() -> None:
    def run() -> None:
        runpy.run_module("studies", run_name="__main__")

    answer = run_here(run, "studies")
    assert (answer.code, answer.out) == (0, studies().out)


@pytest.mark.parametrize("name", NAMES)
def test_every_study_explains_itself(name: str) -> None:
    answer = studies(name, "--help")
    assert answer.code == 0
    assert f"python -m studies {name}" in answer.out


def test_an_unknown_study_is_refused() -> None:
    answer = studies("stodard")
    assert answer.code == 2
    assert "No such command" in answer.err


def test_published_claims_are_refuted() -> None:
    assert studies("stoddard-attacks").out.count("(refuted)") == 4
    document = json.loads(studies("stoddard-attacks", "--epsilon", "0.5", "--json").out)
    lines = {line["method"]: line for line in document["refutations"]}
    assert all(line["refutes"] for line in lines.values())
    assert lines["threshold testing"]["lost"] is None
    assert lines["noisycut"]["claimed"] == 0.5


def test_a_shared_seed_is_no_noise() -> None:
    document = json.loads(studies("schalk-attacks", "--sites", "4", "--json").out)
    assert document["known_seed"] < 1e-9
    assert document["known_site"] < 1e-9
    assert document["fitting_seeds"] == 1
    assert document["own_noise"] > document["scale"]
    assert "every score to within" in studies("schalk-attacks").out
    refused = studies("schalk-attacks", "--scale", "0")
    assert refused.code == 2
    assert "--scale must be a number above 0" in refused.err
