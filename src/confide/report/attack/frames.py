"""An attack as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from confide.attacks.exposure import AttackReport, Exposure
from confide.report.shared.frames import data_frame, interval_cells

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("published", "attacker", "metric", "value", "lower", "upper", "level", "bound")

_OUTSIDER = ("certain", "known", "known_right", "right", "log10_labelings")


def attack_frame(attacked: AttackReport) -> DataFrame:
    """Return one row for each number about each publication.

    `bound` is the upper bound of the guarantee on an insider's success; it is missing without one.
    """
    return data_frame((row for exposure in attacked.exposures for row in _rows(exposure)), COLUMNS)


def _rows(exposure: Exposure) -> Iterator[dict[str, Any]]:
    published = exposure.published.spec
    if exposure.outsider is not None:
        found = exposure.outsider.to_dict()
        for name in _OUTSIDER:
            if found[name] is not None:
                yield {"published": published, "attacker": "outsider", "metric": name, "value": float(found[name])}
    inside = {"published": published, "attacker": "insider"}
    for name in ("tried", "told"):
        number = getattr(exposure.insider, name)
        if number is not None:
            yield {**inside, "metric": name, "value": float(number)}
    game = exposure.insider.game
    measured = {} if game is None else {**interval_cells(game.interval), "bound": game.bound}
    yield {**inside, "metric": "success", "value": exposure.insider.success, **measured}
