"""A site's own rules in sums that survive dropouts: colluders that masks must hold against, and pinned keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from confide.federation.crypto.identity import SiteKey, fingerprint
from confide.federation.protocol import OFFER
from tests.federation.dropouts import Server
from tests.federation.network import Network

FOUR = {"east": 90, "north": 60, "south": 75, "west": 120}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, FOUR)


def test_masks_must_hold_against_as_many_colluders_as_the_policy_says(network: Network) -> None:
    """Without dropouts the masks of an exact sum hold against any number; with them, against those that were signed."""
    north = network.sites["north"]
    north.policy = replace(north.policy, least_colluders=1)
    terms = {"fewest": 3, "grid": "uniform:200"}
    for colluders, threshold in ((0, None), (None, 3)):
        question = network.question("secure-sum", colluders=colluders, threshold=threshold, **terms)
        assert question.threshold == 3
        reply = Server(network, question, network.sites).ask("north", OFFER, question=question.to_dict())
        assert (reply["state"], "least_colluders" in reply["message"]) == ("refused", True)
    question = network.question("secure-sum", colluders=1, **terms)
    assert Server(network, question, network.sites).begin().shared["north"]["state"] == "answered"


def test_shares_are_sealed_to_the_holders_of_pinned_keys_alone(network: Network) -> None:
    question = network.question("secure-sum", colluders=1, fewest=3, grid="uniform:200")
    north = network.sites["north"]
    pins = {name: fingerprint(site.identity.own.public) for name, site in network.sites.items()}
    north.policy = replace(north.policy, peers=pins)
    assert "boxes" in Server(network, question, network.sites).begin().shared["north"]
    posing = network.sites["east"]
    posing.identity = replace(posing.identity, own=SiteKey.fresh())
    said = Server(network, question, network.sites).begin().shared
    assert (said["north"]["state"], "boxes" in said["north"]) == ("failed", False)
    assert "does not have the fingerprint pinned here" in said["north"]["message"]
    assert "boxes" in said["south"]
