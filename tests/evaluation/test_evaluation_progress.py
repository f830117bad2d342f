"""An evaluation of several models or groups reports each step as it begins."""

from __future__ import annotations

import numpy as np

import confide


def test_models_and_groups_are_steps() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(200) < 0.4
    models = {name: rng.random(200) + labels for name in ("new", "old")}
    groups = {"sex": rng.choice(["f", "m"], 200), "ward": rng.choice(["a", "b", "c"], 200)}
    seen: list[tuple[int, int, str]] = []
    found = confide.evaluate(labels, models, groups=groups, replicates=0, progress=lambda *step: seen.append(step))
    assert [done for done, _, _ in seen] == list(range(len(seen)))
    assert {total for _, total, _ in seen} == {len(seen)}
    named = [what for _, _, what in seen]
    assert named[:3] == ["ranking the rows", "evaluating new", "evaluating old"]
    assert len(named) == 3 + len(found.groups)
    assert found == confide.evaluate(labels, models, groups=groups, replicates=0)
