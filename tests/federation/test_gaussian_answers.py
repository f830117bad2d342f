"""Sites answer with Gaussian noise: what they draw and charge, and what they refuse, whatever their rows are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import Ledger, ScoreCounts
from confide.errors import ConfideError, FederationError, RefusedError, UnpayableError
from confide.federation.coordinator.answers import pooled_counts
from confide.federation.coordinator.validation import derive
from confide.federation.crypto.shares import Seal
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.protocol import ANSWER, Outcome, RunError
from confide.federation.question import Question
from confide.federation.site.accounts import ACCOUNT, CONCENTRATED, Prices, charged_in_period, read_budget
from confide.federation.site.config import SiteFolder
from confide.federation.site.private_answer import opened_share, prepare_own, prepare_share
from confide.federation.site.records import SiteRecords
from confide.federation.site.scored_rows import SiteRows
from confide.ledger.requests import Request
from confide.metrics.ranking import auc_score
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.gaussian_shares import share_variance
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.noise import reals
from confide.privacy.noise.reals import upper_sqrt
from confide.privacy.queries import GaussianShareQuery, Noise
from confide.releases.release import PreparedRelease
from confide.report.validation.pages import released_table, was_partly_paid
from tests.federation.dropouts import SEVEN, dying, reopened
from tests.federation.gaussian_sites import GAUSSIAN, POLICY, PURE, asked
from tests.federation.held_rows import held
from tests.federation.network import Network
from tests.federation.site_books import charged_answer, check_payable
from tests.noises import SILENT, Deaf

RNG = np.random.default_rng(12)
SCORES = RNG.random(300)
LABELS = RNG.random(300) < SCORES
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)
NEIGHBOUR = ScoreCounts.from_arrays(LABELS[1:], SCORES[1:])
SEAL = Seal.of(bytes(range(32)))
STUDY = 'studies = ["trial"]\n'
THREE = {"north": 300, "south": 300, "west": 300}


def grown(number: int) -> SiteRows:
    """Other rows each time, as new data arrive."""
    return held(ScoreCounts.from_arrays(LABELS[number:], SCORES[number:]))


def rho_of(question: Question) -> Fraction:
    noise = noise_of(question)
    assert isinstance(noise, GaussianNoise)
    return noise.rho


def prepared(counts: ScoreCounts, question: Question, noise: Noise) -> PreparedRelease:
    own = prepare_own(counts, question, noise)
    assert own is not None
    return own


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFIDE_LEDGER_KEY", raising=False)


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., SiteFolder]:
    def make(policy: str = POLICY, name: str = "site") -> SiteFolder:
        folder = SiteFolder(tmp_path / name)
        folder.path.mkdir(exist_ok=True)
        folder.policy.write_text(policy)
        SiteRecords(folder).begin()
        return folder

    return make


class TestDrawn:
    @pytest.mark.parametrize("grid", ["arcsine:24", "uniform:64"])
    def test_without_noise_the_integers_are_the_counts(self, grid: str) -> None:
        question = asked(grid=grid)
        (share,) = prepare_share(COUNTS, question, SEAL, SILENT).draw()
        wanted = noise_of(question).strategy.measure(cells_on(COUNTS, question.public_grid)).ravel()
        assert (opened_share(share, question, SEAL) == wanted).all()
        own = prepared(COUNTS, question, SILENT)
        assert own.draw()[0].parts["noisy_integers"] == wanted.tolist()

    @pytest.mark.parametrize("rows", [1, 3])
    @pytest.mark.parametrize(
        "terms", [{"sites": list("abcde"), "colluders": 2}, {"sites": list("abcdefg"), "colluders": 2, "fewest": 5}]
    )
    def test_noise_is_as_large_as_was_paid_for_and_all_else_is_public(self, terms: dict[str, Any], rows: int) -> None:
        """Neighbours have the same request and guarantee, and ask for noise of the same size: three shares suffice.

        The rows of a person are k^2 times as dear as one.
        """
        question = asked(**terms, **({} if rows == 1 else {"unit": "person", "rows_per_person": rows}))
        noise = noise_of(question)
        assert isinstance(noise, GaussianNoise)
        query = noise.share(cells_on(COUNTS, question.public_grid))
        assert isinstance(query, GaussianShareQuery)
        said = []
        for counts in (COUNTS, NEIGHBOUR, ScoreCounts.empty()):
            deaf = Deaf()
            share, own = prepare_share(counts, question, SEAL, deaf.noise()), prepared(counts, question, deaf.noise())
            share.draw()
            own.draw()
            said.append((share.request, share.guarantee, own.request, own.guarantee, deaf.heard))
        assert said[0] == said[1] == said[2]
        (kind, numbers, variance), (own_kind, own_numbers, scale) = said[0][4]
        assert (kind, own_kind, numbers) == ("gaussian share", "gaussian", own_numbers)
        assert isinstance(variance, Fraction)
        assert isinstance(scale, Fraction)
        assert variance == query.variance == noise.pooled_shares.variance
        assert scale * scale == noise.own_shares.variance
        assert (said[0][1].rho, said[0][3].rho) == (noise.pooled_rho, noise.own_rho)
        pooled, alone = noise.levels / (2 * 3 * variance), noise.levels / (2 * scale * scale)
        assert float(rows**2 * pooled) == pytest.approx(float(noise.pooled_rho), rel=1e-6)
        assert float(rows**2 * alone) == pytest.approx(float(noise.own_rho), rel=1e-6)
        assert float(rows**2 * (pooled + alone)) == pytest.approx(float(noise.rho), rel=1e-6)
        assert rows**2 * (pooled + alone) <= noise.rho


class TestIdentity:
    @pytest.mark.parametrize("given", [{}, {"site_share": 0}, {"site_share": 0, "epsilon": "1/3"}, {"epsilon": 4}])
    @pytest.mark.parametrize("rows", [1, 4])
    def test_it_does_not_move_with_the_precision_of_bounds(
        self, given: dict[str, Any], rows: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ends of narrower balls are other fractions; a ledger that knew answers by them would not find them again."""
        question = asked(**given, **({} if rows == 1 else {"unit": "person", "rows_per_person": rows}))

        def known_by() -> list[str]:
            share_variance.cache_clear()
            share, own = prepare_share(COUNTS, question, SEAL), prepare_own(COUNTS, question)
            return [Request.of(share).parameters, *([] if own is None else [Request.of(own).parameters])]

        before, bound, usual = known_by(), upper_sqrt(2), reals.precisions
        monkeypatch.setattr(reals, "precisions", lambda *given: islice(usual(*given), 1, None))
        assert upper_sqrt(2) < bound
        assert known_by() == before

    def test_a_stored_answer_is_found_at_another_precision(
        self, place: Callable[..., SiteFolder], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, question, usual = place(), asked(), reals.precisions
        first = charged_answer(folder, question, held(COUNTS))
        monkeypatch.setattr(reals, "precisions", lambda *given: islice(usual(*given), 1, None))
        again = charged_answer(folder, question, held(COUNTS))
        assert (again.integers == first.integers).all()
        assert again.receipt["reused"]


class TestCharges:
    def test_rho_is_charged_once_and_stored_answers_are_free(self, place: Callable[..., SiteFolder]) -> None:
        folder, question = place(), asked()
        check_payable(folder, question, held(COUNTS))
        first = charged_answer(folder, question, held(COUNTS))
        assert first.receipt["charged"]["rho"] == pytest.approx(float(rho_of(question)))
        again = charged_answer(folder, question, held(COUNTS))
        assert (again.integers == first.integers).all()
        assert (again.own, again.receipt["reused"]) == (first.own, True)
        with Ledger(folder.database) as ledger:
            account = ledger.account(CONCENTRATED)
            assert account.spent.rho == rho_of(question)
            assert [one.name for one in ledger.accounts()] == [CONCENTRATED]
            assert ledger.verify().whole
        budget = read_budget(folder)
        assert budget is not None
        assert (budget.account, budget.total.rho) == (CONCENTRATED, rho_of(question))
        assert budget.to_dict()["spent"]["delta"] == pytest.approx(9e-7)

    def test_twenty_questions_cost_what_the_guide_says(self, place: Callable[..., SiteFolder]) -> None:
        """Each (1/2, 1e-6), on other data each time: 20 rho at the account's order, and not epsilon 10."""
        folder = place()
        for number in range(20):
            charged_answer(folder, asked(epsilon="1/2", edition=number + 1), grown(number))
        rho = 20 * rho_for(Fraction(1, 2), Fraction(1, 10**6))
        with Ledger(folder.database) as ledger:
            account = ledger.account(CONCENTRATED)
        assert account.spent.rho == rho
        assert (round(float(account.spent.epsilon), 2), float(account.spent.delta)) == (2.15, 9e-7)
        at = account.terms.concentration
        assert at is not None
        assert account.spent.epsilon == at.order * rho + at.reserve

    def test_laplace_questions_are_answered_beside_it(self, place: Callable[..., SiteFolder]) -> None:
        folder = place()
        charged_answer(folder, asked(), held(COUNTS))
        pure = asked(noise=None, delta=None, epsilon="1/10", site_share=0)
        paid = charged_answer(folder, pure, held(COUNTS))
        assert paid.receipt["charged"]["rho"] == pytest.approx(0.1**2 / 2)
        assert not was_partly_paid(paid.receipt, pure)

    def test_a_study_is_limited_by_what_it_costs_alone(self, place: Callable[..., SiteFolder]) -> None:
        folder = place(POLICY.replace("epsilon_per_study = 3", 'epsilon_per_study = "1"'))
        charged_answer(folder, asked(), held(COUNTS))
        for refused in (check_payable, charged_answer):
            with pytest.raises(UnpayableError, match=r"study trial has epsilon 0 of 1 left .*, and this costs 0\.4"):
                refused(folder, asked(edition=2), grown(2))
        charged_answer(folder, asked(edition=2, study="another"), grown(2))


class TestAllowances:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("in_all", [3, 12])
    def test_a_period_costs_what_its_answers_cost_alone(self, place: Callable[..., SiteFolder], in_all: int) -> None:
        policy = POLICY.replace("epsilon_in_all = 3", f"epsilon_in_all = {in_all}")
        folder = place(policy + '[allowance]\nperiod = "year"\nepsilon = "1.2"\n')
        charged_answer(folder, asked(), held(COUNTS))
        with Ledger(folder.database) as ledger:
            charged = charged_in_period(ledger, CONCENTRATED, "year", datetime.now(UTC))
        assert charged == Prices(rho=rho_of(asked()))
        for refused in (check_payable, charged_answer):
            with pytest.raises(UnpayableError, match=r"allows epsilon 1\.2 a year .* 1 is spent .* costs 0\.4"):
                refused(folder, asked(edition=2), grown(2))
        assert charged_answer(folder, asked(), held(COUNTS)).receipt["reused"]
        charged_answer(folder, asked(epsilon="1/2", edition=2), grown(2))

    def test_laplace_answers_fill_an_allowance_exactly(self, place: Callable[..., SiteFolder]) -> None:
        folder = place(POLICY + '[allowance]\nperiod = "year"\nepsilon = "1/5"\n')
        for edition in (1, 2):
            pure = asked(edition=edition, noise=None, delta=None, epsilon="1/10", site_share=0)
            charged_answer(folder, pure, grown(edition))

    def test_laplace_answers_alone_add_up(self, place: Callable[..., SiteFolder]) -> None:
        folder = place(POLICY + '[allowance]\nperiod = "year"\nepsilon = "1/4"\n')
        pure = {"noise": None, "delta": None, "epsilon": "1/10", "site_share": 0}
        for edition in (1, 2):
            charged_answer(folder, asked(edition=edition, **pure), grown(edition))
        with pytest.raises(UnpayableError, match=r"epsilon 0\.25 a year .* 0\.2 is spent .* costs 0\.1;"):
            charged_answer(folder, asked(edition=3, **pure), grown(3))
        with pytest.raises(UnpayableError, match="a year"):
            charged_answer(folder, asked(edition=3, epsilon="1/4"), grown(3))


class TestRefusals:
    """What is refused depends on question, policy and ledger alone, and charges nothing."""

    def test_a_pure_ledger_stays_pure(self, place: Callable[..., SiteFolder]) -> None:
        said = []
        for name, counts in (("one", COUNTS), ("two", NEIGHBOUR)):
            folder = place(PURE, name)
            charged_answer(folder, asked(noise=None, delta=None), held(counts))
            folder.policy.write_text(POLICY)
            for question in (asked(), asked(noise=None, delta=None, edition=2)):
                for refused in (check_payable, charged_answer):
                    with pytest.raises(RefusedError, match=r"composition 'addition'.* sets it back") as error:
                        refused(folder, question, held(counts))
                    said.append((name, str(error.value)))
            with Ledger(folder.database) as ledger:
                assert ledger.account(ACCOUNT).spent.epsilon == 1
                assert [one.name for one in ledger.accounts()] == [ACCOUNT]
        assert [message for name, message in said if name == "one"] == [m for name, m in said if name == "two"]

    def test_before_the_first_charge_a_site_may_change_its_mind(self, place: Callable[..., SiteFolder]) -> None:
        folder = place(PURE)
        check_payable(folder, asked(noise=None, delta=None), held(COUNTS))
        folder.policy.write_text(POLICY)
        charged_answer(folder, asked(), held(COUNTS))
        folder.policy.write_text(PURE)
        with pytest.raises(RefusedError, match="composition 'zcdp'"):
            check_payable(folder, asked(noise=None, delta=None), held(COUNTS))

    def test_a_delta_that_was_lowered_leaves_nothing(self, place: Callable[..., SiteFolder]) -> None:
        folder = place()
        charged_answer(folder, asked(delta="1e-9"), held(COUNTS))
        folder.policy.write_text(POLICY.replace("1e-6", "1e-8"))
        with pytest.raises(RefusedError, match="delta"):
            check_payable(folder, asked(delta="1e-9", edition=2), held(COUNTS))

    def test_more_rows_of_a_person_than_the_account_was_opened_for(self, place: Callable[..., SiteFolder]) -> None:
        """What was answered protected persons with fewer rows; fewer rows than then are no fault."""
        folder = place(POLICY + "rows_per_person = 2\n")
        two = {"unit": "person", "rows_per_person": 3}
        charged_answer(folder, asked(**two), held(COUNTS))
        folder.policy.write_text(POLICY + "rows_per_person = 3\n")
        for refused in (check_payable, charged_answer):
            with pytest.raises(FederationError, match=r"at most 2 rows, and rows_per_person .* is larger now"):
                refused(folder, asked(**two, edition=2), grown(2))
        folder.policy.write_text(POLICY)
        check_payable(folder, asked(**two, edition=2), grown(2))
        with Ledger(folder.database) as ledger:
            assert ledger.account(CONCENTRATED).spent.rho == rho_of(asked(**two))

    def test_weights_are_refused_before_anything_is_charged(self, place: Callable[..., SiteFolder]) -> None:
        folder = place()
        weighted = ScoreCounts.from_arrays([0, 1], [0.1, 0.2], [0.5, 1.5])
        with pytest.raises(ConfideError):
            charged_answer(folder, asked(), held(weighted))
        with Ledger(folder.database) as ledger:
            assert ledger.account(CONCENTRATED).spent.rho == 0


def close(outcome: Outcome, network: Network) -> bool:
    """Whether the released table is that of the rows of the sites that are left, within six deviations of its noise."""
    question = outcome.question
    assert outcome.total is not None
    release = pooled_counts(question, outcome.total, outcome.sites)
    noise, cells = noise_of(question), cells_on(network.pooled(*question.sites), question.public_grid)
    off = np.array(release.parts["noisy_integers"]) - noise.strategy.measure(cells).ravel()
    spread = float(noise.pooled_shares.scale) * np.sqrt(len(question.sites) / question.honest)
    return bool((np.abs(off) < 6.5 * spread).all())


class TestRuns:
    def test_three_sites_answer_and_the_coordinator_reads_the_sum(self, tmp_path: Path) -> None:
        network = Network.build(tmp_path, THREE, POLICY)
        question = network.question("private", epsilon=3, **GAUSSIAN)
        outcome = network.run(question)
        assert close(outcome, network)
        validation = derive(outcome)
        found = validation.pooled.auc
        assert found.value == pytest.approx(auc_score(network.pooled()), abs=0.15)
        assert found.interval is not None
        width = found.interval.upper - found.interval.lower
        # Twice as far as the interval reaches is seven deviations of this noise.
        assert abs(found.interval.lower + found.interval.upper - 2.0 * auc_score(network.pooled())) < 2.0 * width
        plain = validation.to_dict()
        assert plain["guarantee"]["delta"] == 1e-6
        assert plain["guarantee"]["rho"] == pytest.approx(float(rho_of(question)))
        assert plain["question"]["noise"] == "gaussian"
        table = str(released_table(validation))
        assert "rho" in table
        assert "the rest was paid before" not in table
        again = network.run(question)
        assert again.total == outcome.total

    def test_sites_may_drop_out_and_their_shares_are_not_missed(self, tmp_path: Path) -> None:
        network = Network.build(tmp_path, SEVEN, POLICY)
        terms: dict[str, Any] = {"epsilon": 2, "site_share": 0, "colluders": 1, "fewest": 5, **GAUSSIAN}
        question = network.question("private", **terms)
        lost = {name: dying(network.sites[name], ANSWER, after=False) for name in ("east", "west")}
        outcome = network.run(question, replaced=lost)
        assert outcome.question.sites == tuple(name for name in SEVEN if name not in lost)
        assert outcome.question.honest == question.honest == 4
        assert noise_of(outcome.question).pooled_shares == noise_of(question).pooled_shares
        assert close(outcome, network)
        assert {network.spent(name) for name in lost} == {0.0}
        paid = {network.spent(name) for name in outcome.question.sites}
        assert len(paid) == 1
        assert network.run(question).total == outcome.total
        assert {network.spent(name) for name in outcome.question.sites} == paid

    def test_one_pure_site_keeps_all_from_being_charged(self, tmp_path: Path) -> None:
        network = Network.build(tmp_path, THREE, POLICY)
        network.sites["south"].folder.policy.write_text(PURE + STUDY)
        question = network.question("private", epsilon=1, **GAUSSIAN)
        with pytest.raises(RunError, match=r"Gaussian noise was asked for.*noise=laplace") as refused:
            network.run(question, replaced={"south": reopened(network, "south").reply})
        assert refused.value.rounds == 1
        assert [network.spent(name) for name in THREE] == [0.0, 0.0, 0.0]
