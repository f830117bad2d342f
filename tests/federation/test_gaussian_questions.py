"""Private questions with Gaussian noise: their terms, what they cost, and how policies answer them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from confide import ScoreCounts
from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.coordinator.answers import noise_parts
from confide.federation.coordinator.planning import AccountPrice, consequences, expected_widths
from confide.federation.crypto.shares import Seal
from confide.federation.modes.private import pooled_terms
from confide.federation.modes.registry import mode_of
from confide.federation.policy import Policy, default_policy
from confide.federation.private_noise import GaussianNoise, LaplaceNoise, noise_of
from confide.federation.question import Question
from confide.federation.site.config import new_policy
from confide.federation.site.private_answer import prepare_own, prepare_share
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import three_digits
from confide.privacy.mechanisms.gaussian_shares import shares_rho
from tests.federation.gaussian_sites import POLICY, asked

DELTA = Fraction(1, 10**6)
SEAL = Seal.of(bytes(range(32)))
STUDY = 'studies = ["trial"]\n'


def gaussian(**given: Any) -> GaussianNoise:
    noise = noise_of(asked(**given))
    assert isinstance(noise, GaussianNoise)
    return noise


class TestTerms:
    def test_a_question_without_noise_is_what_it_always_was(self) -> None:
        """Its text, its digest and the identity of its shares do not mention noise: stored answers stay valid."""
        plain = asked(noise=None, delta=None)
        assert plain == asked(noise="laplace", delta=None)
        assert {"noise", "delta"}.isdisjoint(plain.to_dict())
        assert {"noise", "delta", "rho"}.isdisjoint(pooled_terms(plain))
        assert isinstance(noise_of(plain), LaplaceNoise)

    def test_a_gaussian_question_survives_the_wire(self) -> None:
        question = asked()
        assert (question.noise, question.delta) == ("gaussian", "1/1000000")
        assert Question.from_dict(question.to_dict()) == question
        assert question.digest() != asked(delta="1e-7").digest()
        with pytest.raises(FederationError, match="unknown here"):  # as an older site answers
            Question.from_dict({**question.to_dict(), "noises": "gaussian"})

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"noise": "gauss"}, "`noise` must be one of laplace, gaussian; got 'gauss'. Did you mean 'gaussian'"),
            ({"delta": None}, "needs `delta`, far below 1 / rows"),
            ({"delta": 0}, "needs a `delta` above 0"),
            ({"delta": 1}, r"delta must lie in \[0, 1\)"),
            ({"delta": "1001/1000000"}, r"delta must be at most 0\.001: .* chance that the promise fails; .* 1e-6"),
            ({"noise": None}, "`delta` is for Gaussian noise"),
            ({"noise": "laplace"}, "`delta` is for Gaussian noise"),
            ({"mode": "secure-sum", "epsilon": None, "delta": None}, "`noise` is for the mode private"),
            ({"epsilon": "1e-6", "delta": "1e-90"}, "epsilon"),
            ({"epsilon": "1e-5", "unit": "person", "rows_per_person": 1000}, "epsilon"),
        ],
    )
    def test_bad_terms_are_refused(self, wrong: dict[str, Any], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            asked(**wrong)


class TestPrices:
    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"site_share": 0},
            {"site_share": 0, "epsilon": "1/3"},
            {"site_share": "9/10"},
            {"epsilon": 4, "delta": "1e-9"},
        ],
    )
    @pytest.mark.parametrize("rows", [1, 4])
    def test_both_answers_together_have_epsilon_and_delta(self, given: dict[str, Any], rows: int) -> None:
        unit = {} if rows == 1 else {"unit": "person", "rows_per_person": rows}
        noise = gaussian(**given, **unit)
        whole = noise.guarantee()
        assert whole.rho == noise.rho == rho_for(whole.epsilon, whole.delta)
        assert epsilon_for(noise.rho, noise.delta) <= whole.epsilon * (1 + Fraction(1, 10**12))
        own = prepare_own(ScoreCounts.empty(), noise.question)
        charged = [prepare_share(ScoreCounts.empty(), noise.question, SEAL).guarantee]
        charged += [] if own is None else [own.guarantee]
        stated = [noise.pooled_guarantee(), *([noise.own_guarantee()] if noise.has_own else [])]
        for parts in (charged, stated):
            assert sum((part.rho or 0 for part in parts), Fraction(0)) == noise.rho
            assert all(rho_for(part.epsilon, part.delta) >= (part.rho or 0) for part in parts)
            assert all(part.epsilon <= whole.epsilon for part in parts)

    def test_rho_is_divided_and_not_epsilon(self) -> None:
        noise = gaussian(site_share="1/4")
        assert float(noise.own_rho / noise.rho) == pytest.approx(0.25, rel=1e-6)
        assert noise.own_rho <= noise.rho / 4

    @pytest.mark.parametrize("rows", [1, 3])
    @pytest.mark.parametrize("grid", ["arcsine:16", "uniform:256"])
    def test_the_noise_of_the_honest_sites_suffices_and_a_site_less_does_not(self, grid: str, rows: int) -> None:
        """Seven sites, two colluders, and five may be left: three shares must do."""
        unit = {} if rows == 1 else {"unit": "person", "rows_per_person": rows}
        noise = gaussian(grid=grid, sites=list("abcdefg"), colluders=2, fewest=5, **unit)
        assert (noise.question.honest, noise.question.left) == (3, 5)
        variance = noise.pooled_shares.variance
        three, two = (shares_rho(variance, shares, levels=noise.levels) for shares in (3, 2))
        assert three is not None
        assert two is not None
        assert float(rows**2 * three) == pytest.approx(float(noise.pooled_rho), rel=1e-4)
        assert rows**2 * three <= noise.pooled_rho < rows**2 * two

    def test_noise_in_intervals_is_that_of_all_shares(self) -> None:
        question = asked(sites=list("abcde"), colluders=2, site_share=0)
        (part,), own = noise_parts(question)
        law = noise_of(question).pooled_shares
        assert (own, part.gaussian) == ((), True)
        assert part.variance == pytest.approx(5 * law.variance)  # type: ignore[attr-defined]

    def test_what_one_share_alone_promises_is_said(self) -> None:
        noise = gaussian(site_share=0)
        alone = epsilon_for(noise.levels / (2 * noise.pooled_shares.variance), DELTA)
        words = mode_of(noise.question).promise(noise.question)
        assert f"its own noise alone: epsilon {three_digits(alone)}, delta 1e-06." in words[2]
        assert alone <= Fraction(three_digits(alone)) < alone * Fraction(101, 100)
        assert "but for a chance of 1e-06 (epsilon = 1, delta = 1e-06" in words[0]
        assert "n^2 times" in words[3]

    def test_the_same_sum_is_known_by_its_rho(self) -> None:
        terms = pooled_terms(asked())
        assert (terms["rho"], terms["noise"]) == (str(gaussian().pooled_rho), "gaussian")
        assert "epsilon" not in terms
        assert terms != pooled_terms(asked(site_share=0))

    def test_cells_follow_the_noise(self) -> None:
        many = {"grid": None, "rows": 10**6, "site_share": 0}
        cells = [len(asked(**many, **terms).public_grid) for terms in ({}, {"noise": None, "delta": None})]
        assert cells[0] < cells[1]
        with_own, without = gaussian().worth_epsilon, gaussian(site_share=0).worth_epsilon
        assert with_own < without


class TestPlans:
    def test_laplace_noise_stands_beside_it(self) -> None:
        question = asked(epsilon=2, site_share=0)
        *_, ours, laplace = expected_widths(question, rows=4000)
        assert (ours.noise, laplace.noise) == ("gaussian", "laplace")
        assert ours.epsilon == laplace.epsilon == "2"
        assert ours.auc_population_width is not None
        assert laplace.auc_population_width is not None
        assert ours.auc_population_width > laplace.auc_population_width
        assert len(expected_widths(replace(question, noise=None, delta=None), rows=4000)) == 3

    def test_the_price_of_twenty_is_said(self) -> None:
        """It is what the account of a new site charges, and not another bound on the same sum."""
        together = Concentration.for_account(Policy().epsilon_in_all, DELTA).epsilon_of(
            20 * rho_for(Fraction(1, 2), DELTA)
        )
        (first, *_) = consequences(asked(epsilon="1/2"))
        assert first.startswith(
            "20 questions like this one cost epsilon 2.15 together in a site's account, and not 10: rho adds up"
        )
        assert 2.14 < together <= 2.15
        assert AccountPrice.of(asked(noise=None, delta=None)) is None

    @pytest.mark.parametrize("epsilon", ["1/100", "1/2", "3", "7/2", "20"])
    def test_an_account_that_allows_the_epsilon_can_pay_for_a_question(self, epsilon: str) -> None:
        price = AccountPrice.of(asked(epsilon=epsilon))
        assert price is not None
        assert price.later < price.first <= price.epsilon_in_all
        assert price.of_many(3) == price.first + 2 * price.later

    def test_laplace_noise_says_nothing_of_rho(self) -> None:
        assert len(consequences(asked(noise=None, delta=None))) == 2


class TestPolicies:
    def test_old_policies_allow_laplace_noise_alone(self) -> None:
        policy = Policy.from_toml(STUDY)
        assert (policy.noise, policy.composition) == (("laplace",), "addition")
        assert policy.delta_in_all == 0
        assert Policy.from_toml(default_policy(studies=("trial",))) == policy
        with pytest.raises(RefusedError, match=r"Gaussian noise was asked for, but .* with Laplace noise \(noise in"):
            policy.check(asked())

    def test_a_site_limits_noise_and_delta(self) -> None:
        policy = Policy.from_toml(POLICY + STUDY)
        policy.check(asked())
        policy.check(asked(noise=None, delta=None))
        with pytest.raises(RefusedError, match=r"delta 1e-05 was .* at most 1e-06 \(delta_in_all.*delta=1e-06"):
            policy.check(asked(delta="1e-5"))
        only = Policy.from_toml(POLICY.replace('"laplace", ', "") + STUDY)
        with pytest.raises(RefusedError, match="ask with `noise=gaussian`"):
            only.check(asked(noise=None, delta=None))
        with pytest.raises(RefusedError, match="epsilon_per_study"):
            policy.check(asked(epsilon=4))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('noise = ["gaussian"]', 'noise "gaussian" needs composition = "zcdp"'),
            ('composition = "zcdp"', "needs delta_in_all"),
            ('composition = "rdp"', "composition must be one of addition, zcdp"),
            ('noise = "gaussian"', "must be a list"),
            ("noise = []", "must be a list"),
            ('noise = ["cauchy"]', "must be a list"),
            ("delta_in_all = 2", "delta must lie in"),
            ("delta_in_all = 0.0011", r"delta_in_all: delta must be at most 0\.001: .* chance that the promise fails"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            Policy.from_toml(text)

    def test_a_new_site_can_be_set_up_for_it(self) -> None:
        policy = Policy.from_toml(new_policy(("trial",), delta_in_all="1e-6"))
        assert (policy.noise, policy.composition) == (("laplace", "gaussian"), "zcdp")
        assert policy.delta_in_all == DELTA
        assert Policy.from_toml(new_policy(("trial",), delta_in_all="1e-3")).delta_in_all == Fraction(1, 1000)
        with pytest.raises(ParameterError, match="chance that the promise fails"):
            new_policy(("trial",), delta_in_all="0.0011")
        assert Policy.from_toml(new_policy(("trial",))) == Policy.from_toml(default_policy(studies=("trial",)))
