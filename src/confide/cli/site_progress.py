"""Asking sites: a line for each while it goes on, a table of what each said where it failed, the results at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from confide.cli import output
from confide.cli.federation_common import print_rows

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from confide.federation.coordinator.expected_accuracy import Expected
    from confide.federation.coordinator.validation import Validation
    from confide.federation.flare.session import FederationSession
    from confide.federation.outcome import Outcome, RunError, SiteReport
    from confide.federation.question import Question

FAILURE_SCHEMA = "confide.validation-failure/1"
PLAN_SCHEMA = "confide.validation-plan/1"

_WAITING = "not asked yet"
_SECOND = "asked for its answer"
_WELL = "well"
_ABSENT = "not connected"
_COLOURS = {
    "answered": "green",
    "takes part": "cyan",
    "refused": "red",
    "failed": "red",
    "silent": "red",
    _ABSENT: "red",
}


@dataclass(slots=True)
class Watch:
    """What is known of each site: shown as it changes, where somebody watches in place, else a line for each change."""

    sites: tuple[str, ...]
    live: Live | None = None
    states: dict[str, str] = field(default_factory=dict)
    second: bool = False

    def __call__(self, site: str, state: str) -> None:
        """Hear of a site."""
        if self.states.get(site) == _ABSENT:
            return
        if state == _SECOND:
            self.second = True
        if state == _WELL:
            state = "answered" if self.second else "takes part"
        self.tell(site, state)

    def settle(self, reports: Sequence[SiteReport]) -> None:
        """Say how each site took part in the end, and why it did not."""
        for report in reports:
            self.tell(report.name, f"{report.state}: {report.message}" if report.message else report.state)

    def tell(self, site: str, state: str) -> None:
        """Show a site's state, if it is news."""
        if self.states.get(site) == state:
            return
        self.states[site] = state
        if self.live is not None:
            self.live.update(self.drawn(), refresh=True)
        else:
            typer.echo(f"  {site}: {state}", err=True)

    def drawn(self) -> Text:
        """A line for each site."""
        from rich.text import Text

        width = max(len(site) for site in self.sites)
        text = Text()
        for site in self.sites:
            state = self.states.get(site, _WAITING)
            text.append(f"  {site:<{width}}  ")
            text.append(f"{state}\n", style=_COLOURS.get(state.partition(":")[0], "dim"))
        return text


@contextmanager
def watching(sites: tuple[str, ...]) -> Iterator[Watch]:
    """Show on standard error how each site takes part."""
    watch = Watch(sites)
    if not sys.stderr.isatty():
        yield watch
        return
    from rich.console import Console
    from rich.live import Live

    with Live(watch.drawn(), console=Console(stderr=True), auto_refresh=False) as live:
        watch.live = live
        yield watch


def ask(session: FederationSession, question: Question, *, timeout: float) -> Outcome:
    """Ask the sites of a question over an open session, showing each; a failure is told in full."""
    from confide.federation.outcome import RunError

    with watching(question.sites) as watch:
        try:
            outcome = session.run(question, timeout=timeout, progress=watch)
        except RunError as error:
            for report in error.reports:  # a table of what each said follows
                watch(report.name, _in_vain(report, error))
            raise
        watch.settle(outcome.reports)
    return outcome


def show_failure(error: RunError, question: Question, *, as_json: bool) -> int:
    """Print what each site said, and return the exit code: 3 where a site lacks budget, else 1."""
    code = 3 if any(lacks_budget(report) for report in error.reports) else 1
    if as_json:
        output.print_json(
            {
                "schema": FAILURE_SCHEMA,
                "question": question.to_dict(),
                "sites": [report.to_dict() for report in error.reports],
                "error": _without_words(error),
                "exit_code": code,
            }
        )
    else:
        said = [(report.name, _in_vain(report, error), report.message or "–") for report in error.reports]
        print_rows("What each site said", ("site", "state", "message"), said)
    typer.echo(f"error: {_without_words(error)}", err=True)
    return code


def _in_vain(report: SiteReport, error: RunError) -> str:
    """How a site took part in a run that came to nothing."""
    if report.state != "answered":
        return report.state
    return "was ready" if error.rounds < 2 else "did its part"


def _free(question: Question) -> str:
    """Why a mode charges no ledger."""
    from confide.federation.modes.registry import mode_of

    return f"no privacy budget: {mode_of(question).free_reason}"


def _without_words(error: RunError) -> str:
    """The message with sites' names alone, where what each said stands beside it."""
    text = str(error)
    for report in error.reports:
        text = text.replace(report.in_words(), report.name)
    return text


def lacks_budget(report: SiteReport) -> bool:
    """Whether a site did not answer because its ledger could not pay."""
    from confide.federation.site_state import RefusalReason

    return report.reason is RefusalReason.BUDGET


def show_validation(validation: Validation, *, report: Path | None, as_json: bool) -> None:
    """Write the report, if one was asked for, and print the results."""
    if report is not None:
        write_report(validation, report)
    if as_json:
        output.print_json(validation.to_dict())
        return
    from confide.report.validation.text import print_validation

    print_validation(validation, output.console())


def write_report(validation: Validation, path: Path) -> None:
    """Draw a report and write it whole."""
    from confide.report.validation.page import validation_page

    with output.busy("drawing the report"):
        page = validation_page(validation)
    output.write_whole(path, page)


def show_plan(
    question: Question, prices: Mapping[str, str | None], expected: Expected | None = None, *, as_json: bool
) -> None:
    """Print what would be asked, what it promises, what it would cost each site, and how accurate it will be."""
    from confide.federation.coordinator.validation import promise_of

    promise = promise_of(question)
    if as_json:
        output.print_json(
            {
                "schema": PLAN_SCHEMA,
                "question": question.to_dict(),
                "promise": list(promise),
                "epsilon": dict(prices),
                "expected": None if expected is None else expected.to_dict(),
            }
        )
        return
    asked = {name: value for name, value in question.to_dict().items() if name not in ("sites", "protocol")}
    print_rows("The question", ("asked", "value"), [(name.replace("_", " "), str(v)) for name, v in asked.items()])
    paid = [(site, price) for site, price in prices.items() if price is not None]
    print_rows("What it would cost", ("site", "epsilon"), paid or [("every site", _free(question))])
    if expected is not None:
        _show_expected(expected)
    console = output.console()
    console.print("What would be promised", style="bold", highlight=False)
    for sentence in promise:
        console.print(sentence, highlight=False, markup=False)


def _show_expected(expected: Expected) -> None:
    """Print the errors and widths to be expected, and what they suppose."""
    shown = {f"all sites, {expected.pooled.rows:,} rows": expected.pooled}
    if expected.site is not None:
        shown[f"one site, {expected.site.rows:,} rows"] = expected.site
    lines = [
        (
            name,
            f"{each.roc_area_error:.2g}",
            f"{each.auc_error:.2g}",
            f"{each.auc_sample_width:.2g}",
            f"{each.auc_population_width:.2g}",
        )
        for name, each in shown.items()
    ]
    head = ("", "area between ROC curves", "error of AUC", "interval, these rows", "interval, population")
    print_rows("How accurate it would be (means)", head, lines)
    rows = "as stated" if expected.stated else "supposed; state how many with --rows"
    console = output.console()
    console.print(
        f"Rows {rows}. Simulated with calibrated scores, AUC {expected.pooled.auc:.2f} and "
        f"{expected.pooled.prevalence:.0%} positives; no site is asked.",
        highlight=False,
        markup=False,
    )
