"""Options over all verbs: one meaning for each letter, flags without a type."""

from __future__ import annotations

import pytest
from typer.core import TyperOption

from tests.cli.commands import confide
from tests.cli.test_lazy_verbs import TREE

MEANINGS = {
    "-c": "--column",
    "-d": "--data",
    "-e": "--epsilon",
    "-f": "--federation",
    "-g": "--group",
    "-k": "-k",
    "-l": "--label",
    "-m": "--metric",
    "-n": "--rows",
    "-o": "--out",
    "-q": "--queries",
    "-r": "--release",
    "-s": "--score",
    "-t": "--threshold",
}
"""What each short option means, in every verb that has it."""

OPTIONS = [
    (name, param) for name, verb in TREE.items() for param in verb.loaded.params if isinstance(param, TyperOption)
]


def test_a_short_option_means_the_same_in_every_verb() -> None:
    found = {
        (short, max(option.opts, key=len))
        for _, option in OPTIONS
        for short in option.opts
        if not short.startswith("--")
    }
    assert found == set(MEANINGS.items())


@pytest.mark.parametrize("name", [name for name in TREE if name != "attack"])
def test_flags_show_no_type(name: str) -> None:
    answer = confide(*name.split(), "--help")
    assert answer.code == 0
    assert "--help" in answer.out
    assert "<bool>" not in answer.out


def test_the_list_of_verbs_shows_no_type() -> None:
    for arguments in ((), ("attack",)):
        assert "<bool>" not in confide(*arguments, "--help").out


@pytest.mark.parametrize("typed", ["--json=3", "--json=true"])
def test_a_flag_takes_no_value(typed: str) -> None:
    answer = confide("evaluate", "rows.csv", "-l", "died", "-s", "risk", typed)
    assert answer.code == 2
    assert "'--json' does not take a value" in answer.err
