"""Live display of the sites that take part in a validation, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from confide.cli.federation_common import with_flags
from confide.federation.site_state import ProgressState, SiteState

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from confide.federation.outcome import RunError, SiteReport

_BAD = frozenset({ProgressState.NOT_CONNECTED, ProgressState.REFUSED, ProgressState.FAILED, ProgressState.SILENT})


@dataclass(slots=True)
class SiteProgress:
    """State of each site: drawn in place on a terminal, else printed as a line for each change."""

    sites: tuple[str, ...]
    live: Live | None = None
    second_round: bool = False
    absent: set[str] = field(default_factory=set)
    words: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)

    def __call__(self, site: str, state: ProgressState) -> None:
        """Show a state that a run reports; a site that is not connected stays so."""
        if site in self.absent:
            return
        if state is ProgressState.NOT_CONNECTED:
            self.absent.add(site)
        if state is ProgressState.ASKED_FOR_ANSWER:
            self.second_round = True
        if state is ProgressState.ACCEPTED:
            words, colour = ("answered", "green") if self.second_round else ("takes part", "cyan")
            self.show(site, words, colour)
        else:
            self.show(site, state.value, "red" if state in _BAD else "dim")

    def settle(self, reports: Sequence[SiteReport]) -> None:
        """Show the final state of each site, with the message of one that did not take part."""
        for report in reports:
            message = f": {with_flags(report.message)}" if report.message else ""
            self.show(report.name, f"{report.state}{message}", _final_colour(report.state))

    def fail(self, error: RunError) -> None:
        """Show the final state of each site of a failed run; its messages stand in a table that follows."""
        from confide.report.validation.failure import state_words

        for report in error.reports:
            if report.name not in self.absent:
                self.show(report.name, state_words(report, error), _final_colour(report.state))

    def show(self, site: str, words: str, colour: str = "dim") -> None:
        """Show words about a site, if they are new."""
        if self.words.get(site) == words:
            return
        self.words[site], self.colours[site] = words, colour
        if self.live is not None:
            self.live.update(self.draw(), refresh=True)
        else:
            typer.echo(f"  {site}: {words}", err=True)

    def draw(self) -> Text:
        """Return a line for each site."""
        from rich.text import Text

        width = max(len(site) for site in self.sites)
        text = Text()
        for site in self.sites:
            text.append(f"  {site:<{width}}  ")
            text.append(f"{self.words.get(site, ProgressState.NOT_ASKED.value)}\n", style=self.colours.get(site, "dim"))
        return text


def _final_colour(state: SiteState) -> str:
    return "green" if state is SiteState.ANSWERED else "red"


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
