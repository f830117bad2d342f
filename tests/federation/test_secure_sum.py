"""Masks cancel in the sum over all sites, are used once and derived as written down; other answers make no sum."""

from __future__ import annotations

import copy
import json
import pickle
import time
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FederationError, ParameterError
from confide.federation.crypto.agreement import Agreement, KeyPair
from confide.federation.crypto.secure_sum import MaskedVector, pair_masks, unmasked_sum
from tests.examples import examples
from tests.federation.rounds import (
    NAMES,
    SITES,
    Round,
    agreed,
    derived_keys,
    tables,
)


@given(
    sites=st.integers(3, 8),
    cells=st.integers(1, 40),
    width=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)
@examples(40)
def test_the_masked_sum_is_the_plain_sum(sites: int, cells: int, width: int, seed: int) -> None:
    names = tuple(SITES)[:sites]
    generator = np.random.default_rng(seed)
    counts = {name: generator.integers(-(2**58), 2**58, cells) for name in names}
    wide = {name: [int(n) * 2**62 for n in generator.integers(-(2**58), 2**58, width)] for name in names}
    round_ = Round.of(names)

    answers = [MaskedVector.from_dict(json.loads(json.dumps(v.to_dict()))) for v in round_.answers(counts, wide)]
    total, wides = unmasked_sum(answers[::-1], agreed(round_.offers.values()))

    assert total.tolist() == [sum(int(counts[name][cell]) for name in names) for cell in range(cells)]
    assert wides == tuple(sum(wide[name][at] for name in names) for at in range(width))
    assert total.dtype == np.int64
    assert not total.flags.writeable


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int32, np.int64])
def test_every_kind_of_whole_number(kind: type[np.integer[Any]]) -> None:
    counts = {name: np.array([0, 7, 100], dtype=kind) for name in NAMES}
    round_ = Round.of(NAMES)
    assert unmasked_sum(round_.answers(counts), agreed(round_.offers.values()))[0].tolist() == [0, 28, 400]


def test_limits_hold_for_the_sum_of_all() -> None:
    most, widest = 2**62 // 4 - 1, 2**126 // 4 - 1
    round_ = Round.of(NAMES)
    answers = round_.answers({name: [most, -most] for name in NAMES}, {name: [widest, -widest] for name in NAMES})
    total, wide = unmasked_sum(answers, agreed(round_.offers.values()))
    assert (total.tolist(), wide) == ([4 * most, -4 * most], (4 * widest, -4 * widest))
    masks = Round.of(NAMES).masks("east")
    for counts in ([most + 1], [-most - 1], [0.5], [True], [[1]], [], ["1"]):
        with pytest.raises(ParameterError, match="counts must be"):
            masks.mask(np.array(counts))
    for value in (widest + 1, -widest - 1, 0.5, True):
        with pytest.raises(ParameterError, match="wide values must be"):
            masks.mask(np.array([1]), [value])  # type: ignore[list-item]
    masks.mask(np.array([1]))


def test_large_tables_are_masked_at_once() -> None:
    names = tuple(SITES)[:5]
    round_, values = Round.of(names), tables(names, 131_072)
    start = time.process_time()  # whatever else the machine does
    round_.masks("east").mask(values["east"])
    assert time.process_time() - start < 1.0


class WornKeys(KeyPair):
    """A twin that gives its private key away again and again."""

    def spend(self) -> X25519PrivateKey:
        return self._private[0]


def test_keys_used_twice_would_show_what_changed() -> None:
    """The attack on a twin: the difference of two answers is that of the counts. Ours refuse in three places."""
    round_, first, second = (
        Round.of(NAMES, lambda _: WornKeys(X25519PrivateKey.generate())),
        *(tables(NAMES, 100, seed)["east"] for seed in (1, 2)),
    )
    seen = [round_.masks("east").mask(counts).words()[0] for counts in (first, second)]
    assert np.array_equal((seen[1] - seen[0]).view(np.int64), second - first)

    round_ = Round.of(NAMES)
    masks = round_.masks("east")
    masks.mask(first)
    with pytest.raises(FederationError, match="these masks have been used"):
        masks.mask(second)
    with pytest.raises(FederationError, match="these masks have been used"):
        copy.copy(masks).mask(second)
    with pytest.raises(FederationError, match="these keys have masked an answer before"):
        round_.masks("east")
    with pytest.raises(FederationError, match="these keys have masked an answer before"):
        copy.copy(round_.keys["east"]).spend()


def test_keys_are_not_written_or_shown() -> None:
    keys = KeyPair.fresh()
    with pytest.raises(TypeError):
        pickle.dumps(keys)
    assert "X25519PrivateKey" not in repr(keys)
    assert keys.public != KeyPair.fresh().public


def test_everything_agreed_changes_the_masks() -> None:
    """Session, question, any name or key on the list, the pair and the shape: the stream is another one."""
    secret, round_ = bytes(32), Round.of((*NAMES, "alps"))
    whole = agreed(round_.offers.values())

    def first(
        agreement: Agreement = whole, one: str = "east", other: str = "north", cells: int = 1, wide: int = 1
    ) -> int:
        return int(pair_masks(secret, agreement, one, other, cells, wide)[0][0])

    key = replace(whole.offers[0], public_key=bytes(32))
    name = replace(whole.offers[0], site="atlas")
    streams = [
        first(),
        first(replace(whole, session="ab" * 16)),
        first(replace(whole, question="ab" * 32)),
        first(replace(whole, offers=whole.offers[:4])),
        first(replace(whole, offers=(key, *whole.offers[1:]))),
        first(replace(whole, offers=(name, *whole.offers[1:]))),
        first(other="south"),
        first(cells=2),
        first(wide=2),
    ]
    assert len(set(streams)) == len(streams)
    assert first(one="north", other="east") == first()


def test_known_answer() -> None:
    """The derivation, written down once with HMAC from the standard library and OpenSSL's ChaCha20."""
    round_ = Round.of(NAMES[:3], derived_keys)
    agreement = agreed(round_.offers.values())
    secret = derived_keys("east").spend().exchange(X25519PublicKey.from_public_bytes(derived_keys("north").public))
    words, wide = pair_masks(secret, agreement, "east", "north", 3, 2)
    assert agreement.digest() == "fa1e124eba5e69ed9beef222478392569ca4bf9d2cc45813104d84afaed3b310"
    assert words.tolist() == [3721793628457765171, 3990010808809262247, 10833226596020100976]
    assert wide == [188211730369156033068233113074177408541, 123287205894608572373700980654197767983]


def test_answers_that_do_not_make_a_sum() -> None:
    round_, values = Round.of(NAMES), tables(NAMES, 10)
    agreement, answers = agreed(round_.offers.values()), round_.answers(values)
    again = Round.of(NAMES)
    old = again.answers(values)
    longer = {**values, "north": np.zeros(11, dtype=np.int64)}
    third = Round.of(NAMES)
    swapped = [replace(answers[0], site="north"), replace(answers[1], site="east"), *answers[2:]]
    payload = bytes([answers[0].payload[0] ^ 1]) + answers[0].payload[1:]
    for vectors, listed_, message in (
        (answers[:3], agreement, "one answer of each of the sites 'east', 'north', 'south', 'west'"),
        ([], agreement, "one answer of each"),
        ([*answers, answers[0]], agreement, "one answer of each"),
        ([*answers[:3], answers[0]], agreement, "one answer of each"),
        ([old[0], *answers[1:]], agreement, "site 'east' answered for another list of sites or another run"),
        (
            [replace(old[0], agreement=agreement.digest()), *answers[1:]],
            agreement,
            "answer of site 'east' is not signed",
        ),
        (swapped, agreement, "answer of site 'east' is not signed"),
        ([replace(answers[0], payload=payload), *answers[1:]], agreement, "answer of site 'east' is not signed"),
        (third.answers(longer), agreed(third.offers.values()), "'east' and 'north' answered with different numbers"),
    ):
        with pytest.raises(FederationError, match=message):
            unmasked_sum(vectors, listed_)
    assert np.array_equal(unmasked_sum(answers, agreement)[0], sum(values.values()))


def test_masks_that_do_not_cancel_are_noticed_in_the_smallest_table() -> None:
    """A site that masks with other keys than it offered, and signs: of one count, half the sums would look well."""
    round_ = Round.of(NAMES)
    agreement, answers = agreed(round_.offers.values()), round_.answers({name: [1] for name in NAMES})
    for attempt in range(20):
        payload = sha256(b"%d" % attempt).digest()[:24]
        wrong = replace(answers[0], wide=1, payload=payload)
        wrong = replace(wrong, signature=SITES["east"].own.sign(wrong.statement()))
        with pytest.raises(FederationError, match="the masks do not cancel"):
            unmasked_sum([wrong, *answers[1:]], agreement)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": shape}
        for shape in ("10+2", "11+1", "0+6", "12+0", "10", "+", "10+1+1", "-1+1", "1e1+1", "٣+1", "9" * 12)
    ]
    + [{"payload": "AAAA"}, {"payload": "*"}, {"payload": ""}, {"signature": "*"}, {"site": ""}, {"agreement": None}],
)
def test_malformed_answers(change: dict[str, Any]) -> None:
    plain = Round.of(NAMES).masks("east").mask(np.arange(10)).to_dict()
    assert MaskedVector.from_dict(plain).to_dict() == plain
    with pytest.raises(FederationError, match="everywhere"):
        MaskedVector.from_dict({**plain, **change})
