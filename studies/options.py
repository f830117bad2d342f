"""Options that all studies share, and what a command does with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from confide.cli import output
from confide.errors import UsageError
from confide.tasks.output_files import check_report, check_writable
from studies.exhibits import StudyReport
from studies.repeatable_noise import checked_seed
from studies.running import Piece, Preparation, Workers, run_pieces
from studies.store import Arrays, Store, default_folder

ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
]
SummaryOption = Annotated[
    Path | None,
    typer.Option("--summary", metavar="OUT.json", help="Write figures, claims and verdicts alone, as JSON."),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer repetitions and settings: a first look.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random numbers.")]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", min=1, help="Pieces to compute beside each other. [default: the cores]"),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="DIR", help="Folder of finished pieces. [default: .studies, or $CONFIDE_STUDIES_CACHE]"
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Compute everything anew instead of resuming from finished pieces.")
]
DataOption = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder with the public files.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a user asks of any study."""

    quick: bool = False
    seed: int = 0
    jobs: int | None = None
    data: Path | None = None
    cache: Path | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        if self.data is not None and not self.data.is_dir():
            raise UsageError(f"{self.data} is not a folder; give the one with the public files")

    def run(
        self,
        study: str,
        settings: Mapping[str, Any],
        pieces: Sequence[Piece],
        *,
        workers: Workers = "processes",
        prepare: Preparation | None = None,
    ) -> dict[str, Arrays]:
        """Run the pieces of a study with a progress bar, resuming what was stopped.

        `settings` are plain data that decide the results, the checksums of data files among them.
        """
        store = Store.open(self.cache or default_folder(), study, settings, fresh=self.fresh)
        with output.steps(len(pieces), "repeating the study") as step:
            return run_pieces(pieces, store, jobs=self.jobs, workers=workers, prepare=prepare, finished=step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a user wants to see of a study."""

    report: Path | None = None
    summary: Path | None = None
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.report is not None:
            check_report(self.report)
        if self.summary is not None:
            if self.summary.suffix.lower() != ".json":
                raise UsageError(f"{self.summary} must end in .json, as a summary is written as JSON")
            check_writable(self.summary)


def study_command(run: Callable[..., StudyReport], *, data: bool = False) -> Callable[..., None]:
    """Turn a function that runs a study into a command.

    The keywords of `run` become options; those that all studies share, and `--data` if it is wanted, are added. The
    first argument of `run` is an `Asked`, and its docstring is the command's help.
    """
    hints = get_type_hints(run, include_extras=True)
    own = [each.replace(annotation=hints[each.name]) for each in list(signature(run).parameters.values())[1:]]
    asked, shown = _keywords(Asked, _ASKED), _keywords(Shown, _SHOWN)
    files = asked.pop("data")
    options = [*([files] if data else []), shown.pop("report"), *own, *asked.values(), *shown.values()]

    def command(**given: Any) -> None:
        wanted = Shown(**{name: given.pop(name) for name in _SHOWN})
        question = Asked(**{name: given.pop(name) for name in _ASKED if name in given})
        show(wanted, lambda: run(question, **given))

    command.__name__, command.__doc__ = run.__name__, run.__doc__
    command.__annotations__ = {each.name: each.annotation for each in options}
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return command


_ASKED: Mapping[str, Any] = {
    "data": DataOption,
    "quick": QuickOption,
    "seed": SeedOption,
    "jobs": JobsOption,
    "cache": CacheOption,
    "fresh": FreshOption,
}
_SHOWN: Mapping[str, Any] = {"report": ReportOption, "summary": SummaryOption, "as_json": JsonOption}


def _keywords(value: type, options: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the fields of a value as keywords, with their options and defaults."""
    fields = signature(value).parameters
    return {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=fields[name].default, annotation=option)
        for name, option in options.items()
    }


def show(shown: Shown, make: Callable[[], StudyReport]) -> None:
    """Run a study, then write and print what was asked for. Construct `shown` first: it refuses wrong files."""
    study = make()
    if shown.report is not None:
        from studies.page import study_page

        with output.busy("drawing the report"):
            page = study_page(study)
        output.write_whole(shown.report, page)
        typer.echo(f"report: {shown.report}", err=True)
    if shown.summary is not None:
        output.write_whole(shown.summary, output.as_json(study.to_summary()))
        typer.echo(f"summary: {shown.summary}", err=True)
    if shown.as_json:
        output.print_json(study.to_dict())
    else:
        from studies.page import print_study

        print_study(study, output.console())
