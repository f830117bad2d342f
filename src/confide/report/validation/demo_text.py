"""Demonstration of a federation: each step with its commands, and the results of all modes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.report.shared.numbers import interval_text, number
from confide.report.validation.word_table import print_words

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.validation import Validation
    from confide.tasks.federation_demo import Demo, DemoFederation

SCHEMA = "confide.federation-demo/1"


def federation_step(demo: Demo) -> str:
    """Describe the making of the federation."""
    named = " ".join(f"--site {name}" for name in demo.sites)
    return _step(
        "1. The coordinator makes a federation",
        f"confide federation init {demo.folder}/coordinator --name demo {named}",
    )


def sites_step(demo: Demo) -> str:
    """Describe the set-up of the sites."""
    data, first = demo.data, demo.sites[0]
    scored = f"--score {data.score}" if data.score is not None else f"--model-file {data.model_file} --features ..."
    return _step(
        f"2. Each of {len(demo.sites)} hospitals makes its keys and sets up its site, with rows that nobody else sees",
        f"confide site request {demo.folder}/{first} --name {first}",
        f"confide federation sign {demo.folder}/coordinator {first}.request --compared",
        f"confide site init {first}.zip {demo.folder}/{first} --model-name {data.model_name} --data {first}.csv "
        f"--label {data.label} {scored} --modes {','.join(demo.questions)}",
    )


def start_step(demo: Demo) -> str:
    """Describe the start of the server and of the sites."""
    return _step(
        "3. The server and the sites start, and connect",
        f"confide federation start {demo.folder}/coordinator --background",
        f"confide site start {demo.folder}/{demo.sites[0]} --background",
    )


def validate_step(demo: Demo, mode: str, report: Path) -> str:
    """Describe the validation in one mode."""
    question, position = demo.questions[mode], 4 + list(demo.questions).index(mode)
    price = "" if question.epsilon is None else f" --epsilon {question.epsilon} --site-share {question.site_share}"
    return _step(
        f"{position}. The coordinator validates in mode {mode}",
        f"confide validate --federation {demo.folder}/coordinator --model-name {demo.data.model_name} "
        f"--study {question.study} --mode {question.mode}{price} --report {report}",
    )


def forget_step(demo: Demo) -> str:
    """Explain why the demonstration's sites forget an answer."""
    return (
        "Sites answer one question without noise for each model, as two answers could be subtracted from each other.\n"
        f"For this demonstration each forgets the first: confide site forget SITE {demo.data.model_name} --yes\n"
        "A real site must not do so: only if nobody saw the first answer, or the data were replaced completely."
    )


def demo_document(
    made: DemoFederation,
    validations: Mapping[str, Validation],
    reports: Mapping[str, Path],
    all_rows: Mapping[str, float | None],
    seconds: float,
) -> dict[str, Any]:
    """Return plain data in the published schema."""
    return {
        "schema": SCHEMA,
        "folder": str(made.federation.folder.parent),
        "sites": list(made.federation.sites),
        "validations": {mode: validation.to_dict() for mode, validation in validations.items()},
        "reports": {mode: str(path) for mode, path in reports.items()},
        "all_rows": dict(all_rows),
        "seconds": round(seconds, 1),
    }


def print_demo(
    validations: Mapping[str, Validation],
    all_rows: Mapping[str, float | None],
    seconds: float,
    console: Console,
) -> None:
    """Print the results of each mode beside those of all rows in one place."""
    body = [_line(mode, validation) for mode, validation in validations.items()]
    body.append(("all rows in one place", number(all_rows["auc"], 4), "", number(all_rows["brier"], 4), ""))
    sites = len(next(iter(validations.values())).question.sites)
    head = ("mode", "AUC", "95 % interval", "Brier", "epsilon a site")
    print_words(f"{sites} hospitals, {seconds:.0f} seconds in all", head, body, console)


def _line(mode: str, validation: Validation) -> tuple[str, ...]:
    pooled = validation.pooled
    return (
        mode,
        number(pooled.auc.value, 4),
        interval_text(pooled.auc.interval),
        number(None if pooled.brier is None else pooled.brier.value, 4),
        str(validation.question.epsilon or "–"),
    )


def _step(headline: str, *commands: str) -> str:
    return "\n".join([f"\n{headline}. The same as:", *(f"  {command}" for command in commands)])
