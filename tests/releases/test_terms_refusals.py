"""Wrong terms are refused before anything is read, charged or drawn, and errors say what to do next."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from confide import Grid, Ledger, ScoreCounts
from confide.errors import ParameterError, UsageError
from confide.releases.registry import ONLY_BY_CURVES, RELEASABLE, RELEASE_METRICS, prepare
from tests.ledger.asking import Book
from tests.noises import FORBIDDEN, WAYS, Way, seeded

pytestmark = pytest.mark.usefixtures("few_simulated_tables")  # these are about form, not about widths

COUNTS = ScoreCounts.from_arrays([0, 1] * 50, np.linspace(0.05, 0.95, 100))


class Untouchable:
    """Data that nobody may look at yet."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"the data were looked at: {name}")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "greater than 0"),
    ({"epsilon": -1}, "greater than 0"),
    ({"epsilon": "-1/2"}, "greater than 0"),
    ({"epsilon": float("nan")}, "finite number"),
    ({"epsilon": float("inf")}, "finite number"),
    ({"epsilon": "inf"}, "finite number"),
    ({"epsilon": "a little"}, "finite number"),
    ({"epsilon": True}, "must be a number"),
    ({"epsilon": None}, "must be a number"),
    ({"epsilon": [1]}, "must be a number"),
    ({"delta": 1}, r"\[0, 1\)"),
    ({"delta": -1e-9}, r"\[0, 1\)"),
    ({"delta": "most"}, "finite number"),
    ({"delta": float("nan")}, "finite number"),
    ({"delta": True}, "must be a number"),
    ({"neighbours": "everybody"}, "replace-one, add-remove-one, label-only"),
    ({"neighbours": None}, "replace-one, add-remove-one, label-only"),
    ({"unit": "family"}, "row, person"),
    ({"unit": None}, "row, person"),
    ({"level": 0}, "for example 0.95"),
    ({"level": 1}, "for example 0.95"),
    ({"level": 95}, "for example 0.95"),
    ({"level": "0.9"}, "for example 0.95"),
    ({"level": float("nan")}, "for example 0.95"),
    ({"level": True}, "for example 0.95"),
    ({"prevalence_guess": 0}, "between 0 and 1"),
    ({"prevalence_guess": 1}, "between 0 and 1"),
    ({"prevalence_guess": float("nan")}, "between 0 and 1"),
    ({"prevalence_guess": "0.2"}, "between 0 and 1"),
    ({"mechanism": "magic"}, "Choose auto or one of"),
    ({"mechanism": None}, "Choose auto or one of"),
    ({"mechanism": 5}, "Choose auto or one of"),
]


def named(case: object) -> str | None:
    return str(case) if isinstance(case, dict) else None


@pytest.mark.parametrize(("wrong", "hint"), WRONG, ids=named)
@pytest.mark.parametrize("metric", RELEASABLE)
def test_wrong_terms_are_refused_before_the_data_are_looked_at(metric: str, wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        prepare(metric, Untouchable(), noise=FORBIDDEN, **{"epsilon": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize(("wrong", "hint"), WRONG, ids=named)
def test_the_functions_that_release_at_once_refuse_alike(wrong: dict[str, Any], hint: str) -> None:
    calls: list[Callable[..., Any]] = [
        confide.release_auc,
        confide.release_average_precision,
        confide.release_brier,
        confide.releases.release_prevalence,
        lambda counts, **terms: confide.release_confusion(counts, 0.5, **terms),
        confide.release_curves,
    ]
    for release in calls:
        with pytest.raises(ParameterError, match=hint):
            release(Untouchable(), **{"epsilon": 1, **wrong})


@pytest.mark.parametrize(
    ("metrics", "hint"),
    [
        ("acu", "Did you mean 'auc'"),
        ("accurate", "Did you mean 'accuracy'"),
        ("log_loss", "can be released"),
        ([], "at least one"),
        (["auc", "sharpness"], "can be released"),
        (["auc", None], "can be released"),
        (None, "metric"),
        (5, "metric"),
    ],
)
def test_unknown_metrics_are_refused(metrics: Any, hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        prepare(metrics, Untouchable(), epsilon=1, noise=FORBIDDEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "0.5", True, 10**400], ids="abcde")
def test_a_threshold_is_a_finite_number(threshold: Any) -> None:
    with pytest.raises(ParameterError, match="threshold must be a finite number"):
        prepare("recall", Untouchable(), epsilon=1, threshold=threshold, noise=FORBIDDEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("grid", [[0, 0.5, 1], 16, "sixteen", "quantiles:16", np.array([0.0, 1.0])], ids=str)
def test_a_grid_is_a_grid(grid: Any) -> None:
    with pytest.raises(ParameterError, match="grid"):
        prepare("average_precision", COUNTS, epsilon=1, mechanism="private-counts", grid=grid, noise=FORBIDDEN)


@pytest.mark.parametrize("data", [[0, 1], None, "rows.csv", {"label": [0, 1]}], ids=str)
def test_data_are_counts(data: Any) -> None:
    with pytest.raises(UsageError, match="ScoreCounts"):
        prepare("auc", data, epsilon=1, noise=FORBIDDEN)


@pytest.mark.parametrize("way", [way for way in WAYS if way.mechanism in ("gaussian", "published-laplace")], ids=str)
def test_mechanisms_that_need_a_delta_say_so(way: Way) -> None:
    with pytest.raises(ParameterError, match=r"needs delta .* for example 1e-6"):
        way.prepare(COUNTS, delta=0, noise=FORBIDDEN)


def test_mechanisms_do_not_mix_up() -> None:
    with pytest.raises(ParameterError, match="brier has no mechanism 'rank-sum'"):
        prepare(["auc", "brier"], COUNTS, epsilon=1, mechanism="rank-sum", noise=FORBIDDEN)


@pytest.mark.parametrize("epsilon", ["1e-18", "1e-12", "1e-9", "1e9", "1e300", "1e400"])
def test_an_extreme_epsilon_is_refused_before_it_is_paid_or_else_answered(epsilon: str) -> None:
    """Whatever is wrong with an epsilon must be found before the charge, which is never refunded."""
    troubles = [f"{way}: {trouble}" for way in WAYS if (trouble := _trouble(way, epsilon))]
    assert troubles == []


def _trouble(way: Way, epsilon: str) -> str:
    measures = {"measures": ("recall",)} if way.metric == "confusion" else {}
    try:
        prepared = way.prepare(COUNTS, epsilon=epsilon, delta="1/100", **measures)
        prepared.guarantee.in_words()
    except ParameterError as error:
        return "" if "epsilon" in str(error) else f"the error does not name epsilon: {error}"
    except Exception as error:
        return f"before the charge: {error!r}"
    if (
        way.metric == "average_precision"
        and way.relation == "add-remove-one"
        and Fraction(epsilon) < Fraction(1, 10**7)
    ):
        return "its interval holds a number for each row that there might be: memory without end"
    try:
        releases = prepared.draw()
    except Exception as error:
        return f"after the charge: {error!r}"
    for release in releases:
        sample, population = release.intervals.sample, release.intervals.population
        if population.lower > sample.lower + 1e-9 or population.upper < sample.upper - 1e-9:
            return "the population's interval does not hold the sample's"
    return ""


@pytest.mark.parametrize("epsilon", [np.int64(1), np.float64(1.0), "1", 1, 1.0, Fraction(1)], ids=repr)
def test_every_way_to_write_one_is_the_same_request(epsilon: Any) -> None:
    for metric in ("auc", "brier"):
        (prepared,) = prepare(metric, COUNTS, epsilon=epsilon, noise=seeded(1))
        (usual,) = prepare(metric, COUNTS, epsilon=1, noise=seeded(1))
        assert prepared.guarantee == usual.guarantee
        assert prepared.request == usual.request
        assert prepared.draw()[0].to_dict() == usual.draw()[0].to_dict()


@pytest.mark.usefixtures("unpadded_ledgers")
class TestWithALedger:
    """The file appears when the first account is opened, and not before."""

    @pytest.mark.parametrize(
        "wrong",
        [
            {"epsilon": 0},
            {"epsilon": 1, "delta": 2},
            {"epsilon": 1, "mechanism": "magic"},
            {"epsilon": 1, "neighbours": "all"},
        ],
        ids=str,
    )
    def test_nothing_is_charged_for_a_mistake(self, tmp_path: Path, wrong: dict[str, Any]) -> None:
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            with pytest.raises(ParameterError):
                ledger.release(prepare("auc", COUNTS, noise=FORBIDDEN, **wrong), account="a")
            assert list(tmp_path.iterdir()) == []
            ledger.open_account("a", epsilon=1)
            with pytest.raises(ParameterError):
                ledger.release(prepare("auc", COUNTS, noise=FORBIDDEN, **wrong), account="a")
            assert [entry.kind for entry in ledger.history("a")] == ["open"]

    def test_an_account_that_was_not_opened_is_refused(self, tmp_path: Path) -> None:
        prepared = prepare("auc", COUNTS, epsilon=1, noise=FORBIDDEN)
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            for ask in (ledger.quote, ledger.release):
                with pytest.raises(ParameterError, match="there is no ledger"):
                    ask(prepared, account="a")
            assert list(tmp_path.iterdir()) == []
            ledger.open_account("trial", epsilon=3)
            for ask in (ledger.quote, ledger.release):
                with pytest.raises(ParameterError, match="Did you mean 'trial'"):
                    ask(prepared, account="trail")
            assert [account.name for account in ledger.accounts()] == ["trial"]

    @pytest.mark.parametrize("curves", [True, False])
    def test_a_quote_draws_and_writes_nothing(self, tmp_path: Path, curves: bool) -> None:
        asked = [name for name in RELEASE_METRICS if curves or name not in ONLY_BY_CURVES]
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            ledger.open_account("a", epsilon=3)
            before = {path: path.read_bytes() for path in tmp_path.iterdir()}
            quote = ledger.quote(prepare(asked, COUNTS, epsilon=1, noise=FORBIDDEN), account="a")
        assert quote.price.epsilon == 1
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_a_refusal_draws_and_writes_nothing(self, tmp_path: Path) -> None:
        with Ledger(tmp_path / "ledger.sqlite") as ledger:
            ledger.open_account("a", epsilon="1/2")
            before = ledger.history("a")
            with pytest.raises(confide.BudgetError) as caught:
                ledger.release(prepare("auc", COUNTS, epsilon="2/3", noise=FORBIDDEN), account="a")
            assert ledger.history("a") == before
        assert (caught.value.requested, caught.value.remaining) == (Fraction(2, 3), Fraction(1, 2))
        assert caught.value.missing == Fraction(1, 6)

    def test_the_same_request_is_answered_from_the_ledger(self, tmp_path: Path) -> None:
        with Book(tmp_path / "ledger.sqlite") as ledger:
            for way in WAYS:
                if way.relation != "replace-one":
                    continue
                measures = {"measures": ("recall",)} if way.metric == "confusion" else {}
                # The account's cap of delta is 1e-5 in all.
                first = ledger.release(way.prepare(COUNTS, epsilon="1/10", noise=seeded(1), **measures), account="a")
                again = ledger.release(way.prepare(COUNTS, epsilon="0.1", noise=FORBIDDEN, **measures), account="a")
                assert again.reused
                assert not again.charged.epsilon
                assert again.releases == first.releases

    @pytest.mark.few(4)
    @pytest.mark.parametrize(
        "other",
        [
            {"mechanism": "student-t"},
            {"epsilon": "1/11"},
            {"unit": "row", "mechanism": "student-t", "prevalence_guess": 0.2},
            {"metrics": "brier"},
            {"metrics": "recall", "threshold": 0.4},
            {"metrics": "average_precision", "mechanism": "private-counts", "grid": Grid.uniform(5)},
            {"metrics": "roc", "grid": "uniform:5"},
            {"metrics": "roc", "strategy": "haar"},
            {"metrics": "roc", "mechanism": "fixed-space", "grid": "uniform:8"},
            {"metrics": "roc", "mechanism": "symmetric-binormal"},
            {"metrics": ["roc", "recall"]},  # the threshold becomes an edge
        ],
        ids=str,
    )
    def test_another_request_costs_again(self, tmp_path: Path, other: dict[str, Any]) -> None:
        with Book(tmp_path / "ledger.sqlite") as ledger:
            for kind in ("auc", "recall", "average_precision", "roc"):
                ledger.release(prepare(kind, COUNTS, epsilon="1/10"), account="a")
            receipt = ledger.release(
                prepare(**{"metrics": "auc", "counts": COUNTS, "epsilon": "1/10", **other}), account="a"
            )
        assert not receipt.reused
        assert receipt.charged.epsilon == (Fraction(1, 11) if "epsilon" in other else Fraction(1, 10))

    @pytest.mark.parametrize(
        "other",
        [
            {"metrics": "roc"},
            {"metrics": ["pr", "auc", "brier"]},
            {"metrics": "calibration", "level": 0.8},
            {"metrics": "curves", "shape": "counts"},
            {"metrics": "roc", "target": "recall=0.9"},
        ],
        ids=str,
    )
    def test_whatever_follows_from_the_same_counts_costs_nothing_more(
        self, tmp_path: Path, other: dict[str, Any]
    ) -> None:
        with Book(tmp_path / "ledger.sqlite") as ledger:
            ledger.release(prepare("roc", COUNTS, epsilon="1/10"), account="a")
            prepared = prepare(**{"counts": COUNTS, "epsilon": "1/10", "noise": FORBIDDEN, **other})
            receipt = ledger.release(prepared, account="a")
        assert receipt.reused
        assert not receipt.charged.epsilon

    def test_answers_do_not_depend_on_what_was_asked_for_before(self, tmp_path: Path) -> None:
        """The same noisy counts, asked for in another shape at first: the usual shape must not be that one."""
        with Book(tmp_path / "ledger.sqlite") as ledger:
            first = ledger.release(prepare("roc", COUNTS, epsilon=1, shape="counts", noise=seeded(1)), account="a")
            usual = ledger.release(prepare("roc", COUNTS, epsilon=1, noise=FORBIDDEN), account="a")
            named = ledger.release(prepare("roc", COUNTS, epsilon=1, shape="concave", noise=FORBIDDEN), account="a")
        assert usual.reused
        assert named.reused
        assert first.releases[0].options["shape"] == "counts"
        assert usual.releases == named.releases
