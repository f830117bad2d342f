"""Live display of the sites that take part in a validation, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from confide.cli.federation_common import with_flags

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from confide.federation.outcome import RunError, SiteReport

_WAITING = "not asked yet"
_SECOND = "asked for its answer"
_WELL = "well"
_ABSENT = "not connected"
_COLOURS: Mapping[str, str] = {
    "answered": "green",
    "takes part": "cyan",
    "refused": "red",
    "failed": "red",
    "silent": "red",
    _ABSENT: "red",
}


@dataclass(slots=True)
class SiteProgress:
    """The state of each site: drawn in place on a terminal, else printed as a line for each change."""

    sites: tuple[str, ...]
    live: Live | None = None
    states: dict[str, str] = field(default_factory=dict)
    second_round: bool = False

    def __call__(self, site: str, state: str) -> None:
        """Show a state that a run tells; a site that is not connected stays so."""
        if self.states.get(site) == _ABSENT:
            return
        if state == _SECOND:
            self.second_round = True
        if state == _WELL:
            state = "answered" if self.second_round else "takes part"
        self.show(site, state)

    def settle(self, reports: Sequence[SiteReport]) -> None:
        """Show the final state of each site, with the message of one that did not take part."""
        for report in reports:
            message = f": {with_flags(report.message)}" if report.message else ""
            self.show(report.name, f"{report.state}{message}", report.state)

    def fail(self, error: RunError) -> None:
        """Show the final state of each site of a failed run; its messages stand in a table that follows."""
        from confide.report.validation.failure import state_words

        for report in error.reports:
            self(report.name, state_words(report, error))

    def show(self, site: str, text: str, state: str = "") -> None:
        """Show a text about a site, if it is new."""
        if self.states.get(site) == text:
            return
        self.states[site] = text
        if self.live is not None:
            self.live.update(self.draw(), refresh=True)
        else:
            typer.echo(f"  {site}: {text}", err=True)

    def draw(self) -> Text:
        """Return a line for each site."""
        from rich.text import Text

        width = max(len(site) for site in self.sites)
        text = Text()
        for site in self.sites:
            state = self.states.get(site, _WAITING)
            text.append(f"  {site:<{width}}  ")
            text.append(f"{state}\n", style=_COLOURS.get(state.partition(":")[0], "dim"))
        return text


@contextmanager
def showing_progress(sites: tuple[str, ...]) -> Iterator[SiteProgress]:
    """Show on standard error how each site takes part, up to how a failed run ended."""
    from confide.federation.outcome import RunError

    progress = SiteProgress(sites)
    if not sys.stderr.isatty():
        with _showing_failure(progress, RunError):
            yield progress
        return
    from rich.console import Console
    from rich.live import Live

    with Live(progress.draw(), console=Console(stderr=True), auto_refresh=False) as live:
        progress.live = live
        with _showing_failure(progress, RunError):
            yield progress


@contextmanager
def _showing_failure(progress: SiteProgress, failure: type[RunError]) -> Iterator[None]:
    try:
        yield
    except failure as error:
        progress.fail(error)
        raise
