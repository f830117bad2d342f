"""Modes are objects in one registry, with a part for each party: nothing else compares their names."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import confide
from confide.errors import ParameterError
from confide.federation.coordinator.answers import POOLED_ANSWERS
from confide.federation.modes.mode import Mode
from confide.federation.modes.registry import MODES, mode_named, modes_that_take
from confide.federation.policy import Policy, default_policy
from confide.federation.question import ModeTerms, Question
from confide.federation.site.answers import SITE_ANSWERS

PACKAGE = Path(confide.__file__).parent
SITES = ("a", "b", "c")
TERMS = {"private": {"epsilon": 1}, "noisy-scores": {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"}}


def comparisons(source: str) -> Iterator[str]:
    """Yield the comparisons with a name of a mode, and those of a question's mode with anything."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [each for side in (node.left, *node.comparators) for each in ast.walk(side)]
            named = any(isinstance(side, ast.Constant) and side.value in MODES for side in sides)
            asked = any(
                ast.unparse(side).endswith("question.mode") for side in sides if isinstance(side, ast.Attribute)
            )
            if named or asked:
                yield ast.unparse(node)


def test_nothing_but_modes_compares_names_of_modes() -> None:
    found = {
        (str(path.relative_to(PACKAGE)), comparison)
        for path in PACKAGE.rglob("*.py")
        if "federation/modes" not in str(path)
        for comparison in comparisons(path.read_text(encoding="utf-8"))
    }
    assert found == {("federation/policy.py", "question.mode not in self.modes")}


@pytest.mark.parametrize("source", ['question.mode == "x"', 'mode in ("private", "x")', "self.question.mode in KNOWN"])
def test_the_reader_of_comparisons_sees_them(source: str) -> None:
    assert list(comparisons(source)) == [source.replace('"', "'")]


@pytest.mark.parametrize("name", MODES)
class TestEachMode:
    def question(self, name: str) -> Question:
        return Question.checked(study="s", model="m", mode=name, sites=SITES, **TERMS.get(name, {}))  # type: ignore[arg-type]

    def test_it_is_registered_under_its_name(self, name: str) -> None:
        mode = MODES[name]
        assert mode_named(name) is mode
        assert mode.name == name
        assert Path(inspect.getfile(type(mode))).parent.name == "modes"

    def test_each_party_knows_it(self, name: str) -> None:
        assert SITE_ANSWERS[name].mode is POOLED_ANSWERS[name].mode is type(MODES[name])

    def test_its_words_are_there(self, name: str) -> None:
        mode, question = MODES[name], self.question(name)
        assert mode.title
        assert mode.summary in default_policy()
        assert all(mode.promise(question))
        assert mode.released(question)
        assert bool(mode.price(question)) is mode.private is not bool(mode.free_reason)
        assert (mode.guarantee(question) is not None) is mode.private

    def test_its_parameters_are_those_of_questions(self, name: str) -> None:
        assert MODES[name].parameters <= set(ModeTerms.__annotations__)
        assert all(name in modes_that_take(parameter) for parameter in MODES[name].parameters)

    def test_its_public_terms_are_fixed(self, name: str) -> None:
        question = self.question(name)
        assert MODES[name].fixed_terms(question) == MODES[name].fixed_terms(Question.from_dict(question.to_dict()))


def test_no_party_knows_more() -> None:
    assert SITE_ANSWERS.keys() == POOLED_ANSWERS.keys() == MODES.keys()


def test_a_policy_allows_what_modes_say() -> None:
    assert Policy.from_toml(default_policy()).modes == tuple(n for n, mode in MODES.items() if mode.allowed_by_default)


def test_an_unknown_mode_is_refused_with_a_hint() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'private'"):
        mode_named("privat")


def test_a_class_that_leaves_something_out_is_no_mode() -> None:
    class Half(Mode):
        name = "half"

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
