"""What makes two questions editions of one series: everything but the edition, the purpose and the version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

from confide.errors import UsageError
from confide.federation.coordinator.series import Edition
from confide.federation.periods import Period
from confide.federation.question import Question

_LEFT_OUT = frozenset({"edition", "purpose", "protocol", "threshold"})
"""Fields that are not compared: no answer depends on the purpose, and the threshold follows from other fields."""

_PARAMETERS = {"model": "model_name"}
_ABSENT = {"noise": "laplace"}


class OtherSeriesError(UsageError):
    """A folder holds the series of another question. `differing` has the parameters that differ."""

    def __init__(self, folder: Path, held: Edition, differing: Sequence[str], words: str) -> None:
        question = held.question
        price = f", epsilon {question.epsilon}" if question.epsilon is not None else ""
        every = "" if held.period is None else f", asked every {held.period.kind}"
        super().__init__(
            f"{folder} holds the series of model {question.model!r}, study {question.study}, mode {question.mode}"
            f"{price}{every}. This question differs in {words}. Nobody was asked. Give another folder (`series`), or "
            "ask the question that the folder holds"
        )
        self.folder = folder
        self.differing = tuple(differing)


def require_same_series(
    folder: Path, editions: Sequence[Edition], question: Question, period: Period, *, level: float
) -> None:
    """Refuse a question that is not the next edition, or a stored one, of the series in a folder.

    The question is compared with the edition of its own period, if that is stored, and else with the latest one. Its
    period must be of the kind that all editions have.
    """
    if not editions:
        return
    held = next((one for one in editions if one.name == period.name), editions[-1])
    for one in editions:
        if one.period is None or one.period.kind != period.kind:
            stated = "no period" if one.period is None else one.period.kind
            _refuse(folder, one, {"every": (stated, period.kind), **_differing(one, question, level)})
    differing = _differing(held, question, level)
    if differing:
        _refuse(folder, held, differing)


def _refuse(folder: Path, held: Edition, differing: Mapping[str, tuple[str, str]]) -> NoReturn:
    words = ", ".join(f"`{name}` ({asked} instead of {stored})" for name, (stored, asked) in differing.items())
    raise OtherSeriesError(folder, held, tuple(differing), words)


def _differing(held: Edition, question: Question, level: float) -> dict[str, tuple[str, str]]:
    """Return the parameters that differ, each with the stored value and the one asked for."""
    found = dict(_different_terms(held.question, question))
    if held.level != level:
        found["level"] = (f"{held.level:g}", f"{level:g}")
    return found


def _different_terms(stored: Question, asked: Question) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in (field.name for field in fields(Question)):
        values = getattr(stored, name), getattr(asked, name)
        if name not in _LEFT_OUT and values[0] != values[1]:
            yield _PARAMETERS.get(name, name), (_words(name, values[0]), _words(name, values[1]))


def _words(name: str, value: object) -> str:
    if value is None:
        return _ABSENT.get(name, "none")
    return " and ".join(value) if isinstance(value, tuple) else str(value)
