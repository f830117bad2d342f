"""Wrong calls of a task are answered in the task's own words, with the next step."""

from __future__ import annotations

from typing import Any

import pytest

import confide


@pytest.mark.parametrize(
    ("name", "positions", "named", "says"),
    [
        ("release", ([0, 1], [0.2, 0.7]), {}, r"release\(\) takes source alone by position.*ScoreCounts.from_arrays"),
        ("release", ("f.csv",), {"metric": "auc"}, r"release\(\) has no parameter 'metric'\. Did you mean 'metrics'"),
        ("release", ("f.csv",), {"zzzzz": 1}, r"release\(\) has no parameter 'zzzzz'\. See help\(confide.release\)"),
        ("release", (), {}, r"release\(\) needs source"),
        ("train", ("f.csv",), {"epsilons": 1}, r"train\(\) has no parameter 'epsilons'\. Did you mean 'epsilon'"),
        ("select", ("f.csv",), {"labels": "y"}, r"select\(\) has no parameter 'labels'\. Did you mean 'label'"),
    ],
)
def test_a_wrong_call_names_the_task_and_the_next_step(
    name: str, positions: tuple[Any, ...], named: dict[str, Any], says: str
) -> None:
    with pytest.raises(TypeError, match=says):
        getattr(confide, name)(*positions, **named)
