"""Two rounds over sites with real files, policies and ledgers: what comes out, and what happens when a site fails."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confide.errors import ParameterError
from confide.federation.coordinator.rounds import validate
from confide.federation.coordinator.validation import derive
from confide.federation.crypto.identity import SiteKey
from confide.federation.protocol import ANSWER, OFFER, Message, Outcome, RunError
from confide.federation.question import PROTOCOL
from confide.federation.site.records import REGISTER
from confide.intervals.delong import delong_interval
from confide.ledger.place import KEY_ENVIRONMENT
from confide.metrics.calibration import brier_score, observed_expected_ratio
from confide.metrics.precision_recall import average_precision_score
from confide.metrics.ranking import auc_score
from tests.federation.network import MODEL, Network
from tests.federation.site_books import forget, logged

SIZES = {"east": 90, "north": 60, "south": 75, "west": 120}
EVERY_MODE = "modes = ['disclosure-control', 'secure-sum', 'private', 'noisy-scores']\nepsilon_in_all = 5\n"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SIZES)


def test_a_secure_sum_is_what_all_rows_in_one_place_give(network: Network) -> None:
    outcome = network.run(network.question("secure-sum"))
    found, true = derive(outcome, null_auc=0.6), network.pooled()
    assert found.pooled.auc.value == pytest.approx(auc_score(true), abs=1e-15)
    assert found.pooled.auc.interval is not None
    exact = delong_interval(true)
    assert (found.pooled.auc.interval.lower, found.pooled.auc.interval.upper) == pytest.approx(
        (exact.lower, exact.upper), abs=1e-12
    )
    assert found.pooled.brier is not None
    assert found.pooled.brier.value == pytest.approx(brier_score(true), abs=1e-14)
    assert found.pooled.average_precision is not None
    assert found.pooled.average_precision.value == pytest.approx(average_precision_score(true), abs=1e-12)
    assert found.pooled.observed_expected is not None
    assert found.pooled.observed_expected.value == pytest.approx(observed_expected_ratio(true), abs=1e-12)
    assert found.pooled.rows == sum(SIZES.values())
    assert outcome.rounds == 2
    assert all(site.result is None for site in found.sites)
    assert not found.heterogeneity


def pin_all(network: Network) -> None:
    pins = {name: site.identity.fingerprint() for name, site in network.sites.items()}
    for site in network.sites.values():
        site.policy = replace(site.policy, peers=pins)


def test_sites_that_pinned_each_other_add_up(network: Network) -> None:
    pin_all(network)
    found = derive(network.run(network.question("secure-sum")))
    assert found.pooled.auc.value == pytest.approx(auc_score(network.pooled()), abs=1e-15)


@pytest.mark.few(1)
@pytest.mark.parametrize("pinned", [True, False])
def test_a_copy_of_a_kit_is_no_site_to_those_that_pinned_it(network: Network, pinned: bool) -> None:
    """Somebody answers as north with its certificate and key; nobody who pinned is charged, or sends anything."""
    if pinned:
        pin_all(network)
    north = network.sites["north"]
    north.identity = replace(north.identity, own=SiteKey.fresh())
    question = network.question("private", epsilon="1")
    if not pinned:
        assert network.run(question).total is not None
        return
    with pytest.raises(RunError, match="own key of site 'north' does not have the fingerprint pinned here"):
        network.run(question)
    assert [network.spent(name) for name in ("east", "south", "west")] == [0.0, 0.0, 0.0]


def test_groups_give_nearly_the_same_for_each_site_and_for_all(network: Network) -> None:
    found, true = derive(network.run(network.question("disclosure-control"))), network.pooled()
    assert found.pooled.auc.value == pytest.approx(auc_score(true), abs=0.01)
    assert found.pooled.bounds is not None
    assert auc_score(true) in found.pooled.bounds
    for site in found.sites:
        assert site.result is not None
        assert site.result.auc.value == pytest.approx(auc_score(network.pooled(site.name)), abs=0.02)
    assert found.heterogeneity["auc"].sites == 4


def test_the_private_sum_is_charged_once_and_is_the_same_when_asked_again(network: Network) -> None:
    question = network.question("private", epsilon="1")
    first, second = network.run(question), network.run(question)
    assert first.total == second.total
    assert first.sites == second.sites
    assert [report.receipt for report in first.reports] == [
        {"charged": {"epsilon": 1.0, "delta": 0.0}, "remaining": {"epsilon": 0.0, "delta": 0.0}, "reused": False}
    ] * 4
    assert [network.spent(name) for name in SIZES] == [1.0] * 4
    found = derive(first, level=0.9999)  # so that the noise of this run hardly ever fails the test
    assert found.pooled.auc.interval is not None
    assert auc_score(network.pooled()) in found.pooled.auc.interval
    assert all(site.result is not None for site in found.sites)
    assert found.guarantee is not None
    assert float(found.guarantee.epsilon) == 1.0


def test_only_the_sum_is_seen_where_no_share_is_spent_on_sites(network: Network) -> None:
    outcome = network.run(network.question("private", epsilon="1", site_share=0))
    assert outcome.sites == {}
    assert all(site.result is None for site in derive(outcome).sites)


def test_noisy_scores_are_for_sites_that_allow_them_and_say_what_they_are(tmp_path: Path, network: Network) -> None:
    terms = {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"}
    with pytest.raises(RunError, match="modes in its policy"):
        network.run(network.question("noisy-scores", **terms))
    allowing = Network.build(tmp_path / "allowing", SIZES, EVERY_MODE)
    found = derive(allowing.run(allowing.question("noisy-scores", **terms)))
    assert found.pooled.auc.value == pytest.approx(auc_score(allowing.pooled()), abs=0.05)
    assert any("not differentially private" in line for line in found.promise())
    assert found.guarantee is None


def test_an_outcome_survives_writing(network: Network) -> None:
    outcome = network.run(network.question("secure-sum"))
    again = Outcome.from_dict(json.loads(json.dumps(outcome.to_dict())))
    assert derive(again).to_dict() == derive(outcome).to_dict()


# What can go wrong at a site, told by what it replies in a round.
def in_round(topic: str, honest: Callable[[str, Message], Message], reply: Callable[[Message], Any]) -> Any:
    def act(asked: str, request: Message) -> Any:
        answer = honest(asked, request)
        return reply(answer) if asked == topic else answer

    return act


def raising(_: Message) -> Any:
    raise RuntimeError("score 0.123 of patient 7")


BROKEN: Mapping[str, Callable[[Message], Any]] = {
    "nothing": lambda answer: None,
    "text": lambda answer: "garbage",
    "an empty reply": lambda answer: {},
    "another name": lambda answer: {**answer, "site": "east"},
    "an old version": lambda answer: {**answer, "protocol": PROTOCOL - 1},
    "an unknown state": lambda answer: {**answer, "state": "perhaps"},
    "numbers for texts": lambda answer: {
        name: 7 if name not in ("site", "protocol", "state") else value for name, value in answer.items()
    },
    "a crash": raising,
}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("mode", "broken"),
    [
        *(("secure-sum", broken) for broken in BROKEN),
        *(("private", broken) for broken in ("numbers for texts", "an old version")),
        *(("disclosure-control", broken) for broken in ("numbers for texts", "a crash")),
    ],
)
@pytest.mark.parametrize("topic", [OFFER, ANSWER])
def test_a_site_that_sends_garbage_ends_the_run_and_is_named(
    network: Network, mode: str, broken: str, topic: str
) -> None:
    terms = {"epsilon": "1"} if mode == "private" else {}
    bad = in_round(topic, network.sites["north"].reply, BROKEN[broken])
    with pytest.raises(RunError, match=r"north: (failed|silent)") as caught:
        network.run(network.question(mode, **terms), replaced={"north": bad})
    assert "patient" not in str(caught.value)
    assert [report.name for report in caught.value.reports if report.state != "answered"] == ["north"]
    if topic == OFFER:
        assert "Nothing was charged" in str(caught.value)
        assert [network.spent(name) for name in SIZES] == [0.0] * 4


def test_a_silent_site_ends_the_run_in_time(network: Network) -> None:
    over = threading.Event()

    def slow(topic: str, request: Message) -> Message:
        assert over.wait(300.0)
        return network.sites["west"].reply(topic, request)

    channel, started = network.channel(west=slow), time.monotonic()
    with pytest.raises(RunError, match="west: silent"):
        validate(network.question("secure-sum"), channel, root=network.authority.root, timeout=1.5)
    assert time.monotonic() - started < 120.0
    over.set()
    channel.settle()


def test_a_run_goes_on_without_a_site_where_fewer_are_enough(network: Network) -> None:
    bad = in_round(OFFER, network.sites["west"].reply, BROKEN["text"])
    found = derive(network.run(network.question("secure-sum", fewest=3), replaced={"west": bad}))
    assert found.question.sites == ("east", "north", "south")
    assert found.pooled.auc.value == pytest.approx(auc_score(network.pooled("east", "north", "south")), abs=1e-15)
    assert {site.name: site.report.state for site in found.sites}["west"] == "failed"


def test_a_sum_cannot_go_on_without_a_site_that_began_it(network: Network) -> None:
    bad = in_round(ANSWER, network.sites["west"].reply, raising)
    with pytest.raises(RunError, match=r"Nothing is released\. Sites that had answered may have charged") as caught:
        network.run(network.question("private", epsilon="1"), replaced={"west": bad})
    assert caught.value.rounds == 2


def test_sites_that_answer_for_themselves_can_be_fewer_at_the_end(network: Network) -> None:
    bad = in_round(ANSWER, network.sites["west"].reply, raising)
    found = derive(network.run(network.question("disclosure-control", fewest=2), replaced={"west": bad}))
    assert found.question.sites == ("east", "north", "south")


def test_no_budget_is_spent_twice_by_a_run_that_failed(network: Network) -> None:
    question = network.question("private", epsilon="1")
    bad = in_round(ANSWER, network.sites["west"].reply, raising)
    with pytest.raises(RunError):
        network.run(question, replaced={"west": bad})
    assert [network.spent(name) for name in SIZES] == [1.0] * 4
    derive(network.run(question))
    assert [network.spent(name) for name in SIZES] == [1.0] * 4


def test_one_site_that_cannot_pay_costs_the_others_nothing(network: Network) -> None:
    network.run(network.question("private", epsilon="1", sites=("east", "north", "south")))
    with pytest.raises(RunError, match=r"east: refused \(study trial has epsilon 0 of 1 left") as caught:
        network.run(network.question("private", epsilon="1"))
    assert [report.reason for report in caught.value.reports] == ["budget", "budget", "budget", None]
    assert caught.value.rounds == 1
    assert network.spent("west") == 0.0
    assert [network.spent(name) for name in ("east", "north", "south")] == [1.0] * 3


def test_other_sites_in_the_sum_are_another_question_that_is_paid_for(tmp_path: Path) -> None:
    network = Network.build(tmp_path, SIZES, "epsilon_per_study = 2\n")
    network.run(network.question("private", epsilon="1/2", site_share=0))
    network.run(network.question("private", epsilon="1/2", site_share=0, sites=("east", "north", "south")))
    assert [network.spent(name) for name in SIZES] == [1.0, 1.0, 1.0, 0.5]


@pytest.mark.few(1)
@pytest.mark.parametrize("terms", [{"sites": ("east", "north", "south")}, {"grid": "uniform:50"}, {"bins": 7}])
def test_exact_answers_that_could_be_subtracted_are_refused(network: Network, terms: dict[str, Any]) -> None:
    network.run(network.question("secure-sum"))
    network.run(network.question("secure-sum"))
    with pytest.raises(RunError, match="confide site forget"):
        network.run(network.question("secure-sum", **terms))


def test_a_network_that_brings_a_request_twice_gets_the_same_bytes(network: Network) -> None:
    east = network.sites["east"].reply

    def twice(topic: str, request: Message) -> Message:
        first = east(topic, request)
        if topic == ANSWER:
            assert east(topic, request) == first
            assert east(topic, {**request, "offers": request["offers"][:3]})["state"] == "failed"
        return first

    derive(network.run(network.question("secure-sum"), replaced={"east": twice}))


@pytest.mark.few(1)
@pytest.mark.parametrize("change", ["session", "offers", "missing", "own"])
def test_a_site_answers_only_what_it_offered_for(network: Network, change: str) -> None:
    seen: list[Message] = []

    def tampered(topic: str, request: Message) -> Message:
        if topic == ANSWER:
            offers = list(request["offers"])
            wrong = {
                "session": {**request, "session": "0" * 32},
                "offers": {**request, "offers": [*offers[:-1], {**offers[-1], "public_key": offers[0]["public_key"]}]},
                "missing": {**request, "offers": offers[:2]},
                "own": {**request, "offers": [one for one in offers if one["site"] != "east"]},
            }[change]
            seen.append(network.sites["east"].reply(topic, wrong))
            return seen[-1]
        return network.sites["east"].reply(topic, request)

    with pytest.raises(RunError, match=r"east: (failed|refused)"):
        network.run(network.question("private", epsilon="1"), replaced={"east": tampered})
    assert seen[0]["state"] != "answered"
    assert "masked" not in seen[0]
    assert network.spent("east") == 0.0


def test_the_site_logs_who_asked_what_and_why_it_was_refused(network: Network) -> None:
    with pytest.raises(RunError, match="epsilon_per_study in its policy") as caught:
        network.run(network.question("private", epsilon="2"))
    assert {report.reason for report in caught.value.reports} == {None}
    lines = logged(network.sites["east"].folder)
    assert [(line["study"], line["model"], line["mode"], line["state"]) for line in lines] == [
        ("trial", MODEL, "private", "refused")
    ]
    assert lines[0]["coordinator"] == "coordinator@confide.local"
    assert "grants a study at most 1" in lines[0]["message"]


def test_what_leaves_a_site_has_nothing_in_it_but_what_the_mode_sends(network: Network) -> None:
    keys: dict[str, set[str]] = {}
    east = network.sites["east"].reply

    def watched(topic: str, request: Message) -> Message:
        answer = east(topic, request)
        keys[topic] = set(answer)
        return answer

    base = {"site", "protocol", "state", "signature"}
    network.run(network.question("private", epsilon="1"), replaced={"east": watched})
    assert keys == {OFFER: base | {"offer"}, ANSWER: base | {"masked", "own", "receipt"}}
    network.run(network.question("secure-sum"), replaced={"east": watched})
    assert keys == {OFFER: base | {"offer"}, ANSWER: base | {"masked"}}


@pytest.mark.parametrize(
    ("terms", "wrong"),
    [
        ({"mode": "secret"}, "`mode` must be one of"),
        ({"mode": "secure-sum", "sites": ("a", "b")}, "at least 3 sites"),
        ({"mode": "secure-sum", "epsilon": 1}, "`epsilon` is for the modes private"),
        ({"mode": "private"}, "epsilon"),
        ({"mode": "private", "epsilon": 1, "colluders": 4}, "`colluders` must be"),
        ({"mode": "private", "epsilon": 1, "site_share": 1}, "`site_share` must lie"),
        ({"mode": "private", "epsilon": 1, "grid": "uniform:5000"}, "at most 2,048 cells"),
        ({"mode": "private", "epsilon": 1, "minimum_cell": 5}, "`minimum_cell` is for"),
        ({"mode": "noisy-scores", "epsilon": 1}, "needs `delta` and the model's `sensitivity`"),
        ({"mode": "secure-sum", "study": "a\nb"}, "the name of a study"),
        ({"mode": "secure-sum", "sites": ("a", "a", "b")}, "named once"),
        ({"mode": "secure-sum", "grid": "cubes:9"}, "grid must look like"),
    ],
)
def test_a_wrong_question_is_refused_before_anybody_is_asked(
    network: Network, terms: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ParameterError, match=wrong):
        network.question(**terms)


def test_fewer_sites_than_a_mode_can_do_with_are_refused(network: Network) -> None:
    with pytest.raises(ParameterError, match="can go on with 3 to 4"):
        network.question("secure-sum", fewest=2)
    with pytest.raises(ParameterError, match="needs all 4 of these sites"):
        network.question("private", epsilon=1, colluders=3, fewest=3)
    with pytest.raises(ParameterError, match="timeout must be"):
        network.run(network.question("secure-sum"), timeout=0.0)


def test_a_site_that_lost_its_records_does_not_draw_anew_what_others_stored(network: Network) -> None:
    question = network.question("private", epsilon="1/2")
    network.run(question)
    folder = network.sites["north"].folder
    for file in folder.path.glob("site.db*"):
        file.unlink()
    with pytest.raises(RunError, match=r"north: failed \(the site's own files cannot be used"):
        network.run(question)
    assert not folder.database.exists()
    assert [network.spent(name) for name in SIZES] == [0.5, 0.0, 0.5, 0.5]


def test_an_answer_that_the_ledger_lost_is_not_drawn_anew(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the key forged records without the account's charges: the register knows of the answer."""
    question = network.question("private", epsilon="1/2")
    network.run(question)
    north = network.sites["north"]
    kept = north.records.read(REGISTER)
    key = north.folder.database.with_name("site.db.key")
    text = key.read_text()
    with monkeypatch.context() as patched:
        patched.setenv(KEY_ENVIRONMENT, text)
        forget(north)
        for entry in kept:
            north.records.append(REGISTER, entry)
    key.write_text(text)
    key.chmod(0o600)
    with pytest.raises(RunError, match=r"north: refused \(this site has answered this question, but its ledger"):
        network.run(question)
    network.run(network.question("private", epsilon="1/2", edition=2))


def test_stored_shares_are_not_sent_with_a_site_that_was_set_up_anew(network: Network) -> None:
    question = network.question("private", epsilon="1/2")
    first = network.run(question)
    north = network.sites["north"]
    forget(north)
    north.identity = replace(north.identity, own=SiteKey.fresh())
    with pytest.raises(RunError, match=r"east: refused \(a site was set up anew"):
        network.run(question)
    assert [network.spent(name) for name in ("east", "south", "west")] == [0.5] * 3
    again = network.run(network.question("private", epsilon="1/2", edition=2))
    assert again.total != first.total


def test_the_log_says_what_was_charged_and_why_data_could_not_be_read(network: Network) -> None:
    question, folder = network.question("private", epsilon="1"), network.sites["east"].folder
    network.run(question)
    network.run(question)
    said = logged(folder)
    assert [line["message"] for line in said if line["round"] == 2] == [
        "answered, with 4 sites, epsilon 1 charged",
        "answered, with 4 sites, from store: nothing charged",
    ]
    (folder.path / "rows.csv").write_text("outcome,danger\n1,0.5\n0,0.2\n")
    with pytest.raises(RunError, match=r"east: failed .the site's data cannot be read as it is configured") as caught:
        network.run(question)
    assert "danger" not in str(caught.value)
    last = logged(folder)[-1]
    assert "no column 'risk'" in last["message"]
    assert (last["round"], last["study"], last["state"]) == (1, "trial", "failed")


def test_a_wrong_pin_is_logged_with_what_was_asked(network: Network) -> None:
    east = network.sites["east"]
    prints = {name: site.identity.fingerprint() for name, site in network.sites.items()}
    east.policy = replace(east.policy, peers={**prints, "west": "0" * 64})
    with pytest.raises(RunError, match=r"east: failed .the own key of site 'west'"):
        network.run(network.question("secure-sum"))
    last = logged(east.folder)[-1]
    assert (last["round"], last["study"], last["model"], last["mode"]) == (2, "trial", MODEL, "secure-sum")


def test_a_site_with_few_rows_of_a_class_takes_part_under_noise_alone(network: Network) -> None:
    folder = network.sites["east"].folder
    (folder.path / "rows.csv").write_text("outcome,risk\n" + "0,0.25\n" * 40 + "1,0.5\n" * 4)
    with pytest.raises(RunError, match=r"east: refused .this site has too few rows of a class"):
        network.run(network.question("disclosure-control"))
    network.run(network.question("private", epsilon="1"))


class TestVersions:
    """Receipts have `{epsilon, delta}` since version 3; sums survive dropouts since 4; replies are signed since 5."""

    def test_the_version_belongs_to_what_is_sent(self, network: Network) -> None:
        outcome = network.run(network.question("private", epsilon="1"))
        budget = {"epsilon", "delta"}
        for report in outcome.reports:
            assert report.receipt is not None
            shape = {
                name: set(value) if isinstance(value, Mapping) else value for name, value in report.receipt.items()
            }
            assert shape == {"charged": budget, "remaining": budget, "reused": False}
        assert PROTOCOL == 5

    @pytest.mark.parametrize("version", [4, 6, None, "5", True, -1, 10**30])
    def test_a_site_refuses_the_question_of_another_version(self, network: Network, version: object) -> None:
        question = {**network.question("private", epsilon="1").to_dict(), "protocol": version}
        reply = network.sites["north"].reply(OFFER, {"protocol": version, "session": "5" * 32, "question": question})
        assert (reply["state"], reply["protocol"], "offer" in reply) == ("failed", 5, False)
        theirs = f"version {version}" if version in (4, 6) else "an unknown version"
        assert f"the question speaks {theirs} of the protocol" in reply["message"]
        assert "this installation version 5; install the same version of confide" in reply["message"]
        assert network.spent("north") == 0.0

    @pytest.mark.parametrize(("version", "theirs"), [(3, "version 3"), (None, "an unknown version")])
    def test_a_coordinator_names_a_site_of_another_version_before_any_site_is_charged(
        self, network: Network, version: object, theirs: str
    ) -> None:
        def old(topic: str, request: Message) -> Message:
            assert topic == OFFER, "a second round began"
            return {"site": "north", "protocol": version, "state": "failed", "message": "speaks another version"}

        with pytest.raises(RunError, match=rf"north: failed \(it speaks {theirs} of the protocol") as caught:
            network.run(network.question("private", epsilon="1"), replaced={"north": old})
        assert "this installation version 5; install the same version of confide" in str(caught.value)
        assert "Nothing was charged" in str(caught.value)
        assert [network.spent(name) for name in SIZES] == [0.0] * 4
