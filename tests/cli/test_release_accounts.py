"""Which account `confide release` charges: one that was opened, and that no other one stands for."""

from __future__ import annotations

import pytest

from confide import Ledger
from tests.cli.commands import Answer
from tests.cli.desk import COLUMNS, LABELS, Desk
from tests.noises import FORBIDDEN

ASKED = ("release", "rows.csv", *COLUMNS, "-e", 1)


def refused(desk: Desk, *arguments: object) -> str:
    """The message of a refusal, after which everything is as it was and no noise was drawn."""
    before = desk.files()
    desk.hear(FORBIDDEN)
    answer = desk.run(*arguments)
    desk.hear_the_system_again()
    assert (answer.code, answer.out) == (2, ""), answer.err
    assert answer.err.startswith("error: ")
    assert desk.files() == before
    return answer.err


def paid(desk: Desk, *arguments: object) -> Answer:
    answer = desk.run(*arguments)
    assert answer.code == 0, answer.err
    return answer


def spent(desk: Desk) -> dict[str, float]:
    with Ledger(desk.book) as ledger:
        return {account.name: float(account.spent.epsilon) for account in ledger.accounts()}


class TestAccountsThatAreNotThere:
    @pytest.mark.parametrize("more", [(), ("--dry-run",), ("--json",), ("--report", "out.html")], ids=str)
    def test_a_wrong_name_is_refused_and_the_right_one_proposed(self, desk: Desk, more: tuple[str, ...]) -> None:
        desk.open_account("trial")
        message = refused(desk, *ASKED, "--account", "trail", "--ledger", desk.book, *more)
        assert "there is no account 'trail'. Did you mean 'trial'?" in message
        assert "The ledger's accounts are trial" in message
        assert f"`confide ledger new trail --epsilon E --data rows.csv --ledger {desk.book}`" in message

    @pytest.mark.parametrize("more", [(), ("--dry-run",), ("--account", "trial"), ("--account", "trial", "--dry-run")])
    def test_without_a_ledger_none_is_made(self, desk: Desk, more: tuple[str, ...]) -> None:
        message = refused(desk, *ASKED, *more)
        assert "there is no ledger" in message
        assert "`confide ledger new NAME --epsilon E --data rows.csv`" in message
        assert not desk.book.exists()

    def test_a_wrong_name_is_said_before_the_file_is_looked_at(self, desk: Desk) -> None:
        desk.open_account("trial")
        nowhere = ("release", "nowhere.csv", *COLUMNS, "-e", 1)
        assert "there is no account 'trail'" in refused(desk, *nowhere, "--account", "trail")
        assert "nowhere.csv" in refused(desk, *nowhere, "--account", "trial")
        assert "nowhere.csv" in refused(desk, *nowhere)


class TestWithoutAName:
    def test_the_one_account_that_was_opened_for_the_file_is_charged_and_named(self, desk: Desk) -> None:
        desk.open_account("other")
        desk.open_account("trial", file="rows.csv")
        assert paid(desk, *ASKED).err == "charged to account trial, the only one that knows these data.\n"
        assert spent(desk) == {"other": 0.0, "trial": 1.0}

    def test_so_is_one_that_was_charged_for_it(self, desk: Desk) -> None:
        desk.open_account("other")
        desk.open_account("trial")
        message = refused(desk, *ASKED)
        assert "name the account to charge (--account)" in message
        assert "The ledger's accounts are other, trial" in message
        paid(desk, *ASKED, "--account", "trial")
        assert "charged to account trial" in paid(desk, *ASKED, "-m", "brier").err
        assert spent(desk) == {"other": 0.0, "trial": 2.0}

    def test_of_two_that_know_it_one_must_be_named(self, desk: Desk) -> None:
        for name in ("first", "second"):
            desk.open_account(name)
            paid(desk, *ASKED, "--account", name, "--also-charge")
        message = refused(desk, *ASKED, "-m", "brier")
        assert "known under accounts first, second; name the one to charge" in message
        assert spent(desk) == {"first": 1.0, "second": 1.0}

    def test_other_data_are_known_to_nobody(self, desk: Desk) -> None:
        desk.open_account("trial", file="rows.csv")
        desk.write("other.csv", 1 - LABELS)
        assert "none that knows these data" in refused(desk, "release", "other.csv", *COLUMNS, "-e", 1)


class TestTheSameData:
    def test_a_copy_with_the_same_bytes_is_the_same_data(self, desk: Desk) -> None:
        desk.open_account("trial", file="rows.csv")
        first = desk.document("-e", 1, "--account", "trial")
        desk.write("copy.csv")
        desk.hear(FORBIDDEN)
        again = desk.document("-e", 1, file="copy.csv")
        assert (again["value"], again["ledger"]["reused"]) == (first["value"], True)
        assert spent(desk) == {"trial": 1.0}

    def test_other_bytes_are_other_data_whatever_they_hold(self, desk: Desk) -> None:
        """The same rows in another order: that they have the same counts must not show."""
        desk.open_account("trial")
        lines = (desk.folder / "rows.csv").read_text(encoding="utf-8").splitlines()
        (desk.folder / "turned.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n", encoding="utf-8")
        desk.document("-e", 1, "--account", "trial")
        again = desk.document("-e", 1, "--account", "trial", file="turned.csv")
        assert (again["ledger"]["spent"]["epsilon"], again["ledger"]["reused"]) == (2.0, False)

    def test_an_account_that_was_opened_for_a_file_takes_no_other(self, desk: Desk) -> None:
        desk.open_account("trial", file="rows.csv")
        desk.write("other.csv", 1 - LABELS)
        other = ("release", "other.csv", *COLUMNS, "-e", 1, "--account", "trial")
        for more in ((), ("--also-charge",), ("--dry-run",)):
            assert "the request is about other data; open another account" in refused(desk, *other, *more)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("charged", [False, True], ids=["opened for them", "charged for them"])
    def test_data_of_another_account_are_refused_unless_one_means_it(self, desk: Desk, charged: bool) -> None:
        """Else two accounts with a cap each would spend twice the cap on the same people, unnoticed."""
        desk.open_account("first", file=None if charged else "rows.csv")
        if charged:
            paid(desk, *ASKED, "--account", "first")
        desk.open_account("second")
        for more in ((), ("--dry-run",), ("-m", "brier")):
            message = refused(desk, *ASKED, *more, "--account", "second")
            assert "the ledger knows these data under account 'first'" in message
            assert "(--also-charge)" in message
        assert "(--also-charge)" in refused(desk, "ledger", "new", "third", "-e", 1, "--data", "rows.csv")
        before = spent(desk)
        paid(desk, *ASKED, "--account", "second", "--also-charge")
        assert spent(desk) == {**before, "second": 1.0}
        paid(desk, *ASKED, "-m", "brier", "--account", "second")  # it knows them now
        paid(desk, "ledger", "new", "third", "-e", 1, "--data", "rows.csv", "--also-charge")


class TestLabelsAlone:
    """Under label-only neighbours all else is public, so an account is for one column of labels of some data."""

    ONLY = ("--neighbours", "label-only")

    def test_an_account_without_label_or_data_is_refused(self, desk: Desk) -> None:
        desk.open_account("trial")
        new = ("ledger", "new", "contest", "--epsilon", 20, *self.ONLY)
        for more in ((), ("--label", "died"), ("--data", "rows.csv")):
            assert "(--label) and the data (--data: their file" in refused(desk, *new, *more)
        assert "not both" in refused(desk, *new, "-l", "died", "--data", "rows.csv", "--data-name", "labels, version 1")

    def test_submissions_are_questions_about_declared_data(self, desk: Desk) -> None:
        new = ("ledger", "new", "contest", "--epsilon", 20, *self.ONLY, "--label", "died")
        paid(desk, *new, "--data-name", "test labels, version 1")
        for name, labels in (("one.csv", LABELS), ("two.csv", LABELS[::-1])):
            desk.write(name, labels)
            paid(desk, "release", name, *COLUMNS, "-e", 1, *self.ONLY, "--account", "contest")
        assert spent(desk) == {"contest": 2.0}

    def test_other_labels_are_refused(self, desk: Desk) -> None:
        """Asked for as a score, the hidden column would be public."""
        (desk.folder / "two.csv").write_text("died,old,risk\n" + "1,0,0.7\n0,1,0.2\n1,1,0.6\n" * 9, encoding="utf-8")
        paid(desk, "ledger", "new", "contest", "-e", 20, *self.ONLY, "--label", "died", "--data", "two.csv")
        asked = ("release", "two.csv", "-e", 1, *self.ONLY, "--account", "contest")
        assert "hides the labels in 'died'" in refused(desk, *asked, "--label", "old", "--score", "died")
        message = refused(desk, *asked, *COLUMNS, "--positive", "0")
        assert "the labels in 'died' with the positive value '0' needs an account of its own" in message


class TestPersons:
    def test_an_account_fixes_how_many_rows_a_person_has(self, desk: Desk) -> None:
        paid(desk, "ledger", "new", "trial", "-e", 3, "--unit", "person", "--rows-per-person", 2)
        persons = (*ASKED, "--account", "trial", "--unit", "person")
        assert "persons with up to 2 rows" in refused(desk, *persons)
        assert "protects each person" in refused(desk, *ASKED, "--account", "trial")
        paid(desk, *persons, "--rows-per-person", 2)
        assert spent(desk) == {"trial": 1.0}
