"""The private mode at a site: both answers are charged together, stored once, and the share is nobody's to read."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Ledger, ScoreCounts
from confide.errors import ConfideError, FederationError, ParameterError, RefusedError, UnpayableError
from confide.federation.crypto.shares import Seal
from confide.federation.policy import Policy, default_policy
from confide.federation.question import Question
from confide.federation.site.accounts import ACCOUNT, account_by_policy, open_site_account
from confide.federation.site.config import SiteFolder
from confide.federation.site.private_answer import charge, opened_share, prepare_own, prepare_share, quote
from confide.federation.site.records import SiteRecords
from confide.federation.site.scored_rows import SiteRows
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.mechanisms.strategies import best_strategy
from confide.privacy.neighbours import Neighbours
from confide.releases.curves import curves_of
from confide.releases.release import Release
from tests.federation.held_rows import held
from tests.federation.site_books import charged_answer, check_payable
from tests.noises import FORBIDDEN, SILENT, Deaf

REPOSITORY = Path(__file__).parents[2]
RNG = np.random.default_rng(11)
SCORES = RNG.random(300)
LABELS = RNG.random(300) < SCORES
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)
NEIGHBOUR = ScoreCounts.from_arrays(LABELS[1:], SCORES[1:])
ROWS, OTHER_ROWS = held(COUNTS), held(NEIGHBOUR)
SEAL = Seal.of(bytes(range(32)))
OTHER_SEAL = Seal.of(bytes(32))
HALF = Fraction(1, 2)


def budget(epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon, "delta": 0.0}


def ask(**given: Any) -> Question:
    fixed: dict[str, Any] = {"study": "trial", "model": "m", "mode": "private", "sites": ["a", "b", "c"], "epsilon": 1}
    fixed["grid"] = "arcsine:16"
    return Question.checked(**{**fixed, **given})


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> SiteFolder:
    place = SiteFolder(tmp_path)
    place.policy.write_text(default_policy())
    SiteRecords(place).begin()
    return place


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.sqlite")
    open_site_account(book, epsilon=3, epsilon_per_study=2)
    return book


def pay(ledger: Ledger, question: Question, rows: SiteRows = ROWS, **given: Any) -> Any:
    return charge(ledger, ACCOUNT, question, rows, SEAL, **given)


class TestPrepared:
    @pytest.mark.parametrize("grid", ["arcsine:24", "uniform:64"])
    def test_without_noise_the_integers_are_the_counts(self, grid: str) -> None:
        question = ask(grid=grid)
        (share,) = prepare_share(COUNTS, question, SEAL, SILENT).draw()
        cells = cells_on(COUNTS, question.public_grid)
        wanted = best_strategy(len(question.public_grid)).measure(cells).ravel()
        assert (opened_share(share, question, SEAL) == wanted).all()
        own = prepare_own(COUNTS, question, SILENT)
        assert own is not None
        (raw,) = own.chosen(own.draw())
        assert raw.metric == "counts"
        assert raw.parts["noisy_integers"] == wanted.tolist()

    def test_noise_is_of_the_scale_that_was_paid_for(self) -> None:
        """A twelfth of epsilon for the sum, for persons with two rows, on one level: the scale is 24."""
        question = ask(site_share="11/12", unit="person", rows_per_person=2, sites=list("abcde"), colluders=2)
        heard = Deaf()
        prepare_share(COUNTS, question, SEAL, heard.noise()).draw()
        assert heard.heard == [("share", 32, Fraction(24), 3)]
        own = prepare_own(COUNTS, question, heard.noise())
        assert own is not None
        own.draw()
        assert heard.heard[1:] == [("laplace", 32, Fraction(24, 11))]

    def test_all_but_the_noise_is_public(self) -> None:
        """Neighbours have the same request and guarantee, and ask for noise alike."""
        said = []
        for counts in (COUNTS, NEIGHBOUR, ScoreCounts.empty()):
            deaf = Deaf()
            share, own = prepare_share(counts, ask(), SEAL, deaf.noise()), prepare_own(counts, ask(), deaf.noise())
            assert own is not None
            shown = opened_share(share.draw()[0], ask(), SEAL).tolist(), own.draw()[0].to_dict()
            said.append((share.request, share.guarantee, own.request, own.guarantee, deaf.heard, shown))
        assert said[0] == said[1] == said[2]

    def test_the_guarantee_is_about_persons_who_are_there_or_not(self) -> None:
        share, own = prepare_share(COUNTS, ask(), SEAL), prepare_own(COUNTS, ask(site_share="1/4"))
        assert own is not None
        for prepared, epsilon in ((share, HALF), (own, Fraction(1, 4))):
            assert prepared.guarantee.epsilon == epsilon
            assert (prepared.guarantee.neighbours, prepared.guarantee.unit) == (Neighbours.ADD_REMOVE_ONE, "person")
            assert prepared.guarantee.delta == 0
        assert "that 2 of them keep their shares secret" in share.guarantee.public

    def test_where_only_the_sum_is_asked_for_there_is_nothing_else(self, ledger: Ledger) -> None:
        question = ask(site_share=0)
        assert prepare_own(COUNTS, question) is None
        paid = pay(ledger, question)
        assert (paid.own, paid.receipt["charged"]["epsilon"]) == (None, 1.0)

    def test_preparing_draws_nothing(self) -> None:
        assert prepare_share(COUNTS, ask(), SEAL, FORBIDDEN).guarantee
        assert prepare_own(COUNTS, ask(), FORBIDDEN)

    def test_other_modes_are_not_charged(self) -> None:
        exact = Question.checked(study="s", model="m", mode="secure-sum", sites=["a", "b", "c"])
        for refused in (lambda: prepare_share(COUNTS, exact, SEAL), lambda: prepare_own(COUNTS, exact)):
            with pytest.raises(ParameterError, match="mode secure-sum is not charged"):
                refused()

    def test_weights_are_refused_before_anything_is_charged(self, ledger: Ledger) -> None:
        weighted = ScoreCounts.from_arrays([0, 1], [0.1, 0.2], [0.5, 1.5])
        with pytest.raises(ConfideError):
            pay(ledger, ask(), held(weighted))
        assert ledger.account(ACCOUNT).spent.epsilon == 0


class TestCharges:
    def test_both_answers_are_charged_to_the_study(self, ledger: Ledger) -> None:
        assert quote(ledger, ACCOUNT, ask(), ROWS, SEAL).price.epsilon == 1
        paid = pay(ledger, ask())
        assert paid.receipt == {
            "charged": budget(1.0),
            "remaining": budget(1.0),
            "reused": False,
        }
        account = ledger.account(ACCOUNT)
        assert account.spent.epsilon == account.spent_by["trial"].epsilon == 1
        assert [entry.kind for entry in ledger.history(ACCOUNT)] == ["open", "charge", "charge", "answer", "answer"]
        assert ledger.verify().whole

    def test_the_same_question_gets_the_stored_answer(self, ledger: Ledger) -> None:
        first = pay(ledger, ask())
        assert quote(ledger, ACCOUNT, ask(), ROWS, SEAL).answered
        for same in (ask(), ask(study="another"), ask(unit="person"), ask(bins=4)):
            again = pay(ledger, same, noise=FORBIDDEN)
            assert (again.integers == first.integers).all()
            assert again.own == first.own
            assert again.receipt["reused"]
            assert again.receipt["charged"]["epsilon"] == 0
        assert ledger.account(ACCOUNT).spent.epsilon == 1

    @pytest.mark.parametrize(
        ("other", "price"),
        [
            ({"sites": ["a", "b", "c", "d"]}, HALF),  # the site's own answer does not depend on who else takes part
            ({"sites": ["a", "b", "d"]}, HALF),
            ({"colluders": 0}, HALF),
            ({"model": "n"}, 1),
            ({"site_share": "3/4"}, 1),
            ({"grid": "arcsine:23"}, 1),
            ({"unit": "person", "rows_per_person": 2}, 1),
        ],
    )
    def test_another_question_is_charged_again(self, ledger: Ledger, other: dict[str, Any], price: Fraction) -> None:
        first = pay(ledger, ask())
        again = pay(ledger, ask(**other))
        assert again.receipt["charged"]["epsilon"] == price
        assert again.integers.tolist() != first.integers.tolist()  # 32 equal draws: a chance far below 1e-9

    def test_other_data_are_charged_again(self, ledger: Ledger) -> None:
        pay(ledger, ask())
        assert pay(ledger, ask(), OTHER_ROWS).receipt["charged"]["epsilon"] == 1

    def test_a_study_spends_no_more_than_its_part(self, ledger: Ledger) -> None:
        pay(ledger, ask(epsilon="3/2"))
        said = (
            r"^study trial has epsilon 0\.5 of 2 left at this site \(epsilon_per_study in its policy\), and this costs "
            r"1: 0\.5 is missing\. Ask for less epsilon, or let its administrator raise epsilon_per_study$"
        )
        with pytest.raises(UnpayableError, match=said):
            pay(ledger, ask(epsilon=1))
        with pytest.raises(UnpayableError, match=said):
            quote(ledger, ACCOUNT, ask(epsilon=1), ROWS, SEAL)
        assert ledger.account(ACCOUNT).spent.epsilon == Fraction(3, 2)  # not even the half that would have fitted
        pay(ledger, ask(epsilon=1, study="another"))

    def test_all_studies_spend_no_more_than_there_is(self, ledger: Ledger) -> None:
        for study in "abc":
            pay(ledger, ask(study=study, grid=f"uniform:{10 + ord(study)}"))
        said = (
            r"^all studies together have epsilon 0 of 3 left at this site \(epsilon_in_all in its policy\), and this "
            r"costs 1: 1 is missing\. Only its administrator can raise epsilon_in_all$"
        )
        with pytest.raises(UnpayableError, match=said):
            pay(ledger, ask(study="d"))

    def test_what_is_sent_becomes_curves_again(self, ledger: Ledger) -> None:
        question = ask(epsilon=2)
        paid = pay(ledger, question)
        prepared = prepare_own(COUNTS, question)
        assert prepared is not None
        curves = curves_of(Release.from_dict(paid.own, prepared.guarantee), level=0.95)
        assert len(curves.grid) == 16
        assert 0.5 < curves.auc < 1.0

    def test_two_models_with_equal_counts_cost_what_two_models_cost(self, ledger: Ledger) -> None:
        """A lower price would tell that both score every row alike."""
        first, second = (pay(ledger, ask(model=model, epsilon=HALF)) for model in ("m", "other"))
        assert [paid.receipt["charged"]["epsilon"] for paid in (first, second)] == [0.5, 0.5]
        assert first.own != second.own

    def test_the_sum_over_sites_is_that_of_their_counts(self, tmp_path: Path) -> None:
        """Three sites with ledgers of their own; without noise, the integers add up to the pooled counts."""
        parts = [ScoreCounts.from_arrays(LABELS[k::3], SCORES[k::3]) for k in range(3)]
        total = np.zeros(32, dtype=np.int64)
        for number, part in enumerate(parts):
            book = Ledger(tmp_path / f"{number}.sqlite")
            open_site_account(book, epsilon=1, epsilon_per_study=1)
            total += pay(book, ask(), held(part), noise=SILENT).integers
        assert (total == cells_on(COUNTS, ask().public_grid).ravel()).all()


class TestStored:
    def test_nobody_reads_a_share_in_the_ledger(self, ledger: Ledger, tmp_path: Path) -> None:
        marked: list[int] = [31771 + 7 * place for place in range(32)]
        noise = replace(SILENT, laplace_share=lambda values, scale, honest: marked)
        paid = pay(ledger, ask(), noise=noise)
        assert paid.integers.tolist() == marked
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"31771" not in content
        assert np.array(marked, dtype="<i8").tobytes()[:32] not in content
        shown = [entry.to_dict() for entry in ledger.history(ACCOUNT) if entry.kind == "answer"]
        assert "31771" not in repr(shown)
        assert "31771" not in repr(paid) + repr(prepare_share(COUNTS, ask(), SEAL))

    def test_only_the_site_s_secret_and_the_same_question_open_it(self) -> None:
        (share,) = prepare_share(COUNTS, ask(), SEAL).draw()
        assert opened_share(share, ask(study="another"), SEAL).size == 32
        for question, seal in ((ask(), OTHER_SEAL), (ask(sites=["a", "b", "d"]), SEAL), (ask(model="n"), SEAL)):
            with pytest.raises(FederationError, match="cannot be opened"):
                opened_share(share, question, seal)

    @pytest.mark.processes
    def test_a_site_killed_after_the_charge_answers_on_it(self, folder: SiteFolder) -> None:
        """The process is killed as it draws its share; the next one pays nothing and has one answer."""
        program = (
            "import os, signal, sys\n"
            "from confide.privacy.queries import Noise\n"
            "from confide.federation.site import private_answer as module\n"
            "from confide.federation.site.config import SiteFolder\n"
            "from pathlib import Path\n"
            "from tests.federation.test_private_answer import ROWS, ask\n"
            "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
            "module.charge.__defaults__ = (Noise(laplace_share=die),)\n"
            "from tests.federation.site_books import charged_answer\n"
            "charged_answer(SiteFolder(Path(sys.argv[1])), ask(), ROWS)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", program, str(folder.path)], cwd=REPOSITORY, capture_output=True, check=False
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        with Ledger(folder.database) as book:
            assert book.account(ACCOUNT).spent.epsilon == 1
            check_payable(folder, ask(), ROWS)
            paid = charged_answer(folder, ask(), ROWS)
            assert paid.receipt == {
                "charged": budget(0.0),
                "remaining": budget(0.0),
                "reused": False,
            }
            assert book.account(ACCOUNT).spent.epsilon == 1
            assert (charged_answer(folder, ask(), ROWS).integers == paid.integers).all()
            kinds = [entry.kind for entry in book.history(ACCOUNT)]
            assert kinds == ["open", "charge", "charge", "answer", "answer"]


class TestSites:
    def test_a_site_s_folder_is_all_it_needs(self, folder: SiteFolder) -> None:
        check_payable(folder, ask(), ROWS)
        with Ledger(folder.database) as book:
            assert book.account(ACCOUNT).spent.epsilon == 0
        first = charged_answer(folder, ask(), ROWS)
        again = charged_answer(folder, ask(study="another"), ROWS)
        assert (first.integers == again.integers).all()
        assert first.integers.dtype == np.int64
        assert {path.name for path in folder.path.iterdir() if path.suffix == ".key"} == {"site.db.key"}

    def test_the_same_sum_with_own_counts_of_another_price_is_answered(self, folder: SiteFolder) -> None:
        """Half of epsilon 1, or all of 1/2, is the same sum: its share is stored, and only the own counts are new."""
        folder.policy.write_text("epsilon_per_study = 3")
        alone = charged_answer(folder, ask(epsilon="1/2", site_share=0), ROWS)
        both = charged_answer(folder, ask(epsilon=1, site_share="1/2"), ROWS)
        assert (both.integers == alone.integers).all()
        assert (alone.receipt["charged"]["epsilon"], both.receipt["charged"]["epsilon"]) == (0.5, 0.5)
        assert alone.own is None
        assert both.own is not None

    def test_caps_follow_the_policy(self, folder: SiteFolder) -> None:
        charged_answer(folder, ask(), ROWS)
        with pytest.raises(UnpayableError, match="has epsilon 0 of 1 left"):
            check_payable(folder, ask(grid="uniform:8"), ROWS)
        folder.policy.write_text("epsilon_per_study = 2\nepsilon_in_all = 2")
        assert charged_answer(folder, ask(grid="uniform:8"), ROWS).receipt["remaining"] == {
            "epsilon": 0.0,
            "delta": 0.0,
        }
        with Ledger(folder.database) as book:
            caps = book.account(ACCOUNT).caps
            assert caps.total.epsilon == caps.each_analyst == 2
            entries = len(book.history(ACCOUNT))
            account_by_policy(book, Policy.load(folder.policy))
            assert len(book.history(ACCOUNT)) == entries  # nothing is written where nothing changed

    def test_changed_data_get_no_second_share_for_the_same_sum(self, folder: SiteFolder) -> None:
        folder.policy.write_text("epsilon_per_study = 3")
        charged_answer(folder, ask(), ROWS)
        for refused in (check_payable, charged_answer):
            with pytest.raises(RefusedError, match="changed since it answered the same question"):
                refused(folder, ask(), OTHER_ROWS)
        with Ledger(folder.database) as book:
            assert book.account(ACCOUNT).spent.epsilon == 1
        assert charged_answer(folder, ask(colluders=0), OTHER_ROWS).receipt["charged"]["epsilon"] == 1

    def test_what_cannot_be_paid_is_not_remembered(self, folder: SiteFolder) -> None:
        with pytest.raises(UnpayableError, match="has epsilon 1 of 1 left"):
            charged_answer(folder, ask(epsilon=2), ROWS)
        folder.policy.write_text("epsilon_per_study = 2")
        assert charged_answer(folder, ask(epsilon=2), OTHER_ROWS).receipt["charged"]["epsilon"] == 2

    def test_a_ledger_of_another_relation_is_refused(self, folder: SiteFolder) -> None:
        with Ledger(folder.database) as book:
            book.open_account(ACCOUNT, epsilon=1, neighbours="replace-one")
        with pytest.raises(FederationError, match="opened for other neighbours or another unit"):
            check_payable(folder, ask(), ROWS)

    def test_refusals_hold_nothing_of_the_data(self, folder: SiteFolder) -> None:
        many = ScoreCounts.from_arrays(np.tile([0, 1], 31771), np.linspace(0.2, 0.7, 63542))
        with pytest.raises(RefusedError) as caught:
            check_payable(folder, ask(epsilon=2), held(many))
        assert not any(text in str(caught.value) for text in ("31771", "63542"))
