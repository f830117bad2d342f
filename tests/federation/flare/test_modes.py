"""Questions in each mode, from submission to outcome, over real processes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from confide.counts import ScoreCounts
from confide.federation.coordinator.answers import summed_table
from confide.federation.coordinator.validation import derive
from confide.federation.question import Question
from confide.federation.site_state import ProgressState, SiteState
from confide.federation.tables import SiteTable, disclosed
from tests.federation.flare.conftest import SITES, Network
from tests.federation.site_books import logged
from tests.waiting import PATIENCE, wait_until


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


@pytest.mark.long
def test_goes_on_without_a_site_whose_policy_refuses(network: Network) -> None:
    policy = network.folders["west"].policy
    before = policy.read_text()
    policy.write_text(before.replace('studies = ["first", "noise"]', 'studies = ["another"]'))
    sites = ("east", "west")
    question = Question.checked(study="first", model="disclosed", mode="disclosure-control", sites=sites, fewest=1)
    try:
        outcome = network.session.run(question, timeout=PATIENCE)
    finally:
        policy.write_text(before)
    reports = {report.name: report for report in outcome.reports}
    assert {name: report.state for name, report in reports.items()} == {
        "east": SiteState.ANSWERED,
        "west": SiteState.REFUSED,
    }
    assert "takes part only in studies that its policy names" in reports["west"].message
    assert "study 'first'" in reports["west"].message
    assert outcome.question.sites == ("east",)
    assert set(outcome.sites) == {"east"}
    for site, sent in outcome.sites.items():
        labels, scores = network.pooled("disclosed", [site])
        table = disclosed(ScoreCounts.from_arrays(labels, scores), question.public_grid, 5)
        assert sent == json.loads(json.dumps(table.to_dict()))
    lines = logged(network.folders["west"])
    line = next(line for line in lines if line["model"] == "disclosed")
    assert (line["state"], line["round"], line["study"], line["coordinator"]) == (
        "refused",
        1,
        "first",
        network.federation.coordinator,
    )
    assert line["message"] == reports["west"].message


def test_secure_sum_is_that_of_the_pooled_rows_and_nothing_is_printed(
    network: Network, capfd: pytest.CaptureFixture[str]
) -> None:
    question = Question.checked(study="first", model="summed", mode="secure-sum", sites=SITES)
    heard: dict[str, list[str]] = {}
    capfd.readouterr()
    outcome = network.session.run(
        question, timeout=PATIENCE, progress=lambda site, state: heard.setdefault(site, []).append(state)
    )
    assert capfd.readouterr() == ("", "")
    for place in network.folders.values():
        wait_until(partial(is_empty, place.path / "run" / "tmp"))
    assert set(heard) == set(SITES)
    # The server is looked at now and then: a quick site may have replied before it was seen as asked.
    assert all(states[0] == "not asked yet" and len(states) > 1 for states in heard.values()), heard
    assert set().union(*heard.values()) <= set(ProgressState) - {ProgressState.FAILED, ProgressState.SILENT}
    labels, scores = network.pooled("summed", SITES)
    assert outcome.total is not None
    table = summed_table(outcome.question, outcome.total)
    cells = np.minimum((scores * 65536).astype(int), 65535)
    by_hand = np.stack([np.bincount(cells[labels == label], minlength=65536) for label in (1, 0)])
    np.testing.assert_array_equal(table.cells, by_hand)
    pooled = SiteTable.of(ScoreCounts.from_arrays(labels, scores), question.public_grid, question.bins)
    assert (table.bin_sums, table.sums, table.squares) == (pooled.bin_sums, pooled.sums, pooled.squares)
    above = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    area = np.mean((above > 0) + 0.5 * (above == 0))
    assert derive(outcome).pooled.auc.value == pytest.approx(area, abs=1e-12)
