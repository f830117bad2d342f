"""Sites that drop out at any step: the sum over the others where enough are left, nothing otherwise, one charge."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from confide.federation.coordinator.answers import summed_table
from confide.federation.coordinator.rounds import validate
from confide.federation.coordinator.validation import derive
from confide.federation.crypto.identity import SiteKey
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE, Message, Outcome, RunError
from confide.federation.question import Question
from confide.federation.site.answers import exact_table
from confide.federation.site.records import SiteRecords
from confide.federation.site.register import Register
from confide.metrics.ranking import auc_score
from tests.federation.dropouts import SEVEN, STEPS, dying, reopened
from tests.federation.network import Network


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SEVEN)


def asked(network: Network, mode: str, **given: Any) -> Question:
    usual = {"epsilon": "1/4"} if mode == "private" else {"grid": "uniform:200"}
    return network.question(mode, **{"colluders": 1, "fewest": 5, **usual, **given})


def is_exact(network: Network, outcome: Outcome) -> bool:
    """The released table is that of the rows of the sites that are left, and of no others."""
    assert outcome.total is not None
    found = summed_table(outcome.question, outcome.total).cells
    return bool((found == exact_table(outcome.question, network.pooled(*outcome.question.sites)).cells).all())


@pytest.mark.few(1)
@pytest.mark.parametrize(("topic", "after"), list(product((OFFER, SHARES, ANSWER, UNMASK), (False, True))))
def test_one_site_may_drop_out_at_any_step(network: Network, topic: str, after: bool) -> None:
    question = asked(network, "secure-sum")
    lost = dying(network.sites["east"], topic, after=after)
    outcome = network.run(question, replaced={"east": lost})
    left = tuple(name for name in SEVEN if name != "east" or topic == UNMASK)
    assert outcome.question.sites == left
    assert is_exact(network, outcome)
    assert outcome.rounds == (5 if topic == ANSWER else 4)
    assert derive(outcome).pooled.auc.value == pytest.approx(auc_score(network.pooled(*left)), abs=1e-2)
    states = {report.name: report.state for report in outcome.reports}
    assert states == {name: "answered" if name in left else "silent" for name in SEVEN}
    again = network.run(question)
    assert (again.total, again.question.sites) == (outcome.total, left)


@pytest.mark.few(1)
@pytest.mark.parametrize(("first", "second"), [(ANSWER, VOTE), (ANSWER, UNMASK), (SHARES, ANSWER), (ANSWER, ANSWER)])
def test_two_sites_may_drop_out_one_after_the_other(network: Network, first: str, second: str) -> None:
    question = asked(network, "private", site_share=0)
    lost = {name: dying(network.sites[name], topic, after=False) for name, topic in (("east", first), ("west", second))}
    outcome = network.run(question, replaced=lost)
    gone = {"east"} | ({"west"} if second == ANSWER else set())
    assert outcome.question.sites == tuple(name for name in SEVEN if name not in gone)
    paid = [network.spent(name) for name in SEVEN]
    assert paid == [0.0 if name in gone else 0.25 for name in SEVEN]
    again = network.run(question)
    assert (again.total, again.question.sites) == (outcome.total, outcome.question.sites)
    assert [network.spent(name) for name in SEVEN] == paid


@pytest.mark.long
@pytest.mark.parametrize("topic", STEPS)
@pytest.mark.parametrize("mode", ["private", "secure-sum"])
def test_with_too_few_left_nothing_is_released_and_asking_again_is_free(
    network: Network, mode: str, topic: str
) -> None:
    question = asked(network, mode)
    gone = ("coast", "east", "west")
    lost = {name: dying(network.sites[name], topic, after=True) for name in gone}
    if topic == VOTE:
        lost["hills"] = dying(network.sites["hills"], ANSWER, after=True)
    with pytest.raises(RunError) as caught:
        network.run(question, replaced=lost)
    assert not any(word in str(caught.value) for word in ("counts", "total"))
    if topic in (OFFER, SHARES):
        assert "Nothing was charged" in str(caught.value)
        assert mode != "private" or [network.spent(name) for name in SEVEN] == [0.0] * 7
    else:
        assert "Nothing is released" in str(caught.value)
    outcome = network.run(question)
    assert outcome.total is not None
    if mode == "private":
        assert [network.spent(name) for name in outcome.question.sites] == [0.25] * len(outcome.question.sites)
        assert network.run(question).total == outcome.total
        assert max(network.spent(name) for name in SEVEN) == 0.25
    else:
        assert is_exact(network, outcome)


@pytest.mark.long
def test_a_silent_site_counts_as_dropped_out_after_the_stated_time(network: Network) -> None:
    over = threading.Event()

    def slow(topic: str, request: Message) -> Message:
        assert topic != ANSWER or over.wait(120.0)
        return network.sites["east"].reply(topic, request)

    channel, began = network.channel(east=slow), time.monotonic()
    outcome = validate(
        asked(network, "secure-sum"), channel, root=network.authority.root, timeout=100.0, drop_after=5.0
    )
    assert time.monotonic() - began < 90.0
    over.set()
    channel.settle()
    assert "east" not in outcome.question.sites
    assert is_exact(network, outcome)


def test_a_sum_without_smaller_numbers_still_needs_everybody(network: Network) -> None:
    question = network.question("secure-sum", grid="uniform:200")
    with pytest.raises(RunError, match="A sum needs every site that began it"):
        network.run(question, replaced={"east": dying(network.sites["east"], ANSWER, after=False)})


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["private", "secure-sum"])
def test_a_site_that_comes_back_is_in_no_second_sum_of_the_same_question(network: Network, mode: str) -> None:
    """The difference of sums with and without it would be its own answer."""
    terms = {"site_share": 0} if mode == "private" else {}
    question = asked(network, mode, **terms)
    first = network.run(question, replaced={"east": dying(network.sites["east"], ANSWER, after=True)})
    for name in SEVEN:
        network.sites[name] = reopened(network, name)  # type: ignore[index]
    again = network.run(question)
    assert again.total == first.total
    assert "east" not in again.question.sites
    if mode == "secure-sum":
        for other in ({"fewest": 7}, {"fewest": 6}, {"sites": tuple(first.question.sites)}, {"colluders": 2}):
            with pytest.raises(RunError, match="confide site forget"):
                network.run(asked(network, mode, **{"colluders": None, **other} if "sites" in other else other))
        return
    before = [network.spent(name) for name in SEVEN]
    second = network.run(asked(network, mode, edition=2, **terms))
    assert second.question.sites == tuple(SEVEN)
    assert second.total != first.total
    assert before == [0.25] * 7  # east had charged its ledger when it was lost
    assert [network.spent(name) for name in SEVEN] == [0.5] * 7


@pytest.mark.long
def test_another_question_about_the_same_sum_has_the_same_list(network: Network) -> None:
    """The shares of noise are the same if only the bins differ: so must be the sites."""
    question = asked(network, "private", site_share=0)
    first = network.run(question, replaced={"east": dying(network.sites["east"], ANSWER, after=True)})
    other = asked(network, "private", site_share=0, bins=7)
    assert other.digest() != question.digest()
    second = network.run(other)
    assert (second.question.sites, second.total) == (first.question.sites, first.total)


def test_a_site_that_was_set_up_anew_is_noticed_before_anybody_pays(network: Network) -> None:
    question = asked(network, "private", site_share=0)
    network.run(question)
    north = network.sites["north"]
    for file in north.folder.path.glob(f"{north.folder.database.name}*"):
        file.unlink()
    SiteRecords(north.folder).begin()
    network.sites["north"] = reopened(network, "north")  # type: ignore[index]
    network.sites["north"].identity = replace(north.identity, own=SiteKey.fresh())
    with pytest.raises(RunError, match="a site was set up anew") as caught:
        network.run(question)
    assert "Nothing was charged" in str(caught.value)
    assert [network.spent(name) for name in SEVEN if name != "north"] == [0.25] * 6


def test_the_list_is_on_the_disk_of_enough_sites(network: Network) -> None:
    question = asked(network, "secure-sum")
    outcome = network.run(question, replaced={"east": dying(network.sites["east"], ANSWER, after=True)})
    known = [Register(site.folder.path).settled(question) for site in network.sites.values()]
    assert sum(one is not None for one in known) >= (question.threshold or 0)
    assert all(one is None or tuple(sorted(one)) == outcome.question.sites for one in known)
