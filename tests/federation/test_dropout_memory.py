"""What a sum that survives dropouts owes to the memory of others: a site that was set up anew has lost its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.identity import SiteKey
from confide.federation.crypto.recovery import Unmasking
from confide.federation.crypto.secure_sum import MaskedVector
from confide.federation.question import Question
from confide.federation.site.answers import exact_table
from tests.federation.dropouts import Server, reopened
from tests.federation.network import Network
from tests.federation.site_books import forget

FOUR = {"east": 90, "north": 60, "south": 75, "west": 120}
ALL = tuple(FOUR)
FORGETFUL, COLLUDER, TARGET = "north", "west", "east"


def set_up_anew(network: Network, name: str) -> None:
    """Take a site's records and own key away, as a lost disk does."""
    site = network.sites[name]
    forget(site)
    network.sites[name] = reopened(network, name)  # type: ignore[index]
    network.sites[name].identity = replace(site.identity, own=SiteKey.fresh())


def read_sum(server: Server, question: Question, left: tuple[str, ...], helpers: tuple[str, ...]) -> list[int]:
    """What a server reads that asks no more sites for help than it needs."""
    offers = tuple(Offer.from_dict(server.first[name]["offer"]) for name in sorted(server.first))
    whole = Agreement(session=server.session, question=question.digest(), offers=offers)
    threshold = question.threshold or 0
    unmasking = Unmasking(
        agreement=whole.recovered_by(threshold, tuple(server.boxes)),
        holders=whole.sites,
        left=left,
        threshold=threshold,
    )
    for site in helpers:
        unmasking.add(site, server.unmask(site, left)["shares"])
    total: list[int] = unmasking.total([MaskedVector.from_dict(server.answers[name]["masked"]) for name in left])[
        0
    ].tolist()
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["secure-sum", "private"])
def test_a_site_that_was_set_up_anew_opens_no_second_list(tmp_path: Path, mode: str) -> None:
    """Three of four wrote the first list down; the fourth answered, and one of the three is set up anew."""
    network = Network.build(tmp_path, FOUR)
    terms = {"grid": "uniform:200"} if mode == "secure-sum" else {"epsilon": "1/4", "site_share": 0}
    question = network.question(mode, colluders=1, fewest=3, **terms)
    assert (question.threshold, question.left) == (3, 3)
    first = Server(network, question, network.sites).begin().answer_all()
    whole = read_sum(first, question, ALL, (FORGETFUL, COLLUDER, TARGET))

    set_up_anew(network, FORGETFUL)
    lost = network.sites[COLLUDER]
    forget(lost)  # whoever colludes forgets at will
    others = tuple(name for name in ALL if name != TARGET)
    second = Server.restarted(network, question).begin(others)
    said = [reply for reply in second.shared.values() if reply["state"] == "refused"]
    if not said:
        second.answer_all()
        shorter = read_sum(second, question, others, others)
        if mode == "secure-sum":
            alone = exact_table(question, network.pooled(TARGET)).to_words()[0].astype(np.int64).tolist()
            assert [a - b for a, b in zip(whole, shorter, strict=True)] != alone, "the target's own table"
        pytest.fail("two sums over different lists were read")
    assert any("set up anew" in reply["message"] for reply in said)
