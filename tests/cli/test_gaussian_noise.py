"""Gaussian noise on the command line: a plan, a refusal, a person who decides, an answer, and the site's ledger."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from confide.federation.coordinator.series import Edition, series_cost
from confide.federation.policy import Policy
from confide.privacy.accounting import epsilon_for, rho_for
from confide.privacy.concentration import Concentration
from confide.report.validation.series import promise_lines, series_page
from tests.cli.commands import confide
from tests.cli.hospitals import COLUMNS, NAMES, Hospitals, init_again, near, out_of_reach
from tests.federation.gaussian_sites import asked

DELTA = Fraction(1, 10**6)
ASK = ("--mode", "private", "--epsilon", "1/2", "--noise", "gaussian", "--delta", "1e-6")


def allow(hospitals: Hospitals, *names: str) -> None:
    """Sites allow Gaussian noise, as their administrators would write it."""
    for name in names:
        policy = hospitals.site(name).policy
        text = policy.read_text().replace('noise = ["laplace"]', 'noise = ["laplace", "gaussian"]')
        text = text.replace('composition = "addition"', 'composition = "zcdp"')
        policy.write_text(text.replace("delta_in_all = 0", 'delta_in_all = "1e-6"'))


def words(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--noise", "gaussian"), "needs --delta"),
        (("--delta", "1e-6"), "ask with --noise gaussian"),
        (("--noise", "gausian", "--delta", "1e-6"), "Did you mean 'gaussian'"),
        (("--noise", "gaussian", "--delta", "1"), "delta must lie in [0, 1)"),
        (("--noise", "gaussian", "--delta", "0.002"), "delta is the chance that the promise fails"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    out_of_reach(monkeypatch)
    answer = provisioned.ask("--mode", "private", "--epsilon", "1", *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.long
def test_a_plan_compares_it_with_laplace_noise(provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    out_of_reach(monkeypatch)
    options = (*ASK, "--site-share", "0", "--rows", "3000", "--dry-run")
    answer = provisioned.ask(*options)
    assert answer.code == 0, answer.err
    shown = words(answer.out)
    for said in (
        "private, epsilon 1/2, Gaussian noise",
        "private, epsilon 1/2, Laplace noise",
        "epsilon of this question alone, at delta 1e-06",
        "north 1/2 0.004444",
        "The first Gaussian question costs epsilon 1.39 in a site's account, each later one like this about 0.04",
        "an account with epsilon_in_all = 3 and delta_in_all = 1e-06, which converts rho at delta 9e-07",
        "20 questions like this one cost epsilon 2.15 together in a site's account, and not 10",
    ):
        assert said in shown, said
    plan = json.loads(provisioned.ask(*options, "--json").out)
    assert [one["noise"] for one in plan["widths"]] == [None, None, "gaussian", "laplace"]
    assert plan["question"]["noise"] == "gaussian"
    ledger = Concentration.for_account(Fraction(3), DELTA)
    each = rho_for(Fraction(1, 2), DELTA)
    assert plan["account"]["epsilon_first"] == float(ledger.epsilon_of(each))
    assert plan["account"]["epsilon_of_20"] == float(ledger.epsilon_of(20 * each))
    every = provisioned.ask(*options, "--every", "month", "--series", "over-time")
    assert every.code == 0, every.err
    assert "Gaussian noise" in words(every.out)
    rho = 12 * rho_for(Fraction(1, 2), DELTA)
    assert "A year has 12 editions, which cost rho 0.05333 at each site, which is epsilon 1.83 in its account" in words(
        every.out
    )
    assert 0.05332 < rho <= 0.05333
    assert 1.82 < ledger.epsilon_of(rho) <= 1.83


def test_a_site_with_other_rules_refuses_before_anybody_is_charged(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(hospitals, "north", "south")
    near(hospitals, monkeypatch)
    refused = hospitals.ask(*ASK)
    assert refused.code == 1
    assert "answers with Laplace noise (noise in its policy): ask with --noise laplace" in words(
        refused.out + refused.err
    )
    for name in NAMES:
        ledger = json.loads(confide("site", "status", hospitals.site(name).path, "--json").out)["ledger"]
        assert ledger is None or ledger["spent"]["epsilon"] == 0.0


@pytest.mark.long
def test_a_person_reads_it_and_the_ledger_counts_rho(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    allow(hospitals, *NAMES)
    place = hospitals.site("north")
    place.policy.write_text(place.policy.read_text().replace('approval = "automatic"', 'approval = "manual"'))
    near(hospitals, monkeypatch)
    assert hospitals.ask(*ASK).code == 4
    shown = words(confide("site", "pending", place.path).out)
    for said in (
        "epsilon 1/2, delta 1e-06 (rho 0.004444), unless the same question was paid for before",
        "noisy counts, rho 0.002222, and a share of the sum, rho 0.002222",
        "noise: discrete Gaussian",
    ):
        assert said in shown, said
    (question,) = json.loads(confide("site", "pending", place.path, "--json").out)["questions"]
    assert confide("site", "approve", place.path, question["id"]).code == 0
    answer = hospitals.ask(*ASK, "--report", str(tmp_path / "out.html"))
    assert answer.code == 0, answer.err
    assert "delta = 1e-06" in words(answer.out)
    report = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "rho 0.00444384: epsilon 1.39, delta 9e-07 more" in report
    assert "noisy counts, rho 0.002222, and a share of the sum, rho 0.002222" in report
    status = confide("site", "status", place.path)
    assert "that is rho 0.004444 in all, converted at delta 9e-07" in words(status.out)
    ledger = json.loads(confide("site", "status", place.path, "--json").out)["ledger"]
    planned = json.loads(hospitals.ask(*ASK, "--dry-run", "--json").out)["account"]
    assert ledger["spent"]["epsilon"] == pytest.approx(planned["epsilon_first"], rel=1e-12)
    assert ledger["account"] == "validation-zcdp"
    assert ledger["spent"]["rho"] == pytest.approx(0.00444384, rel=1e-5)


def stored_edition(number: int, receipt: object = None, **terms: Any) -> Edition:
    question = asked(edition=number, epsilon="1/2", **terms)
    sites = [{"name": "a", "receipt": receipt}, *([{"name": "b"}] if number > 1 else [])]
    return Edition(name=f"2026-0{number}", document={"question": question.to_dict(), "sites": sites, "pooled": {}})


def test_a_series_states_delta_and_noise_and_counts_rho() -> None:
    rho = rho_for(Fraction(1, 2), DELTA)
    half = {"charged": {"epsilon": 1.39, "delta": 9e-7, "rho": float(rho / 2)}, "reused": False}
    cost = series_cost([stored_edition(1, half), stored_edition(2), stored_edition(3)])
    assert cost.guarantee is not None
    assert cost.guarantee.rho == 3 * rho
    assert (cost.guarantee.epsilon, cost.guarantee.delta) == (epsilon_for(3 * rho, DELTA), DELTA)
    spent = {name: float(epsilon_for(Fraction(times, 2) * rho, DELTA)) for name, times in (("a", 5), ("b", 4))}
    plain = cost.to_dict()
    assert plain["spent_at_most"] == pytest.approx(spent)
    assert (plain["noise"], plain["delta"]) == (["gaussian"], 1e-6)
    editions = [stored_edition(number) for number in (1, 2, 3)]
    page = words(series_page(editions))
    assert "3 editions, 2026-01 to 2026-03, mode private, epsilon 1/2, delta 1e-06 for each at every site" in page
    for said in (", Gaussian noise.", "delta = 1e-06", "epsilon at delta 1e-06, at most", "adds its rho, 0.004444"):
        assert said in page, said


def test_a_series_whose_price_changed_adds_epsilons_and_deltas() -> None:
    """The second price may have been chosen after the first answer was seen."""
    for other in ({"delta": "1e-7"}, {"noise": None, "delta": None}):
        cost = series_cost([stored_edition(1), stored_edition(2, **other)])
        assert cost.guarantee is not None
        delta = DELTA + Fraction(other["delta"] or 0)
        assert (cost.guarantee.epsilon, cost.guarantee.delta, cost.delta) == (Fraction(1), delta, delta)
        assert cost.sites == {"a": 1, "b": Fraction(1, 2)}
        assert any(line == "Every further edition adds its epsilon and its delta." for line in promise_lines(cost))
    (alone,) = series_cost([stored_edition(1)]).sites.values()
    assert alone == Fraction(1, 2)


def test_a_site_is_set_up_for_it(provisioned: Hospitals, tmp_path: Path) -> None:
    options = (*COLUMNS, "--data", provisioned.rows("north"), "--delta", "1e-6", "--json")
    answer = init_again(provisioned, tmp_path / "site", *options)
    assert answer.code == 0, answer.err
    policy = Policy.load(tmp_path / "site" / "policy.toml")
    assert (policy.noise, policy.composition) == (("laplace", "gaussian"), "zcdp")
    plain = json.loads(answer.out)
    assert plain["ledger"]["account"] == "validation-zcdp"
    assert (plain["policy"]["noise"], plain["policy"]["delta_in_all"]) == (["laplace", "gaussian"], "1/1000000")


def test_a_delta_that_promises_little_is_refused_before_anything_is_written(
    provisioned: Hospitals, tmp_path: Path
) -> None:
    options = (*COLUMNS, "--data", provisioned.rows("north"), "--delta", "0.01")
    answer = init_again(provisioned, tmp_path / "site", *options)
    assert (answer.code, answer.out) == (2, "")
    assert "delta is the chance that the promise fails; give one far below 1 / rows, such as 1e-6" in words(answer.err)
    assert not (tmp_path / "site" / "policy.toml").exists()
