"""What a dry run says about modes, against the engine's own answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.federation.coordinator.planning import consequences, expected_widths
from confide.federation.coordinator.validation import derive
from confide.federation.protocol import RunError
from tests.federation.network import Network


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, {"north": 400, "south": 400, "west": 400})


@pytest.mark.few(1)
@pytest.mark.parametrize("first", ["disclosure-control", "secure-sum"])
def test_what_is_said_to_be_refused_is_refused(network: Network, first: str) -> None:
    other = ({"disclosure-control", "secure-sum"} - {first}).pop()
    (words, *more) = consequences(network.question(first))
    assert f"refuses mode {other}" in words
    network.run(network.question(first))
    with pytest.raises(RunError, match="answered another question"):
        network.run(network.question(other))
    network.run(network.question("private", epsilon=1))
    assert bool(more) is (first == "secure-sum")


def test_widths_are_of_the_size_that_answers_have(network: Network) -> None:
    """Stand-ins have another AUC and prevalence than these rows, so widths agree roughly."""
    widths = {one.mode: one.auc_population_width for one in expected_widths(network.question("secure-sum"), rows=1200)}
    found = derive(network.run(network.question("secure-sum"))).pooled.auc.interval
    assert found is not None
    assert widths["secure-sum"] == pytest.approx(found.width, rel=0.5)
    assert widths["private"] is not None
    assert widths["secure-sum"] is not None
    assert widths["private"] > widths["secure-sum"]


def test_more_rows_make_every_mode_narrower(network: Network) -> None:
    few, many = (expected_widths(network.question("disclosure-control"), rows=rows) for rows in (600, 6000))
    for one, other in zip(few, many, strict=True):
        assert one.auc_population_width is not None
        assert other.auc_population_width is not None
        assert other.auc_population_width < one.auc_population_width


def test_a_mode_that_two_sites_cannot_have_is_named(network: Network) -> None:
    widths = expected_widths(network.question("disclosure-control", sites=("north", "south")))
    assert {one.mode for one in widths if one.auc_population_width is None} == {"secure-sum", "private"}
