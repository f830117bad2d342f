"""The labelings that fit a published AUC: Whitehill's numbers, another library's, and one by one."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.attacks.disclosure import Window
from confide.attacks.from_auc.labeling_count import most_queries
from confide.attacks.from_auc.labelings import Labelings
from confide.attacks.from_auc.posterior import label_posterior, sample_labelings
from confide.errors import ParameterError
from tests.attacks.brute import auc_by_pairs, labelings_by_trying
from tests.examples import examples

PUBLISHED = {
    76: ({36, 40}, 657488),
    77: ({32, 45}, 654344),
    78: ({30, 48}, 650822),
    84: ({24, 60}, 622952),
    92: ({20, 72}, 572728),
    98: ({18, 80}, 529382),
    106: ({16, 90}, 468686),
}


@pytest.mark.parametrize("rows", PUBLISHED)
def test_against_whitehills_table(rows: int) -> None:
    found = Labelings.untied(rows, "1387/1440").count_by_positives()
    assert (set(found), sum(found.values())) == PUBLISHED[rows]


def test_against_whitehills_table_1() -> None:
    """Which of its rows are which is not said; all eight are there."""
    table = "11001011111 10110011111 10101101111 01110101111 10011110111 01101110111 01011111011 00111111101"
    found = {"".join(map(str, labels)) for labels in Labelings.untied(11, "17/24", positives=8).listed()}
    assert found == set(table.split())


def test_whitehills_first_example_has_one_labeling() -> None:
    assert Labelings.untied(4, "3/4").listed().tolist() == [[0, 1, 0, 1]]


def test_whitehills_class_sizes() -> None:
    assert set(Labelings.untied(1000, "450/479").spans()) == {42, 479, 521, 958}


def test_an_auc_to_five_digits() -> None:
    """Whitehill's 18 possibilities are those of an AUC cut after five digits; one that is rounded leaves fewer."""
    cut = Labelings.untied(172, Window.written("0.90277", cut=True)).triples()
    assert len(cut) == 18
    assert (100, 72, Fraction(700)) in cut
    rounded = Labelings.untied(172, "0.90278").triples()
    assert len(rounded) == 8
    assert all(round(float(1 - cost / (n * m)), 5) == 0.90278 for n, m, cost in rounded)


@pytest.mark.parametrize(("negatives", "positives", "cost"), [(30, 20, 90), (61, 40, 1000), (100, 120, 5_000)])
def test_counts_against_flint(negatives: int, positives: int, cost: int) -> None:
    """A Gaussian binomial is a product of cyclotomic polynomials, which FLINT multiplies out."""
    rows = negatives + positives
    polynomial = flint.fmpz_poly([1])
    for k in range(2, rows + 1):
        if rows // k - negatives // k - positives // k:
            polynomial = polynomial.mul_low(flint.fmpz_poly.cyclotomic(k), cost + 1)
    auc = 1 - Fraction(cost, negatives * positives)
    assert Labelings.untied(rows, auc, positives=positives).count() == int(polynomial[cost])


def test_all_costs_together_are_all_labelings() -> None:
    everything = Window(lower=Fraction(0), upper=Fraction(1))
    assert Labelings.untied(60, everything).count() == 2**60 - 2
    assert Labelings.untied(60, everything, positives=30).count() == 118264581564861424
    tied = Labelings(groups=(3, 1, 4, 1, 5, 9, 2, 6), window=everything)
    assert tied.count() == 2**31 - 2


WINDOWS = st.sampled_from(["0.7", "3/4", "0.3", "0.50", "1/3", "0.9", "1/1", "0/1", "5/8"])
GROUPS = st.lists(st.integers(1, 3), min_size=2, max_size=6).filter(lambda groups: sum(groups) <= 9)


@examples(40)
@given(groups=GROUPS, auc=WINDOWS, known=st.booleans(), data=st.data())
def test_everything_against_trying_all(groups: list[int], auc: str, known: bool, data: st.DataObject) -> None:
    """Count, list, posterior and draws agree with every labeling tried one by one."""
    rows = sum(groups)
    positives = data.draw(st.integers(1, rows - 1)) if known else None
    labelings = Labelings(groups=tuple(groups), window=Window.written(auc), positives=positives)
    expected = labelings_by_trying(np.repeat(np.arange(len(groups)), groups).tolist(), labelings.window, positives)
    listed = [tuple(labels) for labels in labelings.listed().tolist()]
    assert labelings.count() == len(expected)
    assert len(listed) == len(expected)
    assert set(listed) == expected
    if expected:
        means = np.array(sorted(expected)).mean(axis=0)
        found = label_posterior(labelings)
        np.testing.assert_allclose(found.probability, means, atol=1e-12)
        np.testing.assert_array_equal(found.certain, (means == 0.0) | (means == 1.0))
        some = sample_labelings(labelings, 20, np.random.default_rng(0))
        assert {tuple(labels) for labels in some.tolist()} <= expected


def test_a_stream_is_what_is_listed() -> None:
    labelings = Labelings.untied(76, "1387/1440")
    chunks = list(labelings.stream())
    assert len(chunks) > 2
    assert sum(len(chunk) for chunk in chunks) == 657488
    assert len({labels.tobytes() for chunk in chunks for labels in np.packbits(chunk, axis=1)}) == 657488
    scores = np.arange(76)
    for labels in (chunks[0][0], chunks[-1][-1]):
        assert auc_by_pairs(labels.tolist(), scores.tolist()) == Fraction(1387, 1440)


WIDE = Window(lower=Fraction(7, 10), upper=Fraction(19, 20))


@pytest.mark.parametrize("positives", [None, 3])
@pytest.mark.parametrize(
    ("groups", "window"),
    [
        ((1,) * 12, Window.written("0.81")),
        ((1, 3, 1, 2, 1, 2, 2), Window.written("0.81")),
        ((1,) * 8, WIDE),
        ((1, 2, 1, 1, 3), WIDE),
        ((1,) * 8, Window(lower=1 - WIDE.upper, upper=1 - WIDE.lower)),
    ],
)
def test_draws_are_uniform(groups: tuple[int, ...], window: Window, positives: int | None) -> None:
    """A chi-square test over all labelings; seeded, so it never raises a false alarm.

    In a wide window a tilt that is not taken out, and class sizes that weigh too much, show by far.
    """
    labelings = Labelings(groups=groups, window=window, positives=positives)
    listed = [labels.tobytes() for labels in labelings.listed()]
    drawn = sample_labelings(labelings, 200 * len(listed), np.random.default_rng(1))
    numbers = dict.fromkeys(listed, 0)
    for labels in drawn:
        numbers[labels.tobytes()] += 1
    statistic = sum((number - 200) ** 2 / 200 for number in numbers.values())
    assert abs(statistic - len(listed)) < 5 * np.sqrt(2 * len(listed))


def test_draws_from_half_of_all_labelings_take_few_attempts() -> None:
    """Two rounds of them, or three, which take a tenth of a second; otherwise an error is raised."""
    labelings = Labelings.untied(200, Window(lower=Fraction(1, 2), upper=Fraction(1)))
    drawn = sample_labelings(labelings, 100, np.random.default_rng(1), attempts=1 << 15)
    assert drawn.shape == (100, 200)
    assert all(auc_by_pairs(labels.tolist(), range(200)) >= Fraction(1, 2) for labels in drawn[:3])


def test_draws_agree_with_the_exact_posterior() -> None:
    labelings = Labelings.untied(150, "0.8312")
    exact = label_posterior(labelings)
    assert exact.exact
    drawn = label_posterior(labelings, work=0, sample=1_000, generator=np.random.default_rng(2))
    assert drawn.drawn == 1_000
    distance = np.abs(drawn.probability - exact.probability)
    assert distance.max() < 5 * 0.5 / np.sqrt(1_000)
    assert drawn.known(0.9) > 0


@pytest.mark.parametrize("auc", ["0.97", "31/32", "0.9", "1/1"])
@pytest.mark.parametrize("groups", [(1,) * 12, (1, 2, 1, 1, 3, 1, 1, 2)])
def test_what_is_certain_is_looked_into_though_drawn(auc: str, groups: tuple[int, ...]) -> None:
    """Even from two draws: for a label that did not vary, a labeling with the other is looked for."""
    labelings = Labelings(groups=groups, window=Window.written(auc))
    drawn = label_posterior(labelings, work=0, sample=2, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.certain, label_posterior(labelings).certain)


def test_a_posterior_below_one_half_is_the_mirror_image() -> None:
    up, down = (label_posterior(Labelings.untied(40, auc)) for auc in ("0.87", "0.13"))
    np.testing.assert_allclose(up.probability, down.probability[::-1], atol=1e-12)


def test_a_perfect_auc_with_known_sizes_tells_every_label() -> None:
    found = label_posterior(Labelings.untied(30, "1/1", positives=7))
    assert found.certain.all()
    assert found.probability.tolist() == [0.0] * 23 + [1.0] * 7
    assert found.known() == 0  # certain labels are not counted twice


def test_most_queries_against_whitehill() -> None:
    """Figure 3 needs 9; for 106 rows the paper's tree needs 71, and ours breaks ties differently."""
    assert most_queries(Labelings.untied(11, "17/24", positives=8)) == 9
    assert 2 * 19 < most_queries(Labelings.untied(106, "1387/1440")) <= 71  # 2^19 > 468,686


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Labelings.untied(1, "1/2"), "rows must lie between 2"),
        (lambda: Labelings.untied(10_000, "1/2"), "rows must lie between 2"),
        (lambda: Labelings.untied(10, "1.2"), "auc must lie between 0 and 1"),
        (lambda: Labelings.untied(10, "about 1"), "auc must be a finite number"),
        (lambda: Labelings.untied(10, "1/2", positives=10), "positives must lie between 1 and rows - 1, 9"),
        (lambda: Labelings(groups=(1, 0), window=Window.written("0.5")), "at least 1 each"),
        (lambda: Labelings.untied(200, "0.8").listed(), "too many to list"),
        (lambda: Labelings(groups=(2,) * 400, window=Window.written("0.8")).count(), "too many to count exactly"),
        (lambda: label_posterior(Labelings.untied(5, "1/7")), "no labeling has that AUC"),
        (lambda: sample_labelings(Labelings.untied(5, "1/7"), 3, np.random.default_rng()), "no labeling has that AUC"),
        (lambda: sample_labelings(Labelings.untied(5, "1/2"), 0, np.random.default_rng()), "size must be at least 1"),
        (lambda: most_queries(Labelings.untied(5, "1/7")), "no labeling has that AUC"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ParameterError, match=message):
        call()
