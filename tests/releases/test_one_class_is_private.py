"""That a class is absent is private: data of any shape are answered alike, whatever holds them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from confide import Release, ScoreCounts
from confide.errors import LabelError, OneClassError, ParameterError
from confide.releases.curves import prepare_curves
from tests.noises import WAYS, Deaf, Way, seeded
from tests.sources.readers import QUIET

pytestmark = [
    pytest.mark.usefixtures("few_simulated_tables"),  # these are about form, not about widths
    *(pytest.mark.filterwarnings(warning) for warning in QUIET),
]

EVEN = np.linspace(0.05, 0.95, 40)


def counted(labels: Any, scores: Any) -> ScoreCounts:
    return ScoreCounts.from_arrays(labels, scores, one_class=True)


# All of one length, so that the number of rows tells nothing.
SHAPES = {
    "ordinary": counted([0, 1] * 20, EVEN),
    "all positive": counted([1] * 40, EVEN),
    "all negative": counted([0] * 40, EVEN),
    "one positive": counted([1] + [0] * 39, EVEN),
    "one negative": counted([1] * 39 + [0], EVEN),
    "ties everywhere": counted([0, 1] * 20, [0.25, 0.75, 0.75, 0.25] * 10),
    "one score": counted([0, 1] * 20, [0.5] * 40),
    "one score, one class": counted([0] * 40, [0.0] * 40),
    "scores outside of 0 to 1": counted([0, 1] * 20, 1e6 * (EVEN - 0.5)),
    "separated": counted([0] * 20 + [1] * 20, EVEN),
}
SAME_SCORES = ("ordinary", "all positive", "all negative", "one positive", "one negative", "separated")
OTHER_SIZES = {
    "two rows": counted([0, 1], [0.2, 0.8]),
    "two rows of one class": counted([1, 1], [0.2, 0.2]),
    "one row": counted([1], [0.3]),
    "many rows": counted([0, 1, 1] * 200, np.linspace(-1.0, 2.0, 600)),
    "no rows": ScoreCounts.empty(),
    "very many rows": ScoreCounts(np.array([0.1, 0.6]), np.array([2_000, 7_000]), np.array([9_000, 2_000])),
}


UNKNOWN = ("calibration", "observed_expected", "brier")


def measures(way: Way) -> dict[str, Any]:
    return {"measures": ("recall", "f1", "matthews_correlation")} if way.metric == "confusion" else {}


def shape_of(release: Release) -> object:
    """What is seen of a release but for its numbers: keys and types."""

    def kinds(plain: Any) -> Any:
        if isinstance(plain, dict):
            return {key: kinds(value) for key, value in plain.items()}
        return "number or none" if isinstance(plain, float) or plain is None else type(plain).__name__

    return kinds(release.to_dict())


@pytest.mark.few(8)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_any_data_get_an_answer_of_the_same_shape(way: Way) -> None:
    shapes = set()
    for name, counts in {**SHAPES, "two rows": OTHER_SIZES["two rows"]}.items():
        prepared = way.prepare(counts, epsilon=2, noise=seeded(len(counts)), **measures(way))
        for release in prepared.draw()[:1]:
            shapes.add(repr(shape_of(release)))
            ends = release.intervals.sample, release.intervals.population
            assert all(math.isfinite(end) for one in ends for end in (one.lower, one.upper)), name
            assert math.isfinite(release.value) or way.metric == "confusion", name
    assert len(shapes) == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("way", [way for way in WAYS if way.metric == "curves"], ids=str)
def test_everything_that_follows_has_the_same_shape_for_any_data(way: Way) -> None:
    """Curves and numbers from noisy counts. Public scores that are all 0, or no probabilities, may show."""
    shapes = set()
    for name, counts in {**SHAPES, "two rows": OTHER_SIZES["two rows"]}.items():
        releases = way.released(counts, epsilon=2, noise=seeded(len(counts)))
        shapes.add(repr([shape_of(release) for release in releases]))
        unknown = {release.metric for release in releases if not math.isfinite(release.value)}
        public = {"one score, one class": set(UNKNOWN[:2]), "scores outside of 0 to 1": set(UNKNOWN)}
        assert unknown <= (public.get(name, set()) if way.relation == "label-only" else set()), name
    assert len(shapes) == 1


@pytest.mark.few(11)
@pytest.mark.parametrize("level", [-4, 7, 1000])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nothing_depends_on_private_data_but_through_the_noise(way: Way, level: int) -> None:
    """Noise that ignores what it is given makes all data alike: all that is public is then the same.

    Under replace-one all data with as many rows, under label-only all labels of the same scores, under
    add-remove-one any data at all. The scales of integer noise are public and must not differ either.
    """
    data = {name: counts for name, counts in SHAPES.items() if way.relation != "label-only" or name in SAME_SCORES}
    if way.relation == "add-remove-one":
        data |= OTHER_SIZES
    seen = {}
    for name, counts in data.items():
        deaf = Deaf(level)
        prepared = way.prepare(counts, noise=deaf.noise(), prevalence_guess=0.3, **measures(way))
        drawn = prepared.draw()
        shown = (*drawn, *prepared.chosen(drawn)) if level == 7 else drawn  # what follows takes most of the time
        answers = [release.to_dict() for release in shown]
        seen[name] = repr((answers, prepared.guarantee, dict(prepared.request), deaf.heard))
    assert len(set(seen.values())) == 1, [name for name in seen if seen[name] != seen["ordinary"]]


def test_the_search_finds_what_leaks() -> None:
    """The broken twin: under label-only the scores are public, so other scores give another answer."""
    way = Way("average_precision", "private-counts", "label-only")
    answers = [
        way.prepare(SHAPES[name], noise=Deaf().noise()).draw()[0].to_dict() for name in ("ordinary", "one score")
    ]
    assert answers[0] != answers[1]


LABELS: dict[str, tuple[list[object], object]] = {
    "0": ([0, 0, 0], None),
    "1": ([1, 1, 1], None),
    "-1": ([-1, -1, -1], None),
    "false": ([False, False, False], None),
    "true": ([True, True, True], None),
    "0.0": ([0.0, 0.0, 0.0], None),
    "text, positive": (["Poor", "Poor", "Poor"], "Poor"),
    "text, negative": (["Good", "Good", "Good"], "Poor"),
    "2, negative": ([2, 2, 2], "3"),
}
ALL_POSITIVE = ("1", "true", "text, positive")
SCORES = [0.2, 0.4, 0.9]


@pytest.mark.parametrize("case", LABELS)
@pytest.mark.parametrize("source", ["arrays", "pandas", "Polars", "CSV", "Parquet", "JSON lines"])
def test_every_source_counts_one_class(source: str, case: str, tmp_path: Path) -> None:
    labels, positive = LABELS[case]
    counts = read(source, labels, positive, tmp_path)
    assert counts.total_positives == (3 if case in ALL_POSITIVE else 0)
    assert counts.total_positives + counts.total_negatives == 3
    assert not counts.weighted


def read(source: str, labels: list[object], positive: object, folder: Path, *, one_class: bool = True) -> ScoreCounts:
    given: dict[str, Any] = {"positive": positive, "one_class": one_class}
    if source == "arrays":
        return ScoreCounts.from_arrays(np.array(labels), SCORES, **given)
    frame = pl.DataFrame({"y": labels, "s": SCORES})
    given |= {"label": "y", "score": "s"}
    if source == "Polars":
        return ScoreCounts.from_frame(frame, **given)
    if source == "pandas":
        return ScoreCounts.from_frame(pd.DataFrame({"y": labels, "s": SCORES}), **given)
    write = {
        "CSV": ("csv", "write_csv"),
        "Parquet": ("parquet", "write_parquet"),
        "JSON lines": ("jsonl", "write_ndjson"),
    }
    ending, method = write[source]
    getattr(frame, method)(folder / f"rows.{ending}")
    return ScoreCounts.from_table(folder / f"rows.{ending}", **given)


@pytest.mark.parametrize("source", ["arrays", "pandas", "CSV", "Parquet", "JSON lines"])
@pytest.mark.parametrize("labels", [["Poor", "Good", "Good"], ["a", "b", "c"]], ids=["two", "three"])
def test_a_positive_label_that_no_row_has_is_no_error(source: str, labels: list[object], tmp_path: Path) -> None:
    """An error would tell that there are two other values, and so that both classes have rows."""
    counts = read(source, labels, "Pooor", tmp_path)
    assert (counts.total_positives, counts.total_negatives) == (0, 3)


@pytest.mark.parametrize("source", ["arrays", "CSV", "Parquet"])
def test_the_data_holder_sees_a_typo(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
    with pytest.raises(ParameterError, match="check the spelling"):
        read(source, ["Poor", "Good", "Good"], "Pooor", tmp_path)
    with pytest.raises(LabelError, match="more than two"):
        read(source, ["a", "b", "c"], "a", tmp_path)


@pytest.mark.parametrize("source", ["arrays", "pandas", "CSV"])
def test_labels_of_unknown_meaning_are_refused_alike_with_one_class_and_with_two(source: str, tmp_path: Path) -> None:
    messages = set()
    for labels in (["Poor", "Good", "Good"], ["Good", "Good", "Good"], ["Poor", "Poor", "Poor"]):
        with pytest.raises(LabelError) as caught:
            read(source, list(labels), None, tmp_path)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("source", ["arrays", "pandas", "CSV", "Parquet", "JSON lines"])
def test_labels_beside_the_positive_one_are_negative(source: str, tmp_path: Path) -> None:
    """A third value that one row alone has is no error, which would tell of that row."""
    counts = read(source, ["a", "b", "c"], "a", tmp_path)
    assert (counts.total_positives, counts.total_negatives) == (1, 2)


@pytest.mark.parametrize("source", ["arrays", "pandas", "CSV"])
def test_an_exact_evaluation_still_needs_both_classes(source: str, tmp_path: Path) -> None:
    with pytest.raises(OneClassError):
        read(source, [0, 0, 0], None, tmp_path, one_class=False)


@pytest.mark.few(1)
@pytest.mark.parametrize("grid", ["quantiles:4", "quantiles:4:-1:2", "medians:2"])
def test_a_grid_that_is_found_privately_depends_on_the_noise_alone(grid: str) -> None:
    """Neither empty cells nor the range of scores nor a threshold between them may show."""
    seen = set()
    for counts in (*SHAPES.values(), *OTHER_SIZES.values()):
        prepared = prepare_curves(
            counts, epsilon=1, neighbours="add-remove-one", grid=grid, threshold=0.37, noise=Deaf().noise()
        )
        drawn = prepared.draw()
        seen.add(repr([release.to_dict() for release in (*drawn, *prepared.chosen(drawn))]))
    assert len(seen) == 1
