"""Who may open an account, and what it takes: a cap that the holder states, one kind of labels, data of one account."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from confide.errors import BudgetError, LedgerError, ParameterError
from confide.ledger.ledger import Ledger
from confide.ledger.question import PublicQuestion
from confide.ledger.requests import question_about
from tests.ledger.asking import Book, ask
from tests.ledger.places import Place


def about(data: str, label: str = "died", **more: Any) -> PublicQuestion:
    return PublicQuestion(data=data, label=label, **more)


@pytest.fixture
def book(place: Place) -> Any:
    with Ledger(place.url, padding=0.0) as ledger:
        yield ledger


def test_a_typing_error_opens_nothing(book: Ledger, place: Place) -> None:
    book.open_account("study", epsilon=2)
    written = place.dump()
    with pytest.raises(ParameterError, match=r"no account 'stduy'. Did you mean 'study'\?"):
        book.release(ask(), account="stduy")
    with pytest.raises(ParameterError, match=r"no account 'stduy'. Did you mean 'study'\?"):
        book.quote(ask(), account="stduy")
    assert place.dump() == written


def test_an_account_has_no_default_cap(book: Ledger) -> None:
    with pytest.raises(TypeError, match="epsilon"):
        book.open_account("study")  # type: ignore[call-arg]
    book.open_account("study", epsilon=2)
    with pytest.raises(BudgetError, match="has delta 0 left"):
        book.release(ask(delta="1/1000000"), account="study")


def test_without_a_name_it_is_the_only_account_of_the_data(book: Ledger) -> None:
    book.open_account("study", epsilon=2, data=[b"rows"])
    book.open_account("other", epsilon=2)
    data = book.identify([b"rows"])
    assert book.find_account(None, data=data).name == "study"
    with pytest.raises(ParameterError, match=r"none that knows these data. The ledger's accounts are other, study"):
        book.find_account(None, data=book.identify([b"other rows"]))
    book.release(ask(), account="other", question=about(data), also_charge=True)
    with pytest.raises(ParameterError, match="known under accounts other, study; name the one to charge"):
        book.find_account(None, data=data)


def test_data_of_one_account_are_not_charged_to_another(book: Ledger, place: Place) -> None:
    """Or a second account would be a second budget for the same people."""
    for name in ("first", "second", "third"):
        book.open_account(name, epsilon=1)
    book.release(ask(1), account="first", question=about("cohort, version 1"))
    written = place.dump()
    for attempt in (book.quote, book.release):
        with pytest.raises(ParameterError, match=r"under account 'first'; charged to 'second' as well.*`also_charge`"):
            attempt(ask(1), account="second", question=about("cohort, version 1"))
    with pytest.raises(ParameterError, match="under account 'first'"):
        book.open_account("fourth", epsilon=1, data="cohort, version 1")
    assert place.dump() == written
    book.release(ask("1/2"), account="second", question=about("cohort, version 1"), also_charge=True)
    book.release(ask("1/4"), account="second", question=about("cohort, version 1"))  # said once, it is known here
    book.open_account("fourth", epsilon=1, data="cohort, version 1", also_charge=True)
    book.release(ask("1/4"), account="fourth", question=about("cohort, version 1"))
    book.release(ask("1/4"), account="third", question=about("cohort, version 2"))


def test_a_declared_name_does_not_hide_a_known_file(book: Ledger) -> None:
    book.open_account("first", epsilon=1, data="cohort, version 1")
    file = book.identify([b"rows"])
    question = question_about(book.account("first"), source=file, label="died", positive=None, details={})
    assert (question.data, question.source) == ("cohort, version 1", file)
    book.release(ask(), account="first", question=question)
    book.open_account("second", epsilon=1)
    with pytest.raises(ParameterError, match="under account 'first'"):
        book.release(ask(), account="second", question=about(file))


def test_a_declared_name_does_not_let_another_account_s_file_in(book: Ledger) -> None:
    """The account has its own name for the data, but the file is known elsewhere."""
    book.open_account("died", epsilon=1, neighbours="label-only", label="died", data=[b"rows"])
    file = book.identify([b"rows"])
    book.open_account("sex", epsilon=1, neighbours="label-only", label="sex", data="other people")
    book.open_account("third", epsilon=1_000, data="third people")
    for name, label, hidden in (("sex", "sex", "label-only"), ("third", "died", "replace-one")):
        question = question_about(book.account(name), source=file, label=label, positive=None, details={})
        for also_charge in (False, True):
            with pytest.raises(ParameterError, match="under account 'died'"):
                book.release(ask(neighbours=hidden), account=name, question=question, also_charge=also_charge)


def test_a_head_that_was_changed_does_not_free_its_data(book: Ledger, place: Place) -> None:
    book.open_account("first", epsilon=1, data="cohort")
    book.open_account("second", epsilon=900)
    for statement in (
        "UPDATE confide_heads SET seal = 'x' WHERE chain = 'account:first'",
        "UPDATE confide_entries SET text = replace(text, 'cohort', 'other') WHERE chain = 'account:first'",
    ):
        place.execute(statement)
        with pytest.raises((LedgerError, ParameterError), match=r"account 'first'"):
            book.release(ask(900), account="second", question=about("cohort"))


def test_an_account_is_for_its_data_alone(book: Ledger) -> None:
    book.open_account("file", epsilon=1, data=[b"rows"])
    book.open_account("named", epsilon=1, data="cohort, version 1")
    book.release(ask(), account="file", question=about(book.identify([b"rows"])))
    book.release(ask(), account="named", question=about("cohort, version 1", source="data-" + 32 * "1"))
    for account, other in (
        ("file", about(book.identify([b"other rows"]))),
        ("file", about("data of the file", source=book.identify([b"other rows"]))),
        ("named", about("cohort, version 2")),
        ("named", about(book.identify([b"rows"]))),
    ):
        with pytest.raises(ParameterError, match=r"is for the data .* alone|under account"):
            book.release(ask(), account=account, question=other)
    for account in ("file", "named"):
        with pytest.raises(ParameterError, match="describe the request in public facts"):
            book.release(ask(), account=account)


def test_a_label_only_account_has_one_label(book: Ledger) -> None:
    """Everything but the labels is public there: another column for the label would show the hidden one."""
    for missing in ({}, {"label": "died"}, {"data": "cohort"}):
        with pytest.raises(ParameterError, match="hides one column of labels"):
            book.open_account("contest", epsilon=1, neighbours="label-only", **missing)  # type: ignore[arg-type]
    book.open_account("contest", epsilon=1, neighbours="label-only", data="test set", label="died", positive="1")
    hidden: dict[str, Any] = {"neighbours": "label-only"}
    book.release(ask(**hidden), account="contest", question=about("test set", positive="1"))
    for wrong in (
        about("test set", label="smoker", positive="1"),
        about("test set"),
        about("test set", positive="0"),
        None,
    ):
        with pytest.raises(ParameterError, match=r"hides the labels in 'died'|in public facts"):
            book.release(ask(bins=2, **hidden), account="contest", question=wrong)
    # What protects whole rows protects the labels too, whichever column is asked about.
    book.release(ask(bins=2), account="contest", question=about("test set", label="smoker"))


def test_what_one_account_hides_no_other_takes_for_public(book: Ledger) -> None:
    """A label-only account of other labels, or beside one that hides rows, would show what the first one hides."""
    hidden: dict[str, Any] = {"neighbours": "label-only", "data": "cohort", "label": "died"}
    book.open_account("died", epsilon=1, **hidden)
    for name, other in (
        ("smoker", {**hidden, "label": "smoker"}),
        ("reversed", {**hidden, "positive": "0"}),
        ("rows", {"data": "cohort"}),
    ):
        with pytest.raises(ParameterError, match=r"treats as public what the other hides. Charge 'died'"):
            book.open_account(name, epsilon=1, also_charge=True, **other)
    book.open_account("any", epsilon=1)
    with pytest.raises(ParameterError, match="which hides the labels in 'died' alone; account 'any' hides whole rows"):
        book.release(ask(), account="any", question=about("cohort"), also_charge=True)
    book.open_account("again", epsilon=1, also_charge=True, **hidden)


def test_two_labels_asked_for_at_once_are_not_both_answered(place: Place) -> None:
    """The label was once compared in another transaction than the charge."""
    with Ledger(place.url, padding=0.0) as ledger:
        ledger.open_account("contest", epsilon=100, neighbours="label-only", data="test set", label="died")

    def release(label: str) -> bool:
        with Ledger(place.url, padding=0.0) as own:
            try:
                own.release(ask(neighbours="label-only"), account="contest", question=about("test set", label=label))
            except ParameterError:
                return False
            return True

    with ThreadPoolExecutor(8) as pool:
        granted = dict(zip(labels := ["died", "smoker"] * 8, pool.map(release, labels), strict=True))
    assert granted == {"died": True, "smoker": False}


def test_the_account_fixes_how_many_rows_a_person_has(book: Ledger) -> None:
    from confide.releases.auc import prepare_auc
    from tests.ledger.asking import COUNTS

    book.open_account("persons", epsilon=2, unit="person", rows_per_person=50)
    assert book.account("persons").to_dict()["rows_per_person"] == 50

    def persons(rows: int) -> Any:
        return prepare_auc(COUNTS, epsilon=Fraction(1, 2), unit="person", rows_per_person=rows)

    book.release(persons(50), account="persons")
    with pytest.raises(ParameterError, match="persons with up to 50 rows, but the release protects persons with 1"):
        book.release(persons(1), account="persons")
    book.release(persons(60), account="persons")  # protects more than the account asks for
    with pytest.raises(ParameterError, match="`rows_per_person` is for protecting persons"):
        book.open_account("rows", epsilon=1, rows_per_person=2)


NAME = "heart attacks, version 2"
SPELLINGS = [
    NAME + " ",
    NAME.title(),
    "heart  attacks, version 2",
    "heart \uff41ttacks, version 2",
    "heart attac\u212as, version 2",
    "heart attacks\ufe0f, version 2",
]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_another_spelling_of_a_name_is_the_same_data(book: Ledger, place: Place, spelling: str) -> None:
    """Neither opens it an account without a confirmation, nor is it charged elsewhere, nor drawn anew."""
    book.open_account("study", epsilon=1, data=NAME)
    first = book.release(ask(), account="study", question=about(NAME))
    book.open_account("other", epsilon=1)
    written = place.dump()
    with pytest.raises(ParameterError, match=r"knows these data under account 'study'.*Charge 'study', or allow it"):
        book.open_account("second", epsilon=1, data=spelling)
    with pytest.raises(ParameterError, match=r"knows these data under account 'study'.*Charge 'study', or allow it"):
        book.release(ask(), account="other", question=about(spelling))
    assert place.dump() == written
    assert book.knows(spelling)
    assert book.find_account(None, data=spelling).name == "study"
    again = book.release(ask(), account="study", question=about(spelling))
    assert again.reused
    assert again.releases == first.releases


def test_what_a_holder_confirmed_is_kept_under_the_first_spelling(book: Ledger) -> None:
    book.open_account("study", epsilon=1, data=NAME)
    second = book.open_account("second", epsilon=1, data=SPELLINGS[1], also_charge=True)
    assert second.terms.data == NAME
    book.release(ask(), account="second", question=about(SPELLINGS[2]))  # it was confirmed once
    book.open_account("third", epsilon=1)
    book.release(ask(), account="third", question=about(SPELLINGS[3]), also_charge=True)
    assert book.account("third").data == {NAME}
    book.release(ask(number=2), account="third", question=about(SPELLINGS[4]))


@pytest.mark.parametrize(
    "other", ["heart attacks, version 3", "heartattacks, version 2", "he\u0430rt attacks, version 2"]
)
def test_other_names_are_other_data(book: Ledger, other: str) -> None:
    book.open_account("study", epsilon=1, data=NAME)
    book.open_account("second", epsilon=1, data=other)
    with pytest.raises(ParameterError, match="about other data"):
        book.release(ask(), account="study", question=about("heart attacks, version 4"))


@pytest.mark.parametrize("name", ["Study", "study ", "\uff53tudy"], ids=ascii)
def test_two_accounts_have_two_names(book: Ledger, name: str) -> None:
    book.open_account("study", epsilon=1)
    with pytest.raises(ParameterError, match=r"'study' exists already.*charge 'study', or choose another name"):
        book.open_account(name, epsilon=1)


@pytest.fixture
def letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Names as earlier versions compared them, until the patch is undone."""
    with monkeypatch.context() as patch:
        for module in ("question", "transaction"):
            patch.setattr(f"confide.ledger.{module}.folded_name", str)
        yield patch


def test_spellings_of_an_older_ledger_need_a_confirmation(book: Ledger, letter_by_letter: pytest.MonkeyPatch) -> None:
    """Two accounts came to have the same data unnoticed. Each keeps its answers, and neither is charged unnoticed."""
    book.open_account("a", epsilon=1, data=NAME)
    book.open_account("b", epsilon=1, data=NAME.title())
    stored = book.release(ask(), account="b", question=about(NAME.title()))
    letter_by_letter.undo()
    for account, other in (("a", "b"), ("b", "a")):
        for name in (NAME, NAME.title()):
            with pytest.raises(ParameterError, match=rf"under account '{other}'.*Charge '{other}', or allow it"):
                book.release(ask(number=2), account=account, question=about(name))
    assert book.account("a").spent.epsilon == 0
    again = book.release(ask(), account="b", question=about(NAME), also_charge=True)
    assert again.reused
    assert again.releases == stored.releases
    assert book.verify().whole


def test_accounts_of_an_older_ledger_that_undo_each_other_are_closed(
    book: Ledger, letter_by_letter: pytest.MonkeyPatch
) -> None:
    book.open_account("rows", epsilon=1, data="cohort")
    book.open_account("labels", epsilon=1, data="Cohort", label="died", neighbours="label-only")
    letter_by_letter.undo()
    for account in ("rows", "labels"):
        with pytest.raises(
            ParameterError, match=r"so neither is charged\. If the data are others, declare another name"
        ):
            book.release(ask(), account=account, question=about("cohort"), also_charge=True)


CHANGES = {
    "price": "UPDATE confide_entries SET text = text || ' ' WHERE chain = 'account:a' AND number = 2",
    "last": "DELETE FROM confide_entries WHERE chain = 'account:a' AND number = 3",
    "head": "DELETE FROM confide_heads WHERE chain = 'account:a'",
    "all": "DELETE FROM confide_entries WHERE chain = 'account:a'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_account_that_was_changed_gives_nothing_at_all(place: Place, change: str) -> None:
    """Neither a new answer nor a stored one, and it cannot be opened anew."""
    with Book(place.url) as ledger:
        for account in ("a", "b"):
            ledger.open_account(account, epsilon=2)
            ledger.release(ask(), account=account)
        place.execute(CHANGES[change])
        for attempt in (
            lambda: ledger.release(ask(), account="a"),
            lambda: ledger.release(ask(n=2), account="a"),
            lambda: ledger.quote(ask(n=2), account="a"),
            lambda: ledger.change_caps("a", epsilon=100),
            lambda: ledger.history("a"),
            lambda: ledger.account("a"),
            lambda: ledger.open_account("a"),
        ):
            with pytest.raises(LedgerError):
                attempt()
        checks = {check.account: check for check in ledger.verify().accounts}
        assert not ledger.verify().whole
        if change == "price":
            assert (checks["a"].broken, checks["b"].broken) == (2, None)
            with pytest.raises(LedgerError, match=r"account 'a'.*entry 2.*confide ledger verify"):
                ledger.history("a")
            assert not ledger.release(ask(n=3), account="b").reused, "the other account is whole, and goes on"
