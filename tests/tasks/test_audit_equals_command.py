"""`confide.audit` gives Python what the command line prints."""

from __future__ import annotations

import json

import pytest

import confide
from confide.errors import ParameterError
from confide.tasks.audit import AuditReport
from tests.cli.commands import confide as command


def test_the_report_has_the_shape_of_the_command() -> None:
    found = confide.audit("auc/rank-sum", draws=4_000, epsilon="1/2", error=1e-3)
    assert isinstance(found, AuditReport)
    assert found.as_expected
    assert repr(found) == "<AuditReport: 0 of 2 refuted>"
    answer = command("audit", "auc/rank-sum", "--draws", 4_000, "--epsilon", "1/2", "--error", "1e-3", "--json")
    ours, theirs = found.to_dict(), json.loads(answer.out)
    assert set(ours) == set(theirs)
    names = [(one["mechanism"], one["neighbours"], one["epsilon"], one["error"]) for one in theirs["mechanisms"]]
    assert names == [(one["mechanism"], one["neighbours"], one["epsilon"], one["error"]) for one in ours["mechanisms"]]


def test_progress_is_told_and_wrong_names_are_refused() -> None:
    begun: list[str] = []
    confide.audit(["auc/rank-sum"], draws=4_000, starting=lambda subject: begun.append(subject.name))
    assert begun == ["auc/rank-sum"] * 2
    with pytest.raises(ParameterError, match="Did you mean 'auc/rank-sum'"):
        confide.audit("auc/rank-sun")
    with pytest.raises(ParameterError, match="`draws` must be at least"):
        confide.audit("auc/rank-sum", draws=10)
