"""All studies, by name: what each repeats, and how it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from studies.exhibits import StudyReport
    from studies.options import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Study by its name; `where` is the function that runs it, as `module:function`, imported when it is needed."""

    name: str
    paper: str
    where: str
    needs_data: bool = False

    def run(self, asked: Asked) -> StudyReport:
        """Run the study."""
        module, _, function = self.where.partition(":")
        run = cast("Callable[[Asked], StudyReport]", getattr(import_module(module), function))
        return run(asked)


STUDIES = (
    Entry(name="boyd-pr", paper="Boyd (2014), precision-recall", where="studies.boyd_pr.command:run_boyd_pr"),
    Entry(
        name="boyd-private",
        paper="Boyd (2014), chapter 5, and Boyd, Lantz & Page (2015)",
        where="studies.boyd_private.command:run_boyd_private",
    ),
    Entry(
        name="stoddard",
        paper="Stoddard, Chen & Machanavajjhala (2014)",
        where="studies.stoddard.command:run_stoddard",
        needs_data=True,
    ),
    Entry(name="schalk", paper="Schalk and others (2024)", where="studies.schalk.command:run_schalk"),
    Entry(name="whitehill", paper="Whitehill (2019)", where="studies.whitehill.command:run_whitehill"),
)
