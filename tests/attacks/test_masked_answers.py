"""A coordinator cannot read a site's counts from masked answers, whatever it sends and whoever helps it.

Keys are derived from numbers where a test looks at how masked values are distributed, so that it answers the same each
time; elsewhere they are fresh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from confide.errors import FederationError
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.identity import Identity, SiteKey
from confide.federation.crypto.secure_sum import MaskedVector, Masks, pair_masks, unmasked_sum
from tests.examples import examples
from tests.federation.certificates import DAY, NOW, Authority, fresh_key, issued
from tests.federation.rounds import (
    NAMES,
    QUESTION,
    ROOT,
    SESSION,
    SITES,
    Round,
    UInt64Array,
    agreed,
    derived_keys,
    offered,
    tables,
)


def looks_random(words: UInt64Array) -> bool:
    """Whether the bytes at each of the eight places could be uniform: chi-square, false alarms 1 in 10^6 in all."""
    bytes_ = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    counts = np.stack([np.bincount(place, minlength=256) for place in bytes_.T])
    expected = bytes_.shape[0] / 256
    statistics = ((counts - expected) ** 2 / expected).sum(axis=1)
    p = chi2.sf(statistics, 255)
    return bool(p.min() > 1e-6 / 16 and chi2.cdf(statistics, 255).min() > 1e-6 / 16)


def sums_of(vectors: Sequence[MaskedVector]) -> UInt64Array:
    total: UInt64Array = np.add.reduce([vector.words()[0] for vector in vectors])
    return total


def test_whatever_lacks_an_answer_looks_random() -> None:
    """Each answer, and each sum of some of them; the sum of all is small, and a mask of 32 bits is noticed."""
    values = tables(NAMES, 2**14)
    answers = Round.of(NAMES, derived_keys).answers(values)
    for size in (1, 2, 3):
        assert all(looks_random(sums_of(some)) for some in combinations(answers, size))
    assert sums_of(answers).max() < 20
    short = answers[0].words()[0] % 2**32 + values["east"].astype(np.uint64)
    assert not looks_random(short)
    assert not looks_random(values["east"].astype(np.uint64))


def shared_masks(names: Sequence[str], agreement: Agreement, cells: int, wide: int) -> dict[tuple[str, str], Any]:
    """The masks of every two sites whose keys were derived, from one side."""
    found = {}
    for one, other in combinations(sorted(names), 2):
        public = X25519PublicKey.from_public_bytes(derived_keys(other).public)
        secret = derived_keys(one).spend().exchange(public)
        found[one, other] = pair_masks(secret, agreement, one, other, cells, wide)[0]
    return found


def view_of(values: Mapping[str, Any], masks: Mapping[tuple[str, str], Any]) -> dict[str, list[int]]:
    """What each site sends, by the definition."""
    view = {name: np.asarray(values[name]).astype(np.uint64) for name in values}
    for (one, other), mask in masks.items():
        view[one], view[other] = view[one] + mask, view[other] - mask
    return {name: words.tolist() for name, words in view.items()}


@given(seed=st.integers(0, 2**32 - 1))
@examples(20)
def test_every_other_assignment_with_the_same_sum_explains_the_view_as_well(seed: int) -> None:
    """For other counts with the same sum there are masks under which the coordinator sees the very same.

    They differ from the true ones along a chain of sites only, by a number that does not depend on the masks: so as
    many masks lead from either assignment to any view, and with uniform masks both give it the same probability.
    """
    cells, generator = 16, np.random.default_rng(seed)
    truth = tables(NAMES, cells, seed)
    other = dict(zip(NAMES, generator.permutation(np.stack([truth[name] for name in NAMES])), strict=True))
    moved = generator.integers(0, 50, cells)
    other = {**other, "east": other["east"] + moved, "west": other["west"] - moved}
    round_ = Round.of(NAMES, derived_keys)
    masks = shared_masks(NAMES, agreed(round_.offers.values()), cells, 1)
    seen = {vector.site: vector.words()[0].tolist() for vector in round_.answers(truth)}
    assert seen == view_of(truth, masks)

    carried = np.zeros(cells, dtype=np.uint64)
    for one, following in pairwise(NAMES):
        carried = carried + truth[one].astype(np.uint64) - other[one].astype(np.uint64)
        masks[one, following] = masks[one, following] + carried
    assert view_of(other, masks) == seen

    changed = {**other, "west": other["west"] + 1}
    assert view_of(changed, masks) != seen


def test_two_colluders_of_four_learn_the_sum_of_the_others_and_two_of_three_learn_all() -> None:
    values = tables(NAMES, 2**14)
    round_ = Round.of(NAMES, derived_keys)
    masks = shared_masks(NAMES, agreed(round_.offers.values()), 2**14, 1)
    seen = {vector.site: vector.words()[0] for vector in round_.answers(values)}
    east = seen["east"] - masks["east", "south"] - masks["east", "west"]
    north = seen["north"] - masks["north", "south"] - masks["north", "west"]
    assert looks_random(east)
    assert looks_random(north)
    assert np.array_equal(east + north, values["east"] + values["north"])

    three = NAMES[:3]
    round_ = Round.of(three, derived_keys)
    masks = shared_masks(three, agreed(round_.offers.values()), 2**14, 1)
    seen = {vector.site: vector.words()[0] for vector in round_.answers(values)}
    assert np.array_equal(seen["east"] - masks["east", "north"] - masks["east", "south"], values["east"])


def listed(round_: Round, **changed: Offer | None) -> list[Offer]:
    """The offers with some replaced, or taken off."""
    offers = {**round_.offers, **changed}
    return [offer for offer in offers.values() if offer is not None]


def own_key(offer: Offer, keys: KeyPair) -> Offer:
    """The coordinator's key in a site's offer."""
    return replace(offer, public_key=keys.public)


def forged(name: str, certificate: str, key: Any, keys: KeyPair) -> Offer:
    """An offer of a site that the coordinator made up."""
    return offered(Identity(name=name, certificate=certificate, root=ROOT.root, key=key, own=SiteKey.fresh()), keys)


def test_a_coordinator_in_the_middle_reads_everything_if_signatures_are_not_checked() -> None:
    """The attack on a twin that skips `Agreement.verified`, and that the same list is refused."""
    round_, values = Round.of(NAMES), tables(NAMES, 100)
    false = {name: KeyPair.fresh() for name in NAMES if name != "east"}
    offers = listed(round_, **{name: own_key(round_.offers[name], keys) for name, keys in false.items()})

    with pytest.raises(FederationError, match="the offer of site 'north' is not signed by it"):
        round_.masks("east", offers)

    unchecked = Agreement(session=SESSION, question=QUESTION, offers=tuple(offers))
    seen = Masks(unchecked, round_.keys["east"], SITES["east"]).mask(values["east"]).words()[0]
    for name, keys in false.items():
        secret = keys.spend().exchange(X25519PublicKey.from_public_bytes(round_.offers["east"].public_key))
        seen = seen - pair_masks(secret, unchecked, "east", name, 100, 1)[0]
    assert np.array_equal(seen, values["east"])


def cheats() -> dict[str, tuple[Callable[[Round], list[Offer]], str]]:
    """What a coordinator could put on the list that it sends to `east`, and what the site says to it."""
    other, key, keys = Authority.fresh(), fresh_key(), KeyPair.fresh()
    itself = issued("north", key, "north", key)
    expired = ROOT.site("north", until=NOW - DAY / 2)
    elsewhere = Authority(ROOT.name, other.key, other.root).site("north")
    user = ROOT.site("alps", role="project_admin")
    return {
        "its own key": (lambda r: listed(r, north=own_key(r.offers["north"], keys)), "'north' is not signed by it"),
        "names swapped": (
            lambda r: listed(
                r, north=replace(r.offers["north"], site="south"), south=replace(r.offers["south"], site="north")
            ),
            "is in another name",
        ),
        "an offer under another's name and certificate": (
            lambda r: listed(r, north=replace(r.offers["south"], site="north", certificate=SITES["north"].certificate)),
            "two sites offer the same key",
        ),
        "an offer of an earlier session": (
            lambda r: listed(r, north=offered(SITES["north"], keys, session="ab" * 16)),
            "'north' was made for another run",
        ),
        "an offer of an earlier session, renamed": (
            lambda r: listed(r, north=replace(offered(SITES["north"], keys, session="ab" * 16), session=SESSION)),
            "'north' is not signed by it",
        ),
        "an offer for another question": (
            lambda r: listed(r, north=offered(SITES["north"], keys, question="cd" * 32)),
            "'north' was made for another run or another question",
        ),
        "a site twice": (lambda r: [*r.offers.values(), r.offers["north"]], "on the list twice"),
        "without the site itself": (lambda r: listed(r, east=None), r"this site \(east\) is not on the list"),
        "an earlier offer of the site itself": (
            lambda r: listed(r, east=offered(SITES["east"], keys)),
            r"this site \(east\) is not on the list as it was made",
        ),
        "the site itself with another own key": (
            lambda r: listed(r, east=offered(copied("east"), r.keys["east"])),
            r"this site \(east\) is not on the list as it was made",
        ),
        "two sites": (lambda r: listed(r, south=None, west=None), "at least 3 sites"),
        "nobody": (lambda r: [], "at least 3 sites"),
        "a site that was not asked": (
            lambda r: listed(r, moon=offered(ROOT.site("moon"), keys)),
            "'moon' .* not asked",
        ),
        "another root's site": (lambda r: listed(r, north=offered(elsewhere, keys)), "'north' was not issued by"),
        "a self-signed site": (lambda r: listed(r, north=forged("north", itself, key, keys)), "'north' was not issued"),
        "a site's certificate under another name": (
            lambda r: listed(r, north=forged("north", SITES["alps"].certificate, SITES["alps"].key, keys)),
            "'north' is in another name",
        ),
        "another's certificate without its key": (
            lambda r: listed(r, north=forged("north", SITES["north"].certificate, key, keys)),
            "'north' is not signed by it",
        ),
        "an expired site": (lambda r: listed(r, north=offered(expired, keys)), "'north' has expired"),
        "a user as a site": (lambda r: listed(r, alps=offered(user, keys)), "'alps' is a user's"),
    }


@pytest.mark.parametrize("cheat", cheats())
def test_a_site_refuses_what_the_coordinator_made_up(cheat: str) -> None:
    made, message = cheats()[cheat]
    round_ = Round.of(NAMES)
    with pytest.raises(FederationError, match=message):
        round_.masks("east", made(round_))
    round_.masks("east").mask(np.array([1]))  # the honest list would have been accepted


def test_a_site_refuses_another_question_than_it_was_asked() -> None:
    round_ = Round.of(NAMES)
    with pytest.raises(FederationError, match="another question"):
        round_.masks("east", question=sha256(b"another").hexdigest())


def minted(name: str) -> Identity:
    """What whoever holds the root's key makes in a site's name."""
    return ROOT.site(name)


def copied(name: str) -> Identity:
    """What whoever kept a copy of a site's kit has of it: all but the own key, which the site made itself."""
    return replace(SITES[name], own=SiteKey.fresh())


@pytest.mark.parametrize("made", [minted, copied])
def test_a_coordinator_that_poses_as_all_peers_is_kept_out_by_pins_alone(made: Callable[[str], Identity]) -> None:
    """It made the certificates and the kits. Without pins it reads everything; with pins the site sends nothing."""
    round_, values = Round.of(NAMES), tables(NAMES, 100)
    posed = {name: (KeyPair.fresh(), made(name)) for name in NAMES if name != "east"}
    offers = listed(round_, **{name: offered(site, keys) for name, (keys, site) in posed.items()})
    pinned = {name: SITES[name].fingerprint() for name in NAMES}

    with pytest.raises(FederationError, match=r"'north' does not have the fingerprint pinned here.* by telephone"):
        round_.masks("east", offers, pinned=pinned)
    for name in posed:
        with pytest.raises(FederationError, match=f"{name!r} does not have the fingerprint pinned here"):
            round_.masks("east", listed(round_, **{name: offered(posed[name][1], posed[name][0])}), pinned=pinned)
    with pytest.raises(FederationError, match="no fingerprint is pinned here for site 'west'"):
        round_.masks("east", pinned={name: pinned[name] for name in NAMES[:3]})

    agreement = agreed(offers)
    seen = Masks(agreement, round_.keys["east"], SITES["east"]).mask(values["east"]).words()[0]
    for name, (keys, _) in posed.items():
        secret = keys.spend().exchange(X25519PublicKey.from_public_bytes(round_.offers["east"].public_key))
        seen = seen - pair_masks(secret, agreement, "east", name, 100, 1)[0]
    assert np.array_equal(seen, values["east"])
    Round.of(NAMES).masks("east", pinned=pinned)


def test_different_lists_at_different_sites_give_nonsense() -> None:
    """Every honest site takes its list, none of the possible sums is less than random, and the coordinator is told."""
    names = (*NAMES, "alps")
    round_, values = Round.of(names, derived_keys), tables(names, 2**14)
    lists = {"east": names, "north": names, "alps": names, "south": names[1:], "west": names[:4]}
    answers = [round_.masks(name, [round_.offers[one] for one in lists[name]]).mask(values[name]) for name in names]
    for size in range(1, 6):
        assert all(looks_random(sums_of(some)) for some in combinations(answers, size))
    with pytest.raises(FederationError, match="answered for another list of sites"):
        unmasked_sum(answers, agreed(round_.offers.values()))


def test_a_site_taken_off_everybodys_list_is_out_of_the_sum_and_shows_nothing() -> None:
    round_, values = Round.of(NAMES, derived_keys), tables(NAMES, 2**14)
    three = [round_.offers[name] for name in NAMES[:3]]
    answers = [round_.masks(name, three).mask(values[name]) for name in NAMES[:3]]
    left = round_.masks("west").mask(values["west"])
    total, _ = unmasked_sum(answers, agreed(three))
    assert np.array_equal(total, sum(values[name] for name in NAMES[:3]))
    assert all(looks_random(sums_of([left, *some])) for size in range(4) for some in combinations(answers, size))


def test_an_earlier_offer_in_a_session_of_the_same_name_gives_nonsense() -> None:
    """A coordinator that uses a session's name again can replay offers; their private keys are gone."""
    earlier, round_ = Round.of(NAMES, lambda name: derived_keys(name + "1")), Round.of(NAMES, derived_keys)
    offers = listed(round_, north=earlier.offers["north"])
    values = tables(NAMES, 2**14)
    answers = [round_.masks(name, offers).mask(values[name]) for name in ("east", "south", "west")]
    with pytest.raises(FederationError, match="is not on the list as it was made"):
        round_.masks("north", offers)
    assert all(looks_random(sums_of(some)) for size in (1, 2, 3) for some in combinations(answers, size))


class FalseKeys(KeyPair):
    """Keys of which the public half is what a dishonest site likes."""

    def __init__(self, public: bytes) -> None:
        super().__init__(X25519PrivateKey.generate())
        self.public = public


LOW_ORDER = (
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)


@pytest.mark.parametrize("key", LOW_ORDER)
def test_keys_of_low_order_are_refused(key: str) -> None:
    """With these the shared secret is 0, whatever the site's own key is."""
    round_ = Round.of(NAMES)
    offers = listed(round_, north=offered(SITES["north"], FalseKeys(bytes.fromhex(key))))
    with pytest.raises(FederationError, match="'north' offers a key that gives secrets away"):
        round_.masks("east", offers)
