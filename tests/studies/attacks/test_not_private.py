"""What is not private cannot be taken for it: no promise is attached, and nobody finds it where private things are."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import studies.stoddard.attacks as package
from studies.stoddard.attacks import (
    cluster_selection,
    game,
    laplace,
    noisy_cut,
    refutations,
    summary,
    threshold_testing,
)

import confide
from confide.features import FeatureRows
from confide.privacy.guarantee import Guarantee

ROOT = Path(confide.__file__).parent
MODULES = [
    importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__)
]

RNG = np.random.default_rng(1)
KNOWN = FeatureRows.from_matrix([[1, 1], [1, 0]], np.array([True, False]))
CLUSTERS: dict[str, Any] = {"rounds": 1, "most_features": 2, "epsilon": 1}
CENTERS = np.array([[1.0, 0.0], [2.0, 1.0]])
PAIR = (None, game.Candidate(features=(0,)))

CALLS: dict[Callable[..., Any], Callable[[], Any]] = {
    threshold_testing.ptt_scale: lambda: threshold_testing.ptt_scale(1),
    threshold_testing.ptt_support: lambda: threshold_testing.ptt_support([1, 2], 1, 1, RNG),
    threshold_testing.ptt_probability: lambda: threshold_testing.ptt_probability([0, 1], [1, 2], 1, 1),
    noisy_cut.noisycut_scales: lambda: noisy_cut.noisycut_scales(1),
    noisy_cut.noisycut_support: lambda: noisy_cut.noisycut_support([1, 2], 1, 1, RNG),
    noisy_cut.noisycut_log_probability: lambda: noisy_cut.noisycut_log_probability([0, 1], [1, 2], 1, 1),
    cluster_selection.cluster_support: lambda: cluster_selection.cluster_support(
        [[1, 2], [0, 1]], rows=3, centers=2, score="total-count", threshold=1, rng=RNG, **CLUSTERS
    ),
    cluster_selection.cluster_scales: lambda: cluster_selection.cluster_scales(**CLUSTERS),
    cluster_selection.drawn_centers: lambda: cluster_selection.drawn_centers(3, 2, RNG),
    cluster_selection.nearest: lambda: cluster_selection.nearest(CENTERS, CENTERS),
    cluster_selection.sizes_and_sums: lambda: cluster_selection.sizes_and_sums(CENTERS, CENTERS),
    cluster_selection.checked_counts: lambda: cluster_selection.checked_counts([[1, 2], [0, 1]]),
    cluster_selection.checked_centers: lambda: cluster_selection.checked_centers(CENTERS, 2),
    laplace.log_shares: lambda: laplace.log_shares(CENTERS),
    laplace.log_density: lambda: laplace.log_density(CENTERS),
    laplace.between: lambda: laplace.between(0, 1),
    laplace.checked_claim: lambda: laplace.checked_claim(1, 1),
    laplace.checked_threshold: lambda: laplace.checked_threshold(1),
    laplace.checked_scores: lambda: laplace.checked_scores([1]),
    laplace.checked_support: lambda: laplace.checked_support([1], 1),
    refutations.ptt_loss: lambda: refutations.ptt_loss(1),
    refutations.identified_by_ptt: lambda: refutations.identified_by_ptt(0, 1),
    refutations.told_by_ptt: lambda: refutations.told_by_ptt([1, 1], [0, 1], 1, 1),
    refutations.ptt_success: lambda: refutations.ptt_success([1], [2], 1, 1),
    refutations.noisycut_loss: lambda: refutations.noisycut_loss(1, 1),
    refutations.noisycut_bound: lambda: refutations.noisycut_bound(1, 1),
    refutations.noisycut_breaks_at: lambda: refutations.noisycut_breaks_at(1),
    refutations.round_loss: lambda: refutations.round_loss([[1], [0]], [[2], [0]], CENTERS, **CLUSTERS),
    refutations.cluster_loss: lambda: refutations.cluster_loss(1),
    refutations.cluster_splits: lambda: refutations.cluster_splits(1, trials=2, rng=RNG),
    summary.refuted_claims: lambda: summary.refuted_claims(1, trials=2, rng=RNG),
    game.worlds: lambda: game.worlds(KNOWN, PAIR),
    game.game_scores: lambda: game.game_scores(KNOWN, "total-count"),
    game.membership_game: lambda: game.membership_game(
        KNOWN, PAIR, "threshold-testing", epsilon=1, threshold=1, trials=2, rng=RNG
    ),
}


def public(module: ModuleType, kind: Callable[[Any], bool]) -> Iterator[Any]:
    for name, found in vars(module).items():
        if kind(found) and not name.startswith("_") and found.__module__ == module.__name__:
            yield found


def inside(value: Any) -> Iterator[Any]:
    """A result, and everything that it holds."""
    yield value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from inside(getattr(value, field.name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from inside(each)
    elif isinstance(value, dict):
        yield from inside([*value.keys(), *value.values()])


def promises(value: Any) -> bool:
    """Whether a result carries a promise, or could be taken for something that does."""
    named = any(hasattr(value, name) for name in ("guarantee", "guarantee_", "fit", "transform", "draw"))
    return named or isinstance(value, Guarantee)


def test_no_function_is_forgotten() -> None:
    assert {found for module in MODULES for found in public(module, inspect.isfunction)} == set(CALLS)


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_no_result_promises_anything(function: Callable[..., Any]) -> None:
    assert not any(promises(each) for each in inside(CALLS[function]()))


@pytest.mark.parametrize("name", ["ptt_support", "noisycut_support", "cluster_support"])
def test_what_is_selected_is_a_plain_mask_and_the_function_says_what_it_is_not(name: str) -> None:
    (function,) = (each for each in CALLS if each.__name__ == name)
    found = CALLS[function]()
    assert type(found) is np.ndarray
    assert found.dtype == np.bool_
    assert found.shape == (2,)
    assert "Not private" in str(function.__doc__) or "Not epsilon-private" in str(function.__doc__)
    assert any(
        word in str(inspect.getmodule(function).__doc__) for word in ("not private", "does not give its epsilon")
    )


def test_no_class_promises_anything() -> None:
    for module in MODULES:
        assert not any(promises(found) for found in public(module, inspect.isclass))


def test_the_word_is_not_in_the_code() -> None:
    for module in MODULES:
        names = {node.id for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Name)}
        assert "Guarantee" not in names
        assert "Guarantee" not in vars(module)


def test_the_finder_of_promises_finds_one() -> None:
    promised = Guarantee(epsilon=1, neighbours="replace-one")  # type: ignore[arg-type]
    assert any(promises(each) for each in inside(({"deep": [promised]},)))


@pytest.mark.parametrize("name", ["confide", "confide.learning"])
def test_nothing_of_this_is_offered_where_private_things_are(name: str) -> None:
    offered = importlib.import_module(name)
    names = " ".join([*dir(offered), *getattr(offered, "__all__", ())]).lower()
    assert not any(word in names for word in ("ptt", "noisycut", "noisy_cut", "threshold_testing", "cluster_support"))


def test_only_attacks_studies_and_what_shows_them_import_it() -> None:
    allowed = {"attacks", "studies", "report", "cli"}
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in allowed:
            assert "attacks.selection" not in path.read_text(encoding="utf-8"), path.name
