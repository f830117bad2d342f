"""Certificates that the root revoked are trusted neither by the coordinator nor by other sites."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from confide.errors import FederationError
from confide.federation.coordinator.rounds import replay, validate
from confide.federation.crypto.certificates import Revocations, take_in
from confide.federation.crypto.identity import Peer
from confide.federation.protocol import RunError
from confide.federation.site.site import Site
from confide.federation.site_state import SiteState
from tests.federation.certificates import DAY, NOW, Authority
from tests.federation.network import Network

ROOT = Authority.fresh()


def listed(number: int, before: Mapping[str, datetime], root: Authority = ROOT) -> str:
    return Revocations.signed(number, before, root.key).to_text()


def test_a_certificate_that_began_before_its_name_was_revoked_is_refused() -> None:
    old, new = ROOT.site("a"), ROOT.site("a", since=NOW)
    revoked = {"a": NOW - DAY / 2}
    for site in (old, new):
        Peer.verified("a", site.certificate, ROOT.root, at=NOW)
    Peer.verified("a", new.certificate, ROOT.root, at=NOW, revoked=revoked)
    Peer.verified("b", ROOT.site("b").certificate, ROOT.root, at=NOW, revoked=revoked)
    for time in (NOW - DAY, NOW):
        with pytest.raises(FederationError, match="was revoked"):
            Peer.verified("a", old.certificate, ROOT.root, at=NOW, revoked={"a": time})


def test_a_list_is_read_as_it_was_signed(tmp_path: Path) -> None:
    before = {"a": NOW, "b": NOW + DAY}
    found = Revocations.parse(listed(7, before), ROOT.root)
    assert (found.number, found.before) == (7, before)
    assert Revocations.load(tmp_path / "absent", ROOT.root).number == 0


@pytest.mark.parametrize(
    "forged",
    [
        listed(1, {"a": NOW}, Authority.fresh()),
        listed(1, {"a": NOW}, replace(ROOT, key=ROOT.site("a").key)),
        json.dumps({**json.loads(listed(1, {"a": NOW})), "number": 2}),
        json.dumps({**json.loads(listed(1, {"a": NOW})), "revoked": {}}),
        json.dumps({**json.loads(listed(1, {"a": NOW})), "revoked": {"b": NOW.isoformat()}}),
        json.dumps({**json.loads(listed(1, {"a": NOW})), "revoked": {"a": (NOW - DAY).isoformat()}}),
    ],
)
def test_a_forged_list_is_refused(tmp_path: Path, forged: str) -> None:
    with pytest.raises(FederationError, match="is not signed by this federation's root"):
        take_in(tmp_path / "list", forged, ROOT.root)
    assert not (tmp_path / "list").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"number": 1, "revoked": {"a": 3}, "signature": ""}',
        "x" * 200_000,
        "[" * 90_000,
        listed(0, {"a": NOW}),
        listed(1, {"a": NOW}).replace("+00:00", ""),
    ],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(FederationError, match="cannot be read"):
        Revocations.parse(text, ROOT.root)


def test_an_older_list_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    place = tmp_path / "list"
    older, newer = listed(1, {"a": NOW}), listed(2, {"a": NOW, "b": NOW})
    assert take_in(place, newer, ROOT.root)
    assert not take_in(place, older, ROOT.root)
    assert not take_in(place, listed(2, {"a": NOW + DAY, "b": NOW}), ROOT.root)
    assert set(Revocations.load(place, ROOT.root).before) == {"a", "b"}


@pytest.mark.parametrize("before", [{"b": NOW}, {"a": NOW - DAY, "b": NOW}])
def test_a_newer_list_takes_nothing_back(tmp_path: Path, before: Mapping[str, datetime]) -> None:
    place = tmp_path / "list"
    take_in(place, listed(1, {"a": NOW}), ROOT.root)
    with pytest.raises(FederationError, match="lacks what an earlier one has about site 'a'"):
        take_in(place, listed(2, before), ROOT.root)
    assert Revocations.load(place, ROOT.root).number == 1


def test_a_damaged_list_is_not_taken_for_none(tmp_path: Path) -> None:
    place = tmp_path / "list"
    place.write_text(listed(1, {"a": NOW})[:-9])
    with pytest.raises(FederationError, match="cannot be read"):
        Revocations.load(place, ROOT.root)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return Network.build(tmp_path_factory.mktemp("revoked"), {"a": 60, "b": 70, "c": 80, "d": 60})


def test_the_coordinator_takes_no_answer_under_a_revoked_certificate(network: Network) -> None:
    question, root = network.question("secure-sum"), network.authority.root
    revoked = {"b": datetime.now(UTC)}
    with pytest.raises(RunError, match="the certificate of site 'b' was revoked") as ended:
        validate(question, network.channel(), root=root, revoked=revoked)
    assert "Nothing was charged or released" in str(ended.value)
    outcome = network.run(question)
    with pytest.raises(RunError, match="the certificate of site 'b' was revoked"):
        replay(question, json.loads(json.dumps(outcome.transcript)), root=root, revoked=revoked)


@pytest.mark.few(1)
@pytest.mark.parametrize("fewest", [4, 3])
def test_a_site_that_knows_the_list_adds_nothing_to_a_sum_with_a_revoked_one(network: Network, fewest: int) -> None:
    """A coordinator who does not look at the list asks for a sum that needs all sites, and for one that does not."""
    honest = network.sites["a"]
    knowing = replace(honest.identity, revoked={"b": datetime.now(UTC)})
    site = Site.open(honest.folder.path, knowing, coordinator=honest.coordinator)
    question = network.question("private", epsilon="0.5", fewest=fewest, **({} if fewest == 4 else {"colluders": 1}))
    try:
        reports = network.run(question, replaced={"a": site.reply}).reports
    except RunError as ended:
        reports = ended.reports
        assert fewest == 4
    report = next(report for report in reports if report.name == "a")
    assert report.state is not SiteState.ANSWERED
    assert "the certificate of site 'b' was revoked" in report.message
