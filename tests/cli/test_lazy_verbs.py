"""Verbs load when they are called; what a user reads and gets is as if they had been there all along."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.lazy_verbs import LazyCommand, LazyGroup, Verb
from confide.cli.main import app
from tests.cli.commands import confide


def lazy_commands(group: TyperCommand | TyperGroup) -> Iterator[tuple[str, LazyCommand]]:
    """Yield each stand-in of a group and of the groups below it, with its whole name."""
    if not isinstance(group, LazyGroup):
        return
    for name, command in group.commands.items():
        assert isinstance(command, LazyCommand)
        yield name, command
        for below, inner in lazy_commands(command.loaded):
            yield f"{name} {below}", inner


def whole_tree() -> dict[str, LazyCommand]:
    root = get_command(app)
    assert isinstance(root, LazyGroup)
    return dict(lazy_commands(root))


TREE = whole_tree()


def test_all_commands_are_found() -> None:
    assert len(TREE) == 61


@pytest.mark.parametrize("name", TREE)
def test_the_list_of_commands_has_the_first_sentence_of_each_help(name: str) -> None:
    stand_in = TREE[name]
    first = (stand_in.loaded.help or "").split("\n\n")[0]
    assert stand_in.help == " ".join(first.split())
    assert stand_in.loaded.name == stand_in.name == name.split()[-1]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("evalute",), "Did you mean 'evaluate'"),
        (("ledger", "shw"), "Did you mean 'show'"),
        (("attack", "labeling"), "Did you mean 'labelings'"),
    ],
)
def test_a_mistyped_verb_is_corrected(arguments: tuple[str, ...], hint: str) -> None:
    answer = confide(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert hint in answer.err


def test_usage_names_the_whole_command() -> None:
    answer = confide("ledger", "show", "-h")
    assert answer.code == 0
    assert "Usage: confide ledger show [OPTIONS] [ACCOUNT]" in answer.out


def test_a_home_that_holds_no_command_is_an_error_of_ours() -> None:
    with pytest.raises(AttributeError):
        _ = LazyCommand("lost", Verb("confide.cli.evaluate:lost", "Be lost.")).loaded
