"""A session reads a run's result as from a stranger."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from confide.errors import FederationError
from confide.federation.flare.run_result import read_result, write_failure, write_outcome
from confide.federation.outcome import Outcome, RunError, SiteReport
from confide.federation.question import Question
from confide.federation.site_state import SiteState
from tests.federation.network import Network

MODES = ("secure-sum", "private", "disclosure-control")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return Network.build(tmp_path_factory.mktemp("result"), {"a": 60, "b": 70, "c": 80})


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """One in each mode, each of sites of its own: a site answers without noise in one mode only."""
    made = {mode: Network.build(tmp_path_factory.mktemp(mode), {"a": 60, "b": 70, "c": 80}) for mode in MODES}
    return {mode: network.run(asked(network, mode)) for mode, network in made.items()}


def asked(network: Network, mode: str) -> Question:
    return network.question(mode, **({"epsilon": "1"} if mode == "private" else {}))


@pytest.mark.parametrize("mode", MODES)
def test_an_honest_result_is_read_as_it_was_written(network: Network, outcomes: dict[str, Outcome], mode: str) -> None:
    read = read_result(write_outcome(outcomes[mode]), asked(network, mode))
    assert json.dumps(read.to_dict()) == json.dumps(outcomes[mode].to_dict())


def test_an_outcome_for_another_question_is_not_believed(network: Network, outcomes: dict[str, Outcome]) -> None:
    other = network.question("secure-sum", grid="uniform:50")
    with pytest.raises(FederationError, match="another question than was asked"):
        read_result(write_outcome(outcomes["secure-sum"]), other)


def test_an_outcome_of_fewer_sites_than_were_signed_for_is_not_believed(
    network: Network, outcomes: dict[str, Outcome]
) -> None:
    plain = outcomes["disclosure-control"].to_dict()
    plain["question"] |= {"sites": ["a", "b"], "fewest": 2}
    del plain["sites"]["c"]
    with pytest.raises(FederationError, match="another question than was asked"):
        read_result(json.dumps({"outcome": plain}), asked(network, "disclosure-control"))


CHANGES: tuple[Change, ...] = (
    lambda plain: plain.clear(),
    lambda plain: plain.pop("reports"),
    lambda plain: plain.update(question={}),
    lambda plain: plain.update(total=None),
    lambda plain: plain["total"].update(counts="AAAA"),
    lambda plain: plain["total"].update(wide=["x"] * len(plain["total"]["wide"])),
    lambda plain: plain.update(sites={"stranger": {}}),
    lambda plain: plain["reports"].pop(),
    lambda plain: plain["reports"][0].update(name="stranger"),
    lambda plain: plain["reports"][0].update(state="\x1b[2J"),
    lambda plain: plain["reports"][0].update(nme=1),
    lambda plain: plain.update(rounds=[]),
    lambda plain: plain.update(rounds=10**6),
    lambda plain: plain.update(seconds="nan"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_malformed_outcomes_are_refused(network: Network, outcomes: dict[str, Outcome], change: Change) -> None:
    plain = json.loads(json.dumps(outcomes["secure-sum"].to_dict()))
    change(plain)
    with pytest.raises(FederationError):
        read_result(json.dumps({"outcome": plain}), asked(network, "secure-sum"))


@pytest.mark.parametrize(
    "failure",
    [
        {},
        [],
        "text",
        {"message": "x", "reports": [{"nme": 1}], "rounds": 2},
        {"message": "x", "reports": 7, "rounds": 2},
        {"message": "x", "reports": [], "rounds": "two"},
    ],
)
def test_malformed_failures_are_refused(network: Network, failure: object) -> None:
    with pytest.raises(FederationError, match="cannot be read") as refused:
        read_result(json.dumps({"failure": failure}), asked(network, "secure-sum"))
    assert not isinstance(refused.value, RunError)


@pytest.mark.parametrize("text", [None, 7, "", "no JSON", "[1]", "[" * 100_000])
def test_what_is_no_result_is_refused(network: Network, text: object) -> None:
    with pytest.raises(FederationError, match="cannot be read"):
        read_result(text, asked(network, "secure-sum"))


def test_words_of_a_failure_are_printable(network: Network) -> None:
    report = SiteReport(name="a", state=SiteState.FAILED, message="\x1b]0;owned\x07 no", receipt={"charged": "\x1b[2J"})
    text = write_failure(RunError("\x1b[2J ask\nagain", (report,), rounds=1))
    with pytest.raises(RunError) as ended:
        read_result(text, asked(network, "secure-sum"))
    assert str(ended.value) == "·[2J ask again"
    assert ended.value.reports == (SiteReport(name="a", state=SiteState.FAILED, message="·]0;owned· no"),)
    assert ended.value.rounds == 1


def test_a_failure_without_reports_has_those_that_were_heard(network: Network) -> None:
    heard = (SiteReport(name="a", state=SiteState.ANSWERED),)
    with pytest.raises(RunError) as ended:
        read_result(write_failure(FederationError("no")), asked(network, "secure-sum"), heard)
    assert ended.value.reports == heard


@pytest.mark.parametrize(("rho", "read"), [(0.004, True), ("\x1b[2J", False), (float("inf"), False)])
def test_rho_of_a_receipt_is_read_where_it_is_a_number(
    network: Network, outcomes: dict[str, Outcome], rho: object, read: bool
) -> None:
    plain = json.loads(json.dumps(outcomes["private"].to_dict()))
    charged = {"epsilon": 1.4, "delta": 9e-7, "rho": rho}
    plain["reports"][0]["receipt"] = {**plain["reports"][0]["receipt"], "charged": charged}
    receipt = read_result(json.dumps({"outcome": plain}), asked(network, "private")).reports[0].receipt
    assert (None if receipt is None else receipt["charged"]) == (charged if read else None)
