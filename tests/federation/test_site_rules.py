"""Rules that a site and the coordinator keep in a run, each of which could be dropped without the results changing."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.errors import (
    DataError,
    FederationError,
    LedgerError,
    OracleError,
    OwnFilesError,
    ParameterError,
    RecordsError,
    RefusedError,
)
from confide.federation.coordinator.answers import summed_table
from confide.federation.coordinator.validation import derive
from confide.federation.crypto.identity import SiteKey
from confide.federation.flare.hardening import harden_server, harden_site
from confide.federation.modes.registry import MODES
from confide.federation.protocol import ANSWER, OFFER, Message, Outcome, RunError
from confide.federation.question import PROTOCOL, Question
from confide.federation.site import private_answer as ledger_answers
from confide.federation.site.answers import exact_table
from confide.federation.site.config import SiteConfig
from confide.federation.site.site import Site
from confide.federation.tables import SiteTable
from confide.ledger.charging import STEP_SECONDS, padded
from confide.metrics.calibration import brier_score, observed_expected_ratio
from tests.federation.certificates import pem, rsa_key
from tests.federation.network import MODEL, Network
from tests.federation.outcomes import drawn_sites, outcome_of
from tests.federation.site_books import forget, logged

SIZES = {"east": 90, "north": 60, "south": 75}
FOUR = {**SIZES, "west": 120}
EVERY_MODE = "modes = ['disclosure-control', 'secure-sum', 'private', 'noisy-scores']\n"
TERMS: Mapping[str, Mapping[str, Any]] = {
    "noisy-scores": {"epsilon": 5, "delta": "0.01", "sensitivity": "0.1"},
    "private": {"epsilon": "1/2"},
}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SIZES)


def asked(network: Network, mode: str, **terms: Any) -> Question:
    return network.question(mode, **{**TERMS.get(mode, {}), **terms})


def offer(site: Site, question: Question) -> dict[str, Any]:
    """What a site replies in round 1."""
    return site.reply(OFFER, {"protocol": PROTOCOL, "session": "5" * 32, "question": question.to_dict()})


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Outcome]:
    """Sites that put rows together before masking, and what came of it."""
    network = Network.build(tmp_path_factory.mktemp("grouped"), SIZES, "secure_sum_minimum_cell = 5\n")
    return network, network.run(network.question("secure-sum", minimum_cell=5))


class TestGroupsBeforeMasking:
    """A site's part of a secure sum with a minimum: the sum less what the two other sites are known to have sent."""

    def test_every_cell_and_bin_of_one_site_is_empty_or_has_five_rows(self, grouped: tuple[Network, Outcome]) -> None:
        network, outcome = grouped
        assert outcome.total is not None
        total = summed_table(outcome.question, outcome.total)
        others = [exact_table(outcome.question, network.pooled(name)) for name in ("north", "south")]
        rows = network.pooled("east")
        for left in (
            total.cells - sum(table.cells for table in others),
            total.bin_rows - sum(table.bin_rows for table in others),
        ):
            assert ((left == 0) | (left >= 5)).all()
            assert left.sum(axis=1).tolist() == [rows.total_positives, rows.total_negatives]

    def test_rows_as_they_are_would_have_smaller_cells_and_bins(self, grouped: tuple[Network, Outcome]) -> None:
        """The rows can tell whether they were grouped, so the test above can fail."""
        network, outcome = grouped
        plain = SiteTable.of(network.pooled("east"), outcome.question.public_grid, outcome.question.bins)
        for counts in (plain.cells, plain.bin_rows):
            assert ((counts > 0) & (counts < 5)).any()

    def test_little_is_lost(self, grouped: tuple[Network, Outcome]) -> None:
        network, outcome = grouped
        found, true = derive(outcome).pooled, network.pooled()
        assert found.brier is not None
        assert found.brier.value == pytest.approx(brier_score(true), abs=0.005)
        assert found.observed_expected is not None
        assert found.observed_expected.value == pytest.approx(observed_expected_ratio(true), abs=0.001)

    def test_a_site_whose_policy_groups_refuses_a_question_that_does_not(
        self, grouped: tuple[Network, Outcome]
    ) -> None:
        network, _ = grouped
        reply = offer(network.sites["east"], network.question("secure-sum", minimum_cell=4))
        assert reply["state"] == "refused"
        assert "secure_sum_minimum_cell in its policy" in reply["message"]


OWN_FILES = "the site's own files cannot be used; its administrator finds the reason with `confide site verify`"
UNEXPECTED = "something unexpected went wrong at the site; its administrator finds more in the site's log"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RecordsError("place"), OWN_FILES),
        (LedgerError("place"), OWN_FILES),
        (OwnFilesError("place"), OWN_FILES),
        (DataError("place"), UNEXPECTED),
        (OracleError("place"), UNEXPECTED),
        (FederationError("a rule"), "a rule"),
        (RefusedError("a rule"), "a rule"),
        (ParameterError("a parameter"), "a parameter"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
def test_classes_of_errors_decide_what_a_coordinator_hears(
    network: Network, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    east = network.sites["east"]
    monkeypatch.setattr(Site, "_require_approval", broken)
    assert offer(east, asked(network, "private"))["message"] == told
    assert logged(east.folder)[-1]["message"] == str(error), "the administrator hears everything"


@pytest.mark.parametrize("mode", ["private", "secure-sum", "disclosure-control"])
def test_what_an_unexpected_error_says_stays_at_the_site(
    network: Network, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: SiteConfig, model: str, rows: Any) -> Any:
        raise RuntimeError("patient 7")

    monkeypatch.setattr(SiteConfig, "scored_in", broken)
    east = network.sites["east"]
    reply = offer(east, asked(network, mode))
    assert reply == {
        "site": "east",
        "protocol": PROTOCOL,
        "state": "failed",
        "message": "something unexpected went wrong at the site; its administrator finds more in the site's log",
    }
    assert "patient" not in json.dumps(logged(east.folder))
    assert "RuntimeError" in json.dumps(logged(east.folder))


@pytest.mark.parametrize("mode", [mode.name for mode in MODES.values() if not mode.private])
def test_a_class_below_the_policys_number_keeps_a_site_out(tmp_path: Path, mode: str) -> None:
    network = Network.build(tmp_path, SIZES, EVERY_MODE)
    east = network.sites["east"]
    for size, few, many in ((4, "1", "0"), (4, "0", "1"), (5, "1", "0")):
        rows = f"{few},0.5\n{many},0.25\n" * size + f"{many},0.75\n" * 40
        (east.folder.path / "rows.csv").write_text(f"outcome,risk\n{rows}")
        reply = offer(east, asked(network, mode))
        assert (reply["state"], "offer" in reply) == (("refused", False) if size == 4 else ("answered", True))
        assert size == 5 or "too few rows of a class" in reply["message"]


@pytest.mark.parametrize("mode", ["secure-sum", "private"])
def test_a_question_that_too_few_sites_could_answer_is_refused_in_round_1(tmp_path: Path, mode: str) -> None:
    network = Network.build(tmp_path, FOUR, "fewest_sites = 4\n")

    def away(topic: str, request: Message) -> Message:
        raise ConnectionError

    with pytest.raises(RunError, match=r"fewest_sites in its policy.*Nothing was charged or released") as caught:
        network.run(asked(network, mode, fewest=3), replaced={"west": away})
    assert [report.state for report in caught.value.reports] == ["refused", "refused", "refused", "silent"]
    assert all("a sum over as few as 3 sites" in report.message for report in caught.value.reports[:3])
    assert [network.spent(name) for name in SIZES if mode == "private"] == [0.0] * (3 * (mode == "private"))


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["secure-sum", "private"])
def test_every_site_looks_at_the_pins_of_its_policy(network: Network, mode: str) -> None:
    """The coordinator has no pins, so nobody but the sites can see that the key is another one."""
    pins = "".join(f'"{name}" = "{site.identity.fingerprint()}"\n' for name, site in network.sites.items())
    for name, site in network.sites.items():
        site.folder.policy.write_text(f'modes = ["{mode}"]\nstudies = ["trial"]\n[peers]\n{pins}')
        network.sites[name].policy = Site.open(site.folder.path, site.identity).policy
    east, north, south = (network.sites[name] for name in SIZES)
    assert network.run(asked(network, mode, model=MODEL)).total is not None
    spent = [network.spent(name) for name in SIZES] if mode == "private" else []
    north.identity = replace(north.identity, own=SiteKey.fresh())
    with pytest.raises(RunError) as caught:
        network.run(asked(network, mode))
    for site in (east, south):
        (report,) = [report for report in caught.value.reports if report.name == site.name]
        assert report.state == "failed"
        assert report.message.startswith("the own key of site 'north' does not have the fingerprint pinned here")
    assert spent == ([network.spent(name) for name in SIZES] if mode == "private" else [])


@pytest.mark.parametrize("mode", ["disclosure-control", "secure-sum", "private"])
def test_a_site_that_is_not_named_takes_no_part(tmp_path: Path, mode: str) -> None:
    network = Network.build(tmp_path, FOUR)
    reply = offer(network.sites["west"], asked(network, mode, sites=tuple(SIZES)))
    assert (reply["state"], "offer" in reply) == ("refused", False)
    assert "this site is not among those that are asked" in reply["message"]
    assert not network.sites["west"].pending


@pytest.mark.parametrize(("mode", "bins"), [("disclosure-control", 10), ("secure-sum", 7)])
def test_the_register_refuses_in_round_1_so_that_no_other_site_answers(network: Network, mode: str, bins: int) -> None:
    south, heard = network.sites["south"].reply, []
    network.run(asked(network, "secure-sum", sites=tuple(SIZES)))
    for name in ("north", "south"):  # only east remembers
        forget(network.sites[name])

    def watched(topic: str, request: Message) -> Message:
        heard.append(topic)
        return south(topic, request)

    with pytest.raises(RunError, match=r"east: refused .*Nothing was charged or released") as caught:
        network.run(asked(network, mode, bins=bins), replaced={"south": watched})
    assert heard == [OFFER]
    assert [report.state for report in caught.value.reports] == ["refused", "answered", "answered"]


@pytest.mark.parametrize("replayed", ["session", "question"])
def test_an_offer_for_another_run_is_no_offer(network: Network, replayed: str) -> None:
    """Without masks nothing else ties an answer to the run."""
    north, seen = network.sites["north"].reply, []
    question = network.question("disclosure-control")
    other = network.question("disclosure-control", bins=7)

    def replaying(topic: str, request: Message) -> Message:
        if topic == ANSWER:
            return north(topic, request)
        seen.append(north(topic, request))
        if replayed == "question":
            return north(topic, {**request, "question": other.to_dict()})
        return seen[0]

    if replayed == "session":
        assert network.run(question, replaced={"north": replaying}).sites
    with pytest.raises(RunError, match=r"north: failed .the offer of site 'north' is not for this run") as caught:
        network.run(question, replaced={"north": replaying})
    assert [report.state for report in caught.value.reports] == ["answered", "failed", "answered"]


@pytest.mark.parametrize("change", ["a word more", "a word fewer", "a sum more", "a sum fewer"])
def test_a_sum_of_another_size_than_was_asked_for_is_none(
    network: Network, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = SiteTable.to_words

    def wrong(table: SiteTable) -> Any:
        words, wide = honest(table)
        return {
            "a word more": (np.append(words, np.uint64(0)), wide),
            "a word fewer": (words[:-1], wide),
            "a sum more": (words, (*wide, 0)),
            "a sum fewer": (words, wide[:-1]),
        }[change]

    monkeypatch.setattr(SiteTable, "to_words", wrong)
    with pytest.raises(FederationError, match="other numbers of values than were asked for; nothing is released"):
        network.run(network.question("secure-sum", grid="uniform:200"))


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [-1, 1])
def test_a_private_sum_of_another_size_is_none(network: Network, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ledger_answers.opened_share

    def wrong(*given: Any) -> Any:
        integers = honest(*given)
        return np.resize(integers, integers.size + size)

    monkeypatch.setattr(ledger_answers, "opened_share", wrong)
    with pytest.raises(FederationError, match="other numbers of values than were asked for; nothing is released"):
        network.run(network.question("private", epsilon="1"))


def test_a_private_answer_takes_a_whole_number_of_steps_of_time(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that moves only while noise is drawn: for 0.3 s, at each site in its own thread."""
    clock, honest = threading.local(), ledger_answers.charged_answer
    slept: list[float] = []

    def slow(*given: Any, **terms: Any) -> Any:
        clock.now = 0.3
        return honest(*given, **terms)

    time = SimpleNamespace(perf_counter=lambda: getattr(clock, "now", 0.0), sleep=slept.append)
    monkeypatch.setattr("confide.ledger.charging.time", time)
    monkeypatch.setattr(padded.__wrapped__, "__defaults__", (STEP_SECONDS,))  # type: ignore[attr-defined]
    monkeypatch.setattr("confide.federation.site.answers.charged_answer", slow)
    network.run(network.question("private", epsilon="1"))
    assert [pause for pause in slept if pause] == pytest.approx([0.2] * 3)


def test_sites_that_agree_by_chance_do_not_make_the_summary_certain() -> None:
    (counts,) = drawn_sites(300, ["one"]).values()
    found = derive(outcome_of(dict.fromkeys(("east", "north", "south"), counts), "disclosure-control"))
    for name in ("auc", "observed_expected"):
        summary = found.heterogeneity[name]
        own = [getattr(site.result, name).interval.width for site in found.sites]
        assert summary.interval.width > min(own) / 3**0.5
        assert found.summarised[name] == ("east", "north", "south")


def test_a_site_whose_noise_leaves_everything_open_is_not_averaged_in() -> None:
    tiny_rows = ScoreCounts.from_arrays([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.5, 0.7, 0.8])
    data = {**drawn_sites(900, ["east", "north", "south"]), "tiny": tiny_rows}
    found = derive(outcome_of(data, "private", epsilon="1"))
    (tiny,) = [site for site in found.sites if site.name == "tiny"]
    assert tiny.result is not None
    assert tiny.result.auc.interval is not None
    assert tiny.result.auc.interval.width > 0.9
    assert found.summarised["auc"] == ("east", "north", "south")
    assert found.heterogeneity["auc"].sites == 3


def test_a_new_edition_draws_anew_at_every_site_and_is_paid_for(tmp_path: Path) -> None:
    """That all of two draws' 32 numbers are equal by chance has a probability below 1 in 10^9."""
    network = Network.build(tmp_path, SIZES, "epsilon_per_study = 2\n")
    first, again, second = (
        network.run(network.question("private", epsilon="1/2", site_share=0, edition=edition)) for edition in (1, 1, 2)
    )
    assert first.total == again.total
    assert first.total != second.total
    assert all(report.receipt is not None for report in (*again.reports, *second.reports))
    assert [(report.receipt or {})["charged"]["epsilon"] for report in again.reports] == [0.0] * 3
    assert [(report.receipt or {})["charged"]["epsilon"] for report in second.reports] == [0.5] * 3
    assert [network.spent(name) for name in SIZES] == [1.0] * 3


def flare_certificate(name: str, key: int, issuer: int) -> str:
    """A certificate as FLARE issues them: of the root itself, of a coordinator, or of a server or site."""
    from nvflare.lighter.utils import Identity, generate_cert

    role = "project_admin" if "@" in name else None
    subject, root = Identity(name, role=role), Identity("confide")
    return pem(generate_cert(subject, root, rsa_key(issuer), rsa_key(key).public_key(), ca=name == "confide"))


def test_engines_run_one_class_each(tmp_path: Path) -> None:
    allowed = {
        harden_site: "confide.federation.flare.executor.ConfideExecutor",
        harden_server: "confide.federation.flare.controller.ConfideController",
    }
    for harden, name in allowed.items():
        kit = tmp_path / harden.__name__
        kit.mkdir()
        harden(kit)
        written_down = json.loads((kit / "local" / "resources.json").read_text())
        assert written_down["class_allow_list"] == [name]
        assert written_down["class_list_enforcement_mode"] == "enforce"
