"""A site's secrets of a recoverable sum: how many shares give them, that they are fresh, and that they serve once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from confide.errors import FederationError
from confide.federation.crypto.agreement import Agreement
from confide.federation.crypto.recovery import Answered, Sharer, Unmasking, Vote, check_answered, check_votes
from confide.federation.crypto.secure_sum import Masks, self_masks
from confide.federation.crypto.shares import combined
from tests.federation.rounds import SITES, Round, agreed

FIVE = tuple(sorted(SITES))[:5]
LEFT, GONE = FIVE[:4], FIVE[4]
THRESHOLD = 4


@dataclass
class Run:
    """Five sites that have sealed their shares and opened those of the others."""

    agreement: Agreement
    sharers: dict[str, Sharer]
    masks: dict[str, Masks]
    taking_part: Agreement
    round: Round

    @classmethod
    def begun(cls) -> Run:
        offered = Round.of(FIVE)
        agreement = agreed(offered.offers.values())
        sealing = {name: X25519PrivateKey.generate() for name in FIVE}
        keys = {name: key.public_key().public_bytes_raw() for name, key in sealing.items()}
        sharers = {
            name: Sharer(agreement, offered.keys[name], sealing[name], keys, SITES[name], threshold=THRESHOLD)
            for name in FIVE
        }
        boxes = {name: sharer.boxes() for name, sharer in sharers.items()}
        opened = {
            name: sharer.masks({peer: sent[name] for peer, sent in boxes.items() if peer != name})
            for name, sharer in sharers.items()
        }
        masks = {name: mask for name, (_, mask) in opened.items()}
        return cls(agreement, sharers, masks, opened[FIVE[0]][0], offered)

    def shares(self, kind: str, of: str, left: Collection[str]) -> dict[int, int]:
        """All shares of one secret, as sites show them for a list."""
        shown = {name: self.sharers[name].shown(left)[kind] for name in FIVE}
        return {FIVE.index(name) + 1: int(one[of], 16) for name, one in shown.items() if of in one}


def too_few_say_nothing(shares: dict[int, int], secret: bytes) -> bool:
    """No set of shares below the threshold gives the secret."""
    for size in range(1, THRESHOLD):
        for points in combinations(shares, size):
            try:
                if combined({point: shares[point] for point in points}, 32) == secret:
                    return False
            except FederationError:
                continue
    return True


def test_the_key_takes_as_many_shares_as_the_threshold_and_no_fewer() -> None:
    run = Run.begun()
    held = run.shares("keys", GONE, LEFT)
    assert len(held) == len(FIVE)
    for points in combinations(held, THRESHOLD):
        private = combined({point: held[point] for point in points}, 32)
        public = X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        assert public == run.round.offers[GONE].public_key
    assert too_few_say_nothing(held, private)


def test_the_seed_takes_as_many_is_fresh_and_is_the_one_of_the_self_mask() -> None:
    run = Run.begun()
    seeds = {}
    for site in FIVE:
        held = run.shares("seeds", site, FIVE)
        seeds[site] = combined(dict(list(held.items())[:THRESHOLD]), 32)
        assert too_few_say_nothing(held, seeds[site])
    again = Run.begun().shares("seeds", FIVE[0], FIVE)
    known = {*seeds.values(), combined(dict(list(again.items())[1:]), 32), bytes(32)}
    assert len(known) == len(FIVE) + 2
    answers = {name: run.masks[name].mask(np.zeros(3, dtype=np.int64)) for name in FIVE}
    total = sum(vector.words()[0] for vector in answers.values())
    masks = sum(self_masks(seeds[name], run.taking_part, name, 3, 1)[0] for name in FIVE)
    assert np.array_equal(total, masks)


def test_shares_are_shown_for_one_list_and_masks_are_made_once() -> None:
    run = Run.begun()
    first = run.sharers[FIVE[0]].shown(LEFT)
    assert run.sharers[FIVE[0]].shown(LEFT[::-1]) == first
    assert (set(first["seeds"]), set(first["keys"])) == (set(LEFT), {GONE})
    with pytest.raises(FederationError, match="for another list"):
        run.sharers[FIVE[0]].shown(FIVE)
    with pytest.raises(FederationError, match="have been used"):
        run.sharers[FIVE[1]].masks({})


def test_votes_are_of_the_list_for_the_list_and_for_the_run() -> None:
    run, other = Run.begun(), Run.begun()
    votes = [Vote.signed(SITES[name], run.taking_part, LEFT) for name in LEFT]
    check_votes(votes, LEFT, run.taking_part, THRESHOLD)
    stranger = Vote.signed(SITES[GONE], run.taking_part, LEFT)
    with pytest.raises(FederationError, match="3 sites voted"):
        check_votes([*votes[:3], stranger], LEFT, run.taking_part, THRESHOLD)
    for left, agreement in ((FIVE, run.taking_part), (LEFT, other.taking_part)):
        with pytest.raises(FederationError, match="the vote"):
            check_votes(votes, left, agreement, THRESHOLD)


def test_masks_depend_on_the_threshold_and_on_everybody_who_got_shares() -> None:
    run = Run.begun()
    fewer = replace(run.agreement, offers=run.agreement.offers[:4])
    digests = {
        run.agreement.digest(),
        run.agreement.recovered_by(4, LEFT).digest(),
        run.agreement.recovered_by(5, LEFT).digest(),
        fewer.recovered_by(4, LEFT).digest(),
        fewer.digest(),
    }
    assert len(digests) == 5


def test_wrong_shares_of_one_helper_release_nothing() -> None:
    run = Run.begun()
    answers = [run.masks[name].mask(np.arange(3)) for name in FIVE]
    check_answered([Answered.of(vector) for vector in answers], FIVE, run.taking_part)
    good = {name: run.sharers[name].shown(LEFT) for name in LEFT}
    for kind in ("seeds", "keys"):
        unmasking = Unmasking(agreement=run.taking_part, holders=FIVE, left=LEFT, threshold=THRESHOLD)
        for name, shown in good.items():
            of = GONE if kind == "keys" else LEFT[0]
            wrong = {**shown, kind: {**shown[kind], of: "1"}}
            unmasking.add(name, wrong if name == LEFT[1] else shown)
        with pytest.raises(FederationError, match="do not belong together"):
            unmasking.total([vector for vector in answers if vector.site in LEFT])
    honest = Unmasking(agreement=run.taking_part, holders=FIVE, left=LEFT, threshold=THRESHOLD)
    for name, shown in good.items():
        honest.add(name, shown)
    assert honest.total([vector for vector in answers if vector.site in LEFT])[0].tolist() == [0, 4, 8]


def test_boxes_of_strangers_and_of_the_site_itself_are_refused() -> None:
    offered = Round.of(FIVE)
    agreement = agreed(offered.offers.values())
    sealing = {name: X25519PrivateKey.generate() for name in FIVE}
    keys = {name: key.public_key().public_bytes_raw() for name, key in sealing.items()}
    sharers = {
        name: Sharer(agreement, offered.keys[name], sealing[name], keys, SITES[name], threshold=THRESHOLD)
        for name in FIVE
    }
    me, peer = FIVE[0], FIVE[1]
    box = sharers[peer].boxes()[me]
    for boxes in ({peer: box, "stranger": box}, {peer: box, me: box}):
        with pytest.raises(FederationError, match="not on the list"):
            sharers[me].masks(boxes)
