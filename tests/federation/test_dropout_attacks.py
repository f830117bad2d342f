"""A server that lies about who dropped out: it may restart, list whom it likes, and replay what it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from confide.federation.crypto.agreement import Agreement, Offer
from confide.federation.crypto.recovery import Sharer, Unmasking
from confide.federation.crypto.secure_sum import MaskedVector, pair_masks, self_masks
from confide.federation.crypto.shares import combined
from confide.federation.protocol import ANSWER, SHARES, UNMASK, VOTE
from confide.federation.question import Question
from confide.federation.site.answers import exact_table
from confide.federation.site.register import Register
from tests.federation.dropouts import SEVEN, Server, reopened
from tests.federation.network import Network

VICTIM = "east"
ALL = tuple(SEVEN)
OTHERS = tuple(name for name in ALL if name != VICTIM)
THRESHOLD = 5


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SEVEN)


@pytest.fixture
def question(network: Network) -> Question:
    return network.question("secure-sum", grid="uniform:200", colluders=1, fewest=5)


@pytest.fixture
def server(network: Network, question: Question) -> Server:
    """A session in which everybody has answered."""
    return Server(network, question, network.sites).begin().answer_all()


def agreement(server: Server, taking_part: Sequence[str] = ALL) -> Agreement:
    offers = tuple(Offer.from_dict(server.first[name]["offer"]) for name in sorted(server.first))
    whole = Agreement(session=server.session, question=server.question.digest(), offers=offers)
    return whole.recovered_by(THRESHOLD, taking_part)


def key_shares(shown: dict[str, dict[str, Any]], kind: str, of: str = VICTIM) -> dict[int, int]:
    """What the server holds of a site's secret, from all that sites showed."""
    return {
        ALL.index(name) + 1: int(reply["shares"][kind][of], 16)
        for name, reply in shown.items()
        if of in reply.get("shares", {}).get(kind, {})
    }


def stolen(server: Server, private: bytes, seed: bytes | None) -> Any:
    """The victim's table from its answer, with its key, and its seed if the server has it."""
    vector = MaskedVector.from_dict(server.answers[VICTIM]["masked"])
    words, agreed = vector.words()[0], agreement(server)
    key = X25519PrivateKey.from_private_bytes(private)
    for peer in OTHERS:
        shared = key.exchange(X25519PublicKey.from_public_bytes(agreed.offer_of(peer).public_key))
        masks = pair_masks(shared, agreed, VICTIM, peer, vector.cells, vector.wide)[0]
        words = words - masks if peer > VICTIM else words + masks
    if seed is not None:
        words = words - self_masks(seed, agreed, VICTIM, vector.cells, vector.wide)[0]
    return words.view(np.int64)


def table_of(network: Network, question: Question, *names: str) -> list[int]:
    words: list[int] = exact_table(question, network.pooled(*names)).to_words()[0].astype(np.int64).tolist()
    return words


class TestAServerThatSaysThatASiteDroppedOut:
    def test_its_answer_stays_hidden_by_its_self_mask(
        self, server: Server, network: Network, question: Question
    ) -> None:
        """All others agree that the victim dropped out, and show its key: the answer that came is noise."""
        votes = server.votes(OTHERS)
        shown = {site: server.unmask(site, OTHERS, votes) for site in OTHERS}
        held = key_shares(shown, "keys")
        assert len(held) == len(OTHERS)
        private = combined(dict(list(held.items())[:THRESHOLD]), 32)
        assert key_shares(shown, "seeds") == {}
        left = stolen(server, private, None)
        assert left.tolist() != table_of(network, question, VICTIM)
        assert np.abs(left).astype(float).mean() > 2.0**50
        assert "seeds" not in str(server.unmask(VICTIM, OTHERS, votes))

    def test_without_a_self_mask_it_would_read_the_table(
        self, network: Network, question: Question, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The attack on a twin whose masks are all shared: the lie gives the victim's exact table."""
        honest = Sharer.masks

        def bare(self: Sharer, boxes: Any) -> Any:
            agreed, masks = honest(self, boxes)
            masks._seed = b""
            return agreed, masks

        monkeypatch.setattr(Sharer, "masks", bare)
        server = Server(network, question, network.sites).begin().answer_all()
        votes = server.votes(OTHERS)
        held = key_shares({site: server.unmask(site, OTHERS, votes) for site in OTHERS}, "keys")
        private = combined(dict(list(held.items())[:THRESHOLD]), 32)
        assert stolen(server, private, None).tolist() == table_of(network, question, VICTIM)

    def test_it_cannot_have_both_secrets_whatever_it_tells_whom(
        self, server: Server, network: Network, question: Question
    ) -> None:
        """Four hear that the victim dropped out, the others that nobody did; one of all colludes."""
        told = OTHERS[:4]
        votes = server.votes(OTHERS, told)
        assert len(votes) == 4
        shown = {site: server.unmask(site, OTHERS, votes) for site in told}
        assert all(reply["state"] == "failed" for reply in shown.values()), "four votes are not enough"
        fast = {site: server.unmask(site, ALL) for site in (*OTHERS[4:], VICTIM)}
        assert all(reply["state"] == "answered" for reply in fast.values())
        assert len(key_shares(fast, "seeds")) + 1 < THRESHOLD
        assert {server.unmask(site, ALL)["state"] for site in told} == {"refused"}


class TestTwoLists:
    def test_a_site_votes_for_one_list_and_shows_one(self, server: Server) -> None:
        assert "vote" in server.vote("north", OTHERS)
        assert "vote" in server.vote("north", OTHERS)
        other = tuple(name for name in ALL if name != "west")
        for reply in (server.vote("north", other), server.unmask("north", ALL), server.vote("north", ALL)):
            assert reply["state"] == "refused"
            assert "answers it with no others" in reply["message"]
        votes = server.votes(OTHERS)
        assert server.unmask("north", OTHERS, votes)["state"] == "answered"
        assert server.unmask("north", ALL)["state"] == "refused"

    def test_no_second_list_gets_enough_votes_in_any_session(
        self, server: Server, network: Network, question: Question
    ) -> None:
        """After a restart of everything, all who voted insist on their list."""
        server.votes(OTHERS, OTHERS[:5])
        again = Server.restarted(network, question).begin()
        refused = {name for name, reply in again.shared.items() if reply["state"] == "refused"}
        assert refused == set(OTHERS[:5])
        assert all("with the sites" in again.shared[name]["message"] for name in refused)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("private", [False, True])
    def test_no_shorter_list_after_the_whole_one(self, network: Network, private: bool) -> None:
        """Everybody showed shares for all: the sum without the victim would leave the victim's table."""
        terms = {"epsilon": "1/4", "site_share": 0} if private else {"grid": "uniform:200"}
        question = network.question("private" if private else "secure-sum", colluders=1, fewest=5, **terms)
        server = Server(network, question, network.sites).begin().answer_all()
        assert all("shares" in server.unmask(name, ALL) for name in ALL)
        again = Server.restarted(network, question).begin(OTHERS)
        assert {reply["state"] for reply in again.shared.values()} == {"refused"}
        assert all("answers it with no others" in reply["message"] for reply in again.shared.values())

    def test_both_shares_of_one_site_are_never_shown(self, server: Server) -> None:
        votes = server.votes(OTHERS)
        first = server.unmask("north", OTHERS, votes)["shares"]
        assert set(first["seeds"]) == set(OTHERS)
        assert set(first["keys"]) == {VICTIM}
        second = server.unmask("north", ALL, votes)
        assert "shares" not in second

    def test_a_restarted_site_has_nothing_to_show(self, server: Server, network: Network) -> None:
        votes = server.votes(OTHERS)
        server.sites = {**server.sites, "north": reopened(network, "north")}
        reply = server.unmask("north", OTHERS, votes)
        assert (reply["state"], "shares" in reply) == ("failed", False)
        assert "no offer open" in reply["message"]

    def test_lists_are_long_enough_and_hold_the_site_itself(self, server: Server) -> None:
        short = server.vote("north", ("coast", "east", "hills", "north"))
        assert "4 sites are left, and the coordinator signed that a sum needs 5" in short["message"]
        assert "not among those that are left" in server.vote(VICTIM, OTHERS)["message"]


class TestProofs:
    def test_a_list_needs_a_proof_of_each_of_its_sites(self, server: Server) -> None:
        for proofs in (server.proofs(OTHERS[:5]), server.proofs(ALL), None, [7]):
            reply = server.ask("north", UNMASK, left=list(OTHERS), answered=proofs, votes=[])
            assert (reply["state"], "shares" in reply) == ("failed", False)

    def test_nobody_votes_for_a_list_without_its_proofs(self, server: Server, network: Network) -> None:
        for proofs in (server.proofs(OTHERS[:5]), server.proofs(ALL), []):
            reply = server.ask("north", VOTE, left=list(OTHERS), answered=proofs)
            assert (reply["state"], "vote" in reply) == ("failed", False)
            assert "the proofs are not those of the sites on the list" in reply["message"]
        assert Register(network.sites["north"].folder.path).settled(server.question) is None

    def test_a_site_that_answered_under_other_masks_is_on_no_list(self, network: Network, question: Question) -> None:
        """The server shows one site fewer peers, whose keys it then has: its answer alone would be left."""
        server = Server(network, question, network.sites).begin()
        few = ("coast", VICTIM, "hills", "north", "south")
        for site in OTHERS:
            server.answer(site)
        assert server.answer(VICTIM, few)["state"] == "answered"
        left = (VICTIM, "north", "south", "valley", "west")
        assert "proof of the answer of site 'east' is not signed" in server.vote("north", left)["message"]
        assert "0 sites voted" in server.unmask("north", OTHERS)["message"]
        assert "is not signed" in server.vote("north", left)["message"], "the proof of one list is none of another"

    def test_what_was_signed_in_one_session_is_nothing_in_another(
        self, server: Server, network: Network, question: Question
    ) -> None:
        proofs, votes = server.proofs(OTHERS), server.votes(OTHERS, ("coast",))
        boxes = server.boxes
        again = Server.restarted(network, question).begin(OTHERS)
        old = {name: boxes[name]["north"] for name in OTHERS if name != "north"}
        assert "cannot be opened" in again.ask("north", ANSWER, boxes=old)["message"]
        again = Server.restarted(network, question).begin(OTHERS).answer_all()
        reply = again.ask("north", UNMASK, left=list(OTHERS), answered=proofs, votes=votes)
        assert "not signed" in reply["message"]
        five = OTHERS[:5]
        replayed = again.ask("north", UNMASK, left=list(five), answered=again.proofs(five), votes=votes * 5)
        assert replayed["state"] in ("failed", "refused")
        assert "shares" not in replayed

    def test_one_vote_counts_once_and_strangers_do_not_vote(self, server: Server) -> None:
        one = server.votes(OTHERS, ("coast",))
        reply = server.unmask("north", OTHERS, one * 6)
        assert "1 sites voted for the list of those that are left; 5 must" in reply["message"]
        named = [{**one[0], "site": name} for name in OTHERS]
        assert "not signed" in server.unmask("north", OTHERS, named)["message"]

    def test_steps_come_in_their_order_and_once(self, network: Network, question: Question) -> None:
        server = Server(network, question, network.sites).begin()
        assert "no offer open" in server.ask("north", UNMASK, left=list(ALL), answered=[])["message"]
        sealing = [server.first[name]["sealing"] for name in ALL]
        offers = [server.first[name]["offer"] for name in ALL]
        again = server.ask("north", SHARES, sealing=sealing, offers=offers)
        assert "has sealed its shares in this run" in again["message"]
        few = server.ask(
            "north", ANSWER, boxes={name: server.boxes[name]["north"] for name in ("coast", "east", "west")}
        )
        assert "4 sites are left" in few["message"]

    def test_a_server_cannot_put_its_own_sealing_key_in(self, network: Network, question: Question) -> None:
        server = Server(network, question, network.sites).begin()
        again = Server.restarted(network, question)
        again.begin()
        mixed = [again.first[name]["sealing"] for name in ALL]
        mixed[0] = server.first["coast"]["sealing"]
        third = Server(network, question, {name: reopened(network, name) for name in ALL}, session=again.session)
        first = {name: third.ask(name, "confide_offer", question=question.to_dict()) for name in ALL}
        sealing = [first[name]["sealing"] for name in ALL]
        sealing[0] = mixed[0]
        offers = [first[name]["offer"] for name in ALL]
        reply = third.ask("north", SHARES, sealing=sealing, offers=offers)
        assert "sealing key of site 'coast' is not signed" in reply["message"]


def test_the_sum_is_read_from_any_so_many_sites(server: Server, network: Network, question: Question) -> None:
    votes = server.votes(OTHERS)
    shown = {site: server.unmask(site, OTHERS, votes) for site in OTHERS}
    vectors = [MaskedVector.from_dict(server.answers[name]["masked"]) for name in OTHERS]
    for helpers in (OTHERS[:5], OTHERS[1:]):
        unmasking = Unmasking(agreement=agreement(server), holders=ALL, left=OTHERS, threshold=THRESHOLD)
        for site in helpers:
            unmasking.add(site, shown[site]["shares"])
        assert unmasking.total(vectors)[0].tolist() == table_of(network, question, *OTHERS)
