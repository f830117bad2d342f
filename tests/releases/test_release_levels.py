"""A level of intervals is post-processing: asked for at another level, stored noise gives the intervals anew."""

from __future__ import annotations

import json

import numpy as np
import pytest

from confide import Grid, Release, ScoreCounts
from confide.errors import DataError
from confide.ledger.charging import written
from tests.noises import FORBIDDEN, WAYS, Way, seeded

RNG = np.random.default_rng(3)
LABELS = RNG.random(400) < 0.3
COUNTS = ScoreCounts.from_arrays(LABELS, np.clip(RNG.normal(0.4 + 0.2 * LABELS, 0.2), 0.0, 1.0))


def stored(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Releases as a ledger gives them back."""
    return tuple(Release.from_dict(json.loads(json.dumps(one.to_dict())), one.guarantee) for one in releases)


@pytest.mark.long
def test_a_fine_grid_fits_into_the_room_that_the_ledger_keeps_for_it() -> None:
    """Thousands of edges, and integers with much noise."""
    way = Way("average_precision", "private-counts", "label-only")
    fine = Grid.uniform(2_999, low=0.0001, high=0.0009)
    prepared = way.prepare(COUNTS, epsilon="1e-4", grid=fine, noise=seeded(1))
    assert len(written(prepared.draw(), prepared.numbers)) == len(written(prepared.draw(), prepared.numbers))


# Of curves the kinds of noise are alike here, and each takes seconds.
SOME = [way for way in WAYS if way.metric != "curves" or (way.mechanism, way.relation) == ("laplace", "replace-one")]


@pytest.mark.few(13)
@pytest.mark.parametrize("way", SOME, ids=str)
def test_another_level_gives_other_intervals_from_the_same_noise(way: Way) -> None:
    first = way.prepare(COUNTS, noise=seeded(1), level=0.8)
    again = way.prepare(COUNTS, noise=FORBIDDEN, level=0.99)
    assert again.request == first.request
    assert again.guarantee == first.guarantee
    drawn = first.draw()
    before, after = first.chosen(drawn), again.chosen(stored(drawn))
    assert [one.value for one in before] == pytest.approx([one.value for one in after], nan_ok=True)
    for narrow, wide in zip(before, after, strict=True):
        for name in ("sample", "population"):
            ours, theirs = getattr(narrow.intervals, name), getattr(wide.intervals, name)
            assert (ours.level, theirs.level) == (0.8, 0.99)
            assert theirs.lower <= ours.lower
            assert ours.upper <= theirs.upper
    anew = way.prepare(COUNTS, noise=seeded(1), level=0.99)
    assert [one.to_dict() for one in anew.chosen(anew.draw())] == [one.to_dict() for one in after]


@pytest.mark.parametrize("way", [way for way in SOME if way.metric != "curves"], ids=str)
def test_stored_noise_is_not_read_for_another_number_of_rows(way: Way) -> None:
    """Whoever declares the name of data may change these; their number is public but under add-remove-one."""
    drawn = stored(way.prepare(COUNTS, noise=seeded(1), level=0.8).draw())
    more = way.prepare(COUNTS + ScoreCounts.from_arrays([0, 1], [0.5, 0.6]), noise=FORBIDDEN, level=0.99)
    if way.relation == "add-remove-one":
        assert more.chosen(drawn)
    else:
        with pytest.raises(DataError, match="another number of rows"):
            more.chosen(drawn)
