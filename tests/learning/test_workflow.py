"""The file of a workflow: read as it was written, sides that make a whole, and answers for every dataset."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, ParameterError
from confide.features import FeatureRows
from confide.learning.linear_model import LinearModel
from confide.learning.models import MODELS, prepare_model
from confide.learning.selection import Selection
from confide.learning.selection_methods import METHODS, prepare_selection
from confide.learning.workflow import HELD_OUT, TRAINING, Workflow
from confide.privacy.guarantee import Guarantee
from confide.releases.terms import Terms
from confide.sources.encoding import Encoding
from tests.noises import RELATIONS

names = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="=|,"), min_size=1, max_size=8)
fractions = st.fractions(Fraction(1, 10**6), Fraction(10**6))
numbers = st.floats(-1e6, 1e6, allow_nan=False)
guarantees = st.builds(
    Guarantee,
    epsilon=fractions,
    neighbours=st.sampled_from(RELATIONS),
    unit=st.sampled_from(["row", "person"]),
    public=st.lists(st.text(max_size=9), max_size=3).map(tuple),
)


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rules = [
        name + draw(st.sampled_from(["", f"={draw(st.integers(-9, 9))},10.5", "=yes|no", "=0|1|Ünknown"]))
        for name in columns
    ]
    return Encoding.parse(columns=rules)


@st.composite
def selections(draw: st.DrawFn, width: int) -> Selection:
    features = sorted(draw(st.sets(st.integers(0, width - 1))))
    scores = draw(st.lists(numbers, min_size=len(features), max_size=len(features)) | st.none())
    return Selection(
        features=tuple(features),
        width=width,
        method=draw(st.sampled_from(METHODS)),
        score="total-count",
        scores=None if scores is None else tuple(scores),
        guarantee=draw(guarantees),
        options={"k": len(features)},
    )


@st.composite
def models(draw: st.DrawFn, width: int) -> LinearModel:
    features = sorted(draw(st.sets(st.integers(0, width - 1)))) if width else []
    many: dict[str, Any] = {"min_size": len(features), "max_size": len(features)}
    often = draw(st.lists(st.floats(0, 1), **many) | st.none())
    return LinearModel(
        kind=draw(st.sampled_from(MODELS)),
        features=tuple(features),
        weights=tuple(draw(st.lists(numbers, **many))),
        intercept=draw(numbers),
        width=width,
        guarantee=draw(guarantees),
        options={"keep": 0.5},
        frequencies=None if often is None else tuple(often),
    )


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    encoding = draw(encodings())
    selection = draw(selections(encoding.width) | st.none())
    width = encoding.width if selection is None else len(selection.features)
    held_out = draw(st.fractions(Fraction(1, 100), Fraction(99, 100)) | st.none())
    by = draw(st.lists(names, max_size=2, unique=True)) if held_out is not None else []
    return Workflow(
        encoding=encoding,
        label=draw(names.filter(lambda name: name not in (*by, *encoding.columns))),
        positive=draw(st.none() | names),
        held_out=held_out,
        held_out_by=tuple(by),
        budget=draw(fractions),
        unit=draw(st.sampled_from(["row", "person"])),
        rows_per_person=draw(st.integers(1, 5)),
        selection=selection,
        model=draw(models(width) | st.none()),
    )


class TestTheFile:
    @given(workflows())
    def test_what_is_written_is_read_again(self, workflow: Workflow) -> None:
        again = Workflow.from_dict(json.loads(workflow.written()))
        assert again == workflow
        assert again.written() == workflow.written()
        assert again.steps == workflow.steps  # exact fractions, not floats

    def test_a_damaged_file_is_refused_or_read_never_a_crash(self, tmp_path: Path) -> None:
        plain, file = json.loads(_WHOLE.written()), tmp_path / "model.json"
        refused = 0
        for place in _places(plain):
            for broken in (_without(plain, place), *(_replaced(plain, place, junk) for junk in _JUNK)):
                file.write_text(json.dumps(broken))
                try:
                    Workflow.read(file).names()
                except ConfideError:
                    refused += 1
        assert refused > 300

    def test_read_says_which_file_is_wrong_without_its_content(self, tmp_path: Path) -> None:
        file = tmp_path / "model.json"
        for content in ("quixote", '{"quixote": 1}', '{"schema": "quixote"}', '["quixote"]', "[" * 10_000, "\ud800"):
            file.write_text(content, encoding="utf-8", errors="surrogatepass")
            with pytest.raises(ConfideError) as refusal:
                Workflow.read(file)
            assert "quixote" not in str(refusal.value)
            assert "confide" in str(refusal.value)
        with pytest.raises(ConfideError, match="there is no file"):
            Workflow.read(tmp_path / "nothing.json")

    def test_a_selection_or_model_of_other_features_is_refused(self) -> None:
        plain = json.loads(_WHOLE.written())
        for place, value in (
            (("selection", "width"), 9),
            (("selection", "features"), [0]),
            (("model", "width"), 9),
            (("model", "weights", 0), float("nan")),
        ):
            with pytest.raises(ParameterError, match="again"):
                Workflow.from_dict(_replaced(plain, place, value))

    def test_what_the_steps_so_far_promised(self) -> None:
        assert {step: guarantee.epsilon for step, guarantee in _WHOLE.steps.items()} == {
            "select": Fraction(1, 3),
            "train": Fraction(2, 3),
        }


class TestSides:
    def written(self, folder: Path) -> Path:
        rng = np.random.default_rng(0)
        file = folder / "rows.csv"
        lines = [f"p{n // 3},{rng.integers(2)},{rng.integers(20, 90)},{rng.integers(2)}" for n in range(200)]
        file.write_text("\n".join(["id,died,age,smoker", *lines]) + "\n")
        return file

    @pytest.mark.parametrize("by", [(), ("id",), ("id", "age")], ids=str)
    def test_every_row_is_on_exactly_one(self, tmp_path: Path, by: tuple[str, ...]) -> None:
        file = self.written(tmp_path)
        encoding = Encoding.parse(columns=["smoker", "age=40,60"])
        whole = Workflow(encoding=encoding, label="died").rows(file, TRAINING)
        halves = Workflow(encoding=encoding, label="died", held_out=Fraction(1, 2), held_out_by=by)
        ours, theirs = halves.rows(file, TRAINING), halves.rows(file, HELD_OUT)
        assert len(ours) + len(theirs) == len(whole) == 200
        assert 0 < len(ours) < 200
        assert (ours.counts() + theirs.counts() == whole.counts()).all()
        assert sorted(_listed(ours) + _listed(theirs)) == sorted(_listed(whole))

    def test_selected_features_are_numbered_anew(self, tmp_path: Path) -> None:
        file = self.written(tmp_path)
        every = Workflow(encoding=_WHOLE.encoding, label="died").rows(file, TRAINING)
        assert _WHOLE.selection is not None
        some = Workflow(encoding=_WHOLE.encoding, label="died", selection=_WHOLE.selection).rows(file, TRAINING)
        chosen = list(_WHOLE.selection.features)
        assert (some.matrix().toarray() == every.matrix().toarray()[:, chosen]).all()

    def test_names_of_columns_tell_partitions_apart(self) -> None:
        """One column of a name with a comma is not two columns."""
        encoding = Encoding.parse(columns=["smoker"])

        def partition(*by: str) -> str:
            workflow = Workflow(encoding=encoding, label="died", held_out=Fraction(1, 2), held_out_by=by)
            part = workflow.part(Terms.checked(epsilon=1, neighbours="add-remove-one"), TRAINING)
            assert part is not None
            return part.partition

        lists = [("a", "b"), ("b", "a"), ("a, b",), ('a", "b',), ("a",), ("tab\there",), ("x" * 500,), ("x" * 501,)]
        lists += [("x" * 250, "x" * 250), ("ab", "")]
        assert len({partition(*by) for by in lists}) == len(lists)

    def test_no_row_is_a_dataset_too(self) -> None:
        assert len(_WHOLE.no_rows()) == 0
        assert _WHOLE.no_rows().width == _WHOLE.trained().width
        assert _WHOLE.counts(_WHOLE.no_rows()).scores.size == 0


class TestParallel:
    BASE: dict[str, Any] = {"encoding": Encoding.parse(columns=["smoker"]), "label": "died"}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("given", "parallel"),
        [
            ({}, False),
            ({"held_out": Fraction(3, 10)}, True),
            ({"held_out": Fraction(3, 10), "unit": "person"}, True),
            ({"held_out": Fraction(3, 10), "unit": "person", "rows_per_person": 2}, False),
            ({"held_out": Fraction(3, 10), "unit": "person", "rows_per_person": 2, "held_out_by": ("id",)}, True),
        ],
        ids=str,
    )
    def test_the_plan_counts_as_the_ledger_does(self, given: dict[str, Any], parallel: bool) -> None:
        workflow = Workflow(**self.BASE, **given)
        assert workflow.parallel == workflow.budget_split(selects=True).parallel == parallel
        terms = Terms.checked(
            epsilon=1, neighbours="add-remove-one", unit=workflow.unit, rows_per_person=workflow.rows_per_person
        )
        assert (workflow.part(terms, TRAINING) is not None) == parallel

    def test_what_cannot_be(self) -> None:
        with pytest.raises(ParameterError, match="tells persons apart"):
            Workflow(**self.BASE, held_out=Fraction(1, 2), held_out_by=("died",))
        with pytest.raises(ParameterError, match=r"`hold_out=0\.3`"):
            Workflow(**self.BASE, held_out_by=("id",))
        with pytest.raises(ParameterError, match=r"between 0 .none. and 1"):
            Workflow(**self.BASE, held_out=Fraction(1))


class TestEveryDatasetIsAnswered:
    """That a request fails for some rows only would tell something about them, and waste what was paid."""

    DATA = {  # noqa: RUF012
        "none": (0, 0.5, 0.5),
        "one": (1, 0.5, 0.5),
        "two": (2, 0.5, 0.5),
        "some": (60, 0.3, 0.5),
        "no features": (60, 0.0, 0.5),
        "all features": (60, 1.0, 0.5),
        "positives": (60, 0.3, 1.0),
        "negatives": (60, 0.3, 0.0),
    }

    def rows(self, name: str) -> FeatureRows:
        rng = np.random.default_rng(1)
        count, density, prevalence = self.DATA[name]
        return FeatureRows.from_matrix((rng.random((count, 4)) < density).astype(int), rng.random(count) < prevalence)

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("name", MODELS)
    def test_models(self, name: str, relation: str) -> None:
        for data in self.DATA:
            for epsilon in ("0.01", "1", "100"):
                (model,) = prepare_model(self.rows(data), name, {}, epsilon=epsilon, neighbours=relation).draw()
                scores = model.probabilities(self.rows("some").matrix())
                assert ((scores >= 0.0) & (scores <= 1.0)).all(), data

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_all_features_kept_though_no_row_has_one(self, relation: str) -> None:
        """Weights are then nothing but rounding; before cells had a least width, some of these draws failed."""
        for epsilon in ("1", "100"):
            prepared = prepare_model(
                self.rows("no features"), "naive-bayes", {"keep": 0.0}, epsilon=epsilon, neighbours=relation
            )
            for _ in range(30):
                prepared.draw()

    @pytest.mark.parametrize(
        ("epsilon", "options"), [("1", {"calibration": "1e-30"}), ("2e-6", {"calibration": "0", "row_weight": 2**20})]
    )
    def test_parts_of_epsilon_that_nothing_can_be_drawn_for(self, epsilon: str, options: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match="epsilon"):
            prepare_model(self.rows("some"), "naive-bayes", options, epsilon=epsilon)

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("method", METHODS)
    def test_selections(self, method: str, relation: str) -> None:
        asked: dict[str, Any] = {"k": 2} if method != "clusters" else {"threshold": 5.0}
        if method == "sparse-vector":
            asked["threshold"] = 5.0
        for data in self.DATA:
            (found,) = prepare_selection(
                self.rows(data), method=method, score="difference-count", epsilon=1, neighbours=relation, **asked
            ).draw()
            assert found.width == 4
            assert len(found.features) <= asked.get("k", 4)


def _listed(rows: FeatureRows) -> list[tuple[bool, tuple[float, ...]]]:
    return [(bool(label), tuple(row)) for label, row in zip(rows.labels, rows.matrix().toarray().tolist(), strict=True)]


_JUNK: tuple[Any, ...] = (None, True, -1, 7, 1e999, "", "1/0", "quixote", [], ["quixote"], {}, {"quixote": 1})


def _places(plain: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything inside plain data."""
    keys = list(plain) if isinstance(plain, dict) else range(len(plain)) if isinstance(plain, list) else ()
    for key in keys:
        yield (*before, key)
        yield from _places(plain[key], (*before, key))


def _replaced(plain: Any, place: tuple[Any, ...], value: Any) -> Any:
    other = copy.deepcopy(plain)
    inside = other
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return other


def _without(plain: Any, place: tuple[Any, ...]) -> Any:
    other = copy.deepcopy(plain)
    inside = other
    for key in place[:-1]:
        inside = inside[key]
    del inside[place[-1]]
    return other


_WHOLE = Workflow(
    encoding=Encoding.parse(columns=["smoker", "age=40,60"]),
    label="died",
    held_out=Fraction(3, 10),
    held_out_by=("id",),
    selection=Selection(
        features=(1, 3),
        width=4,
        method="peeling",
        score="total-count",
        guarantee=Guarantee(epsilon=Fraction(1, 3), neighbours="add-remove-one"),  # type: ignore[arg-type]
        options={"k": 2},
    ),
    model=LinearModel(
        kind="naive-bayes",
        features=(0, 1),
        weights=(0.5, -0.25),
        intercept=0.1,
        width=2,
        guarantee=Guarantee(epsilon=Fraction(2, 3), neighbours="add-remove-one"),  # type: ignore[arg-type]
        frequencies=(0.5, 0.25),
    ),
)
