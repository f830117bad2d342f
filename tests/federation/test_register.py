"""What a site has answered without noise cannot be taken apart by another answer; nor can shares of noise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts
from confide.errors import RecordsError, RefusedError
from confide.federation.modes.private import pooled_terms
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import REGISTER, SiteRecords
from confide.federation.site.register import Register
from confide.federation.site.scored_rows import SiteRows
from tests.federation.held_rows import held
from tests.federation.site_books import execute

ROWS = held(ScoreCounts.from_arrays([0, 1, 1, 0, 1], [0.1, 0.8, 0.4, 0.4, 0.9]))
CHANGED = held(ScoreCounts.from_arrays([0, 1, 1, 0, 1, 1], [0.1, 0.8, 0.4, 0.4, 0.9, 0.8]))
NOISY: dict[str, Any] = {"delta": "1e-5", "sensitivity": "0.1", "epsilon": 1}
REPOSITORY = Path(__file__).parents[2]


def ask(mode: str = "secure-sum", **given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "trial", "model": "m", "mode": mode, "sites": ["a", "b", "c", "d"]}
    usual = NOISY if mode == "noisy-scores" else {"epsilon": 1} if mode == "private" else {}
    return Question.checked(**{**fixed, **usual, **given})


@pytest.fixture
def register(tmp_path: Path) -> Register:
    SiteRecords(SiteFolder(tmp_path)).begin()
    return Register(tmp_path)


@pytest.mark.parametrize("mode", ["secure-sum", "disclosure-control", "noisy-scores", "private"])
def test_the_same_question_may_be_asked_again(register: Register, mode: str) -> None:
    for study in ("one", "one", "other"):
        register.check(ask(mode, study=study), ROWS)
        register.fix(ask(mode, study=study), ROWS)
    assert len(register.fixed()) == 1
    register.fix(ask(mode, model="another"), CHANGED)
    assert sorted(fixed.model for fixed in register.fixed()) == ["another", "m"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (ask(), ask(sites=["a", "b", "c"]), "other sites; the difference of two sums over different sites"),
        (ask(), ask(grid="uniform:100"), "another grid; the difference of tables on two grids"),
        (ask(), ask(bins=11), "other bins"),
        (ask(), ask(minimum_cell=2), "another minimum cell; groups of two sizes"),
        (ask(), ask("disclosure-control", grid="uniform:65536"), "another mode"),
        (ask("disclosure-control"), ask("disclosure-control", grid="uniform:99"), "another grid"),
        (ask("disclosure-control"), ask("disclosure-control", minimum_cell=6), "another minimum cell"),
        (ask("noisy-scores"), ask("noisy-scores", epsilon=2), "another epsilon"),
    ],
)
def test_another_question_about_the_model_is_refused(
    register: Register, first: Question, second: Question, words: str
) -> None:
    register.fix(first, ROWS)
    for attempt in (register.check, register.fix):
        with pytest.raises(RefusedError, match=words) as caught:
            attempt(second, ROWS)
        assert "`confide site forget FOLDER m`" in str(caught.value)
    register.fix(first, ROWS)
    assert register.forget("m")
    register.fix(second, ROWS)
    assert not register.forget("n")


def test_a_grid_is_its_edges_however_it_is_written(register: Register) -> None:
    register.fix(ask(grid="uniform:4"), ROWS)
    register.fix(ask(grid="edges:0,0.25,0.5,0.75,1"), ROWS)


def test_where_sites_answer_for_themselves_it_does_not_matter_who_else_does(register: Register) -> None:
    register.fix(ask("disclosure-control"), ROWS)
    register.fix(ask("disclosure-control", sites=["a", "z"]), ROWS)


def test_changed_data_are_not_told_apart_by_subtraction(register: Register) -> None:
    register.fix(ask(), ROWS)
    with pytest.raises(RefusedError, match=r"data for model 'm' changed .* forget FOLDER m`: only if nobody saw the"):
        register.fix(ask(), CHANGED)


def test_nothing_is_compared_over_models(register: Register) -> None:
    """Whether two models score all rows alike would tell of single rows."""
    register.fix(ask(), ROWS)
    for rows in (ROWS, CHANGED):
        register.check(ask(model="other", grid="uniform:7"), rows)


class TestSources:
    """A model is its file and its column of scores, under whatever name it is asked for."""

    def test_another_name_of_a_source_has_its_entry(self, register: Register) -> None:
        register.fix(ask(), ROWS, source="rows risk")
        for attempt in (register.check, register.fix):
            with pytest.raises(RefusedError, match=r"about model 'n' .*with other sites.*forget FOLDER n"):
                attempt(ask(model="n", sites=["a", "b", "c"]), ROWS, source="rows risk")
            with pytest.raises(RefusedError, match="another grid"):
                attempt(ask(model="n", grid="uniform:7"), CHANGED, source="rows risk")
            with pytest.raises(RefusedError, match="data for model 'n' changed"):
                attempt(ask(model="n"), CHANGED, source="rows risk")
            attempt(ask(model="n"), ROWS, source="rows risk")
            attempt(ask(model="other", grid="uniform:7"), ROWS, source="rows other")

    def test_a_file_that_was_moved_takes_its_entry_along(self, register: Register) -> None:
        register.fix(ask(), ROWS, source="rows risk")
        register.fix(ask(), ROWS, source="moved risk")
        assert len(register.fixed()) == 1
        with pytest.raises(RefusedError, match="other sites"):
            register.check(ask(model="n", sites=["a", "b", "c"]), ROWS, source="moved risk")

    def test_forgetting_one_name_forgets_all_names_of_the_source(self, register: Register) -> None:
        for name in ("m", "n"):
            register.fix(ask(model=name), ROWS, source="rows risk")
            register.list_sites(ask(model=name, fewest=3), ("a", "b", "c"))
        register.fix(ask(model="other"), ROWS, source="rows other")
        assert register.answered_exactly("new", source="rows risk")
        assert register.forget("n", source="rows risk")
        assert [fixed.model for fixed in register.fixed()] == ["other"]
        assert not register.answered_exactly("m", source="rows risk")
        assert register.listed(ask(fewest=3)) is None
        register.fix(ask(sites=["a", "b", "c"]), CHANGED, source="rows risk")

    def test_private_questions_know_names_alone(self, register: Register) -> None:
        register.fix(ask("private"), ROWS, source="rows risk")
        register.fix(ask("private", model="n"), CHANGED, source="rows risk")
        assert not register.answered_exactly("m", source="rows risk")

    def test_an_administrator_hears_under_which_names_rows_were_asked_about(self, register: Register) -> None:
        assert register.names_of(ROWS.counts) == ()
        register.fix(ask("private", model="p"), ROWS)
        register.fix(ask(), ROWS, source="rows risk")
        assert register.names_of(ROWS.counts) == ("m",)
        assert register.names_of(CHANGED.counts) == ()


def test_noisy_scores_are_sent_once(register: Register) -> None:
    """Drawn twice, their noise could be averaged away, so even the same question is refused."""
    question = ask("noisy-scores")
    register.fix(question, ROWS, source="rows risk", first=True)
    for again in (question, ask("noisy-scores", model="n")):
        with pytest.raises(RefusedError, match="has sent noisy scores of model"):
            register.fix(again, ROWS, source="rows risk", first=True)
    register.fix(question, ROWS, source="rows risk")  # the second round of the first


class TestLists:
    """A signed question is answered with one list of sites."""

    @pytest.mark.parametrize("mode", ["secure-sum", "private"])
    def test_one_list_for_a_question(self, register: Register, mode: str) -> None:
        signed = ask(mode, fewest=3)
        assert register.listed(signed) is None
        for sites in (("a", "b", "c"), ("c", "a", "b")):
            register.list_sites(signed, sites)
            assert Register(register.records).listed(signed) == ("a", "b", "c")
        for others in (("a", "b", "d"), ("a", "b", "c", "d")):
            with pytest.raises(RefusedError, match=r"with the sites 'a', 'b', 'c', and answers it with no others"):
                register.list_sites(signed, others)

    @pytest.mark.parametrize("other", [{"study": "x"}, {"bins": 5}, {"edition": 2}, {"fewest": 4}, {"epsilon": 2}])
    def test_what_is_signed_otherwise_is_another_question(self, register: Register, other: dict[str, Any]) -> None:
        register.list_sites(ask("private", fewest=3), ("a", "b", "c"))
        register.list_sites(ask("private", **{"fewest": 3, **other}), ("a", "b", "c", "d"))

    def test_a_list_outlives_the_version_of_the_protocol(self, register: Register) -> None:
        register.list_sites(replace(ask("private", fewest=3), protocol=1), ("a", "b", "c"))
        assert register.listed(ask("private", fewest=3)) == ("a", "b", "c")
        with pytest.raises(RefusedError):
            register.list_sites(ask("private", fewest=3), ("a", "b", "d"))

    def test_lists_of_private_questions_are_not_forgotten(self, register: Register) -> None:
        register.list_sites(ask("private", fewest=3), ("a", "b", "c"))
        register.fix(ask(), ROWS)
        assert register.forget("m")
        assert register.listed(ask("private", fewest=3)) == ("a", "b", "c")

    def test_a_register_with_a_list_alone_is_missed_when_it_is_gone(self, register: Register) -> None:
        register.list_sites(ask("private", fewest=3), ("a", "b", "c"))
        register.records.folder.database.unlink()
        with pytest.raises(RecordsError, match="is not there, but"):
            register.listed(ask("private", fewest=3))


def test_other_sites_shares_do_not_protect_a_change(register: Register) -> None:
    """With the others' stored shares the difference of two sums is one site's integers: nothing else is in it."""
    rng = np.random.default_rng(5)
    before, after, others = (rng.integers(0, 50, 24) for _ in range(3))  # shares included
    assert ((after + others) - (before + others) == after - before).all()
    register.fix(ask("private"), ROWS)
    with pytest.raises(RefusedError, match="changed since it answered the same question") as caught:
        register.fix(ask("private"), CHANGED)
    assert "new edition" in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 2}, {"grid": "arcsine:12"}, {"colluders": 2}, {"sites": ["a", "b", "c"]}, {"site_share": 0}],
)
def test_a_private_question_that_differs_is_another_one(register: Register, other: dict[str, Any]) -> None:
    register.fix(ask("private"), ROWS)
    register.fix(ask("private", **other), CHANGED)


@pytest.mark.parametrize(
    "same", [{"study": "x"}, {"fewest": 3}, {"unit": "person"}, {"bins": 5}, {"epsilon": 2, "site_share": "3/4"}]
)
def test_what_the_sum_does_not_depend_on_makes_no_difference(register: Register, same: dict[str, Any]) -> None:
    register.fix(ask("private"), ROWS)
    register.fix(ask("private", **same), ROWS)
    with pytest.raises(RefusedError):
        register.fix(ask("private", **same), CHANGED)


LARGE: dict[str, Any] = {"sites": ["a", "b", "c", "d", "e", "f", "g"], "colluders": 1, "fewest": 5}
"""A sum that survives dropouts, so that `threshold` is in use."""

OTHERWISE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "study": ({}, {"study": "x"}),
    "model": ({}, {"model": "x"}),
    "mode": ({"mode": "secure-sum"}, {"mode": "disclosure-control"}),
    "sites": ({}, {"sites": ["a", "b", "c", "e"]}),
    "fewest": ({}, {"fewest": 3, "threshold": 0}),
    "grid": ({}, {"grid": "arcsine:12"}),
    "bins": ({}, {"bins": 5}),
    "minimum_cell": ({"mode": "secure-sum"}, {"minimum_cell": 3}),
    "epsilon": ({}, {"epsilon": 2}),
    "site_share": ({}, {"site_share": 0}),
    "colluders": ({}, {"colluders": 0}),
    "unit": ({}, {"unit": "person"}),
    "rows_per_person": ({"unit": "person"}, {"rows_per_person": 2}),
    "delta": ({"noise": "gaussian", "delta": "1e-6"}, {"delta": "1e-7"}),
    "sensitivity": ({"mode": "noisy-scores", **NOISY}, {"sensitivity": "0.2"}),
    "edition": ({}, {"edition": 2}),
    "threshold": ({**LARGE}, {"threshold": 6}),
    "noise": ({}, {"noise": "gaussian", "delta": "1e-6"}),
    "protocol": ({}, {}),
    "purpose": ({}, {"purpose": "a trial"}),
}
"""Every field of a question: terms of a question, and what makes it another one by that field."""


def pairs(name: str) -> tuple[Question, Question]:
    usual, other = OTHERWISE[name]
    first = {"mode": "private", "grid": "arcsine:16", **usual}
    question = ask(**first)
    return question, replace(question, protocol=4) if name == "protocol" else ask(**{**first, **other})


def test_every_field_of_a_question_is_varied() -> None:
    assert set(OTHERWISE) == {field.name for field in fields(Question)}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_question_is_identified_by_each_of_its_fields(name: str) -> None:
    """An approval, and the list of sites that a question was answered with, are about one question."""
    one, other = pairs(name)
    assert getattr(one, name) != getattr(other, name)
    assert one.digest() != other.digest()
    assert (one.lasting_digest() == other.lasting_digest()) == (name in ("protocol", "purpose"))
    alone = replace(one, **{name: getattr(other, name)})
    assert (one.lasting_digest() == alone.lasting_digest()) == (name in ("protocol", "purpose"))


@pytest.mark.parametrize("name", [name for name in OTHERWISE if name not in ("mode", "minimum_cell", "sensitivity")])
def test_a_stored_share_is_for_everything_that_the_sum_depends_on(name: str) -> None:
    one, other = pairs(name)
    same = name in ("study", "fewest", "bins", "unit", "protocol", "purpose")
    assert (pooled_terms(one) == pooled_terms(other)) == same


def test_forgetting_is_for_answers_without_noise_alone(register: Register) -> None:
    register.fix(ask("private"), ROWS)
    assert not register.forget("m")
    with pytest.raises(RefusedError):
        register.check(ask("private"), CHANGED)


def test_exact_and_private_questions_do_not_stand_in_each_other_s_way(register: Register) -> None:
    register.fix(ask("private"), ROWS)
    register.fix(ask("disclosure-control"), ROWS)
    register.fix(ask("private", grid="uniform:9"), ROWS)


def test_looking_writes_nothing(register: Register) -> None:
    before = register.records.folder.database.read_bytes()
    register.check(ask(), ROWS)
    assert register.fixed() == ()
    assert not register.forget("m")
    assert register.records.folder.database.read_bytes() == before


def test_data_are_known_by_a_keyed_hash_only(tmp_path: Path) -> None:
    stored = []
    for place in (tmp_path / "one", tmp_path / "two"):
        place.mkdir()
        SiteRecords(SiteFolder(place)).begin()
        register = Register(place)
        register.fix(ask(), ROWS)
        for path in place.iterdir():
            assert path.stat().st_mode & 0o777 == 0o600
        stored.append(register.records.folder.database.read_bytes())
        plain = ROWS.identity.hex().encode()
        assert plain not in stored[-1]
        assert bytes.fromhex(plain.decode()) not in stored[-1]
    first, second = (SiteRecords(SiteFolder(tmp_path / place)).read(REGISTER)[0]["data"] for place in ("one", "two"))
    assert first != second


def test_equal_counts_of_other_files_are_other_data(register: Register) -> None:
    """Whether counts changed would tell of single rows: a file that was changed is other data whatever it holds."""
    register.fix(ask(), ROWS)
    with pytest.raises(RefusedError, match="changed since"):
        register.check(ask(), replace(ROWS, identity=CHANGED.identity))
    register.check(ask(), replace(CHANGED, identity=ROWS.identity))


def test_messages_hold_nothing_of_the_data(register: Register) -> None:
    secret = held(ScoreCounts.from_arrays([0, 1] * 31771, np.linspace(0.123456, 0.654321, 63542)))
    register.fix(ask(), secret)
    for question, rows in ((ask(), ROWS), (ask(grid="uniform:5"), secret)):
        with pytest.raises(RefusedError) as caught:
            register.check(question, rows)
        assert not any(number in str(caught.value) for number in ("31771", "63542", "0.12", "0.65"))


class TestDamage:
    def test_a_register_that_is_gone_is_missed(self, register: Register) -> None:
        register.fix(ask(), ROWS)
        register.records.folder.database.unlink()
        for attempt in (register.check, register.fix):
            with pytest.raises(RecordsError, match=r"is not there, but .* Put it back"):
                attempt(ask(grid="uniform:5"), ROWS)

    def test_a_file_that_is_no_register_is_refused(self, register: Register) -> None:
        register.records.folder.database.write_bytes(b"nonsense " * 200)
        with pytest.raises(RecordsError, match=r"damaged or no records .* Nothing is answered"):
            register.fix(ask(), ROWS)

    def test_an_entry_that_somebody_wrote_is_refused(self, register: Register) -> None:
        register.fix(ask(), ROWS)
        execute(register.records.folder, "UPDATE confide_entries SET text = replace(text, 'secure-sum', 'private')")
        for attempt in (register.check, register.fix):
            with pytest.raises(RecordsError, match="entry 1 is missing, out of place or changed"):
                attempt(ask(), ROWS)

    def test_a_folder_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(RecordsError, match="records are gone"):
            Register(tmp_path / "absent").fix(ask(), ROWS)


RACE = """
import sys
from confide.errors import RefusedError
from confide.federation.modes.private import pooled_terms
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import REGISTER, SiteRecords
from confide.federation.site.register import Register
from tests.federation.test_register import ask, rows_of

print("ready", flush=True)
sys.stdin.readline()
register = Register(sys.argv[1])
for number in range(8):
    try:
        register.fix(ask(model=f"m{number}", grid=sys.argv[2]), rows_of(number))
        print(number)
    except RefusedError:
        pass
"""


def rows_of(number: int) -> SiteRows:
    return held(ScoreCounts.from_arrays([0, 1], [0.2, 0.3 + number / 100]))


@pytest.mark.processes
def test_of_processes_that_ask_differently_at_once_one_wins(tmp_path: Path) -> None:
    """Three processes fix eight models, each on a grid of its own: every model is won by exactly one."""
    SiteRecords(SiteFolder(tmp_path)).begin()
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), f"uniform:{cells}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            text=True,
        )
        for cells in (10, 20, 30)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    won = [number for child in children for number in child.communicate(timeout=600)[0].split()]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert sorted(won) == [str(number) for number in range(8)]
    assert len(Register(tmp_path).fixed()) == 8
