"""Commands of `confide site`: take part in a federation."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from confide.cli import output
from confide.cli.lazy_verbs import LazyGroup
from confide.cli.options import options_of
from confide.cli.steps import JsonOption, keep_running, print_next, print_notes, print_stopped
from confide.errors import FederationError
from confide.tasks.requests.federation import ModelRequest, SiteRequest

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The site's folder.")]
KitArgument = Annotated[Path, typer.Argument(metavar="KIT.zip", help="The kit that the coordinator sent back.")]
NewFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder for this site; it holds keys.")]
RequestFolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder in which `confide site request` made the site's keys.")
]
SiteNameOption = Annotated[
    str | None, typer.Option("--name", metavar="SITE", help="The site's name, as the coordinator listed it.")
]
RootComparedOption = Annotated[
    bool, typer.Option("--compared", help="I have compared the root's fingerprint with the coordinator by telephone.")
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Return at once; stop it with `confide site stop`.")
]
RequestsOption = Annotated[int, typer.Option(metavar="N", min=0, help="Show the last N requests.")]
DecidedOption = Annotated[bool, typer.Option("--decided", help="Also show questions that were decided on.")]
QuestionArgument = Annotated[
    str,
    typer.Argument(
        metavar="NUMBER",
        help="The question's number, as `confide site pending` shows it, or its first 8 digits at least.",
    ),
]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, which the coordinator reads.")]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Print nothing, and exit with 1 unless the site is connected: for monitoring.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="I have read what this may disclose.")]


@options_of(SiteRequest)
def init(
    request: partial[SiteRequest],
    kit: KitArgument,
    folder: RequestFolderArgument,
    as_json: JsonOption = False,
) -> None:
    """Set up a site with the kit that the coordinator sent back, in the folder of its request.

    Reads the data once to check that they can be counted, before anything is written; nothing of them is printed,
    copied or sent. The folder has the keys that `confide site request` made. It gets site.toml (data and models),
    policy.toml (what you allow: read it) and a ledger of the privacy budget. The site
    answers with noise only, unless --modes names other modes.

    Examples:

        confide site init north.zip site --model-name stroke-risk --data rows.parquet --label died --score risk

        confide site init north.zip site --model-name stroke-risk -d rows.csv -l died -s risk --study stroke-2026

        confide site init north.zip site --model-name stroke -d rows.csv -l died -s risk --modes private,secure-sum

        confide site init north.zip site --model-name stroke -d rows.csv -l died --model-file m.onnx --features age,sex

        confide site init north.zip site --model-name stroke -d postgresql://db/cdm --query cohort.sql -l died -s risk
    """
    from confide.report.validation.sites import data_notes, mode_notes, print_new_site
    from confide.tasks.site import init_site
    from confide.tasks.site_status import site_status

    with output.busy("reading the data once, to check that they can be counted"):
        new = init_site(kit, folder, **request.keywords)
    print_notes(data_notes(new.check))
    status = site_status(new.folder.path, requests=0)
    if as_json:
        output.print_json(status.to_dict())
    else:
        print_new_site(status, output.console())
    print_notes(mode_notes(status.policy))
    policy = (str(new.folder.policy),)
    print_next(
        ("Compare the root's fingerprint with the coordinator by telephone; do not start if it differs.", ()),
        ("Read what this site allows, and change it if need be:", policy),
        ("Connect to the federation, now and after each restart of this machine:", (f"confide site start {folder}",)),
        ("Compare fingerprints with the other sites by telephone, and list all of them at [peers] in:", policy),
    )


def request(folder: NewFolderArgument, name: SiteNameOption = None) -> None:
    """Make the site's keys here, and a request for a certificate that the coordinator signs.

    Private keys are made in the folder and never leave it. The request holds public keys only, so it can be sent by
    e-mail. Whoever changes it on its way changes its fingerprint: read the fingerprint out to the coordinator by
    telephone. In the folder of a site that is set up, and without --name, this makes a new key for TLS; nothing else
    changes until `confide site renew` takes the signed kit in.

    Examples:

        confide site request north --name north

        confide site request north
    """
    from confide.report.validation.sites import request_lines
    from confide.tasks.site import request_site

    with output.busy("making keys"):
        made = request_site(folder, name=name)
    for line in request_lines(made):
        typer.echo(line)
    send = ("Send the request to the coordinator. It holds no secret:", (str(folder / made.file.name),))
    if made.federation is not None:
        signed = "The coordinator signs, and sends a kit. Until you take it in, the site keeps its present key:"
        print_next(send, (signed, (f"confide site renew {folder} {made.site}.zip",)))
        return
    print_next(
        send,
        (
            "The coordinator compares the fingerprint with you, signs, and sends a kit. Then run:",
            (f"confide site init {made.site}.zip {folder} --model-name NAME --data FILE --label COL --score COL",),
        ),
    )


@options_of(ModelRequest)
def add_model(request: partial[ModelRequest], folder: FolderArgument) -> None:
    """Let another model be validated at this site, or the same one with other data.

    A second name for rows and scores that the site has already is refused, as exact answers under two names could be
    subtracted from each other. Two names can share one entry instead (--same-as).

    Examples:

        confide site add-model site --model-name sepsis --data sepsis.csv --label died --score risk --study sepsis-2026

        confide site add-model site --model-name risk-v1 --same-as stroke-risk
    """
    from confide.report.validation.sites import data_notes
    from confide.tasks import site

    with output.busy("reading the data once, to check that they can be counted"):
        new = site.add_model(folder, **request.keywords)
    print_notes(() if new.check is None else data_notes(new.check))
    typer.echo(f"{new.folder.config} has the model {new.name}", err=True)
    again = (f"confide site stop {folder}", f"confide site start {folder}")
    restart = [("The running engine may not open the folder of these data. Restart it:", again)]
    print_next(
        *(restart if new.needs_restart else ()),
        ("The next request can ask for it. See all models:", (f"confide site status {folder}",)),
    )


def start(folder: FolderArgument, background: BackgroundOption = False) -> None:
    """Connect the site to its federation. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide site start site

        confide site start site --background
    """
    from confide.report.validation.sites import engine_cautions, start_notes
    from confide.tasks.site import start_site

    with output.busy("comparing the rows of all models, and starting"):
        started = start_site(folder, attached=not background)
    print_notes(start_notes(started.check))
    print_notes(
        engine_cautions(
            started.folder.path,
            as_root=started.as_root,
            wide_folders=started.wide_folders,
            confined=started.confined,
        )
    )
    name = f"site {started.check.name}"
    typer.echo(f"{name} is running, and connects as soon as the federation's server can be reached", err=True)
    if background:
        print_next(
            ("See whether it is connected, and its last requests:", (f"confide site status {folder}",)),
            ("Stop it in the end:", (f"confide site stop {folder}",)),
        )
        return
    typer.echo(f"stop it with Ctrl-C; see its last requests with: confide site status {folder}", err=True)
    keep_running(started.running, name)


def status(
    folder: FolderArgument, requests: RequestsOption = 5, check: CheckOption = False, as_json: JsonOption = False
) -> None:
    """Show the site: federation and connection, fingerprint, models, what it allows, its budget and the last requests.

    Other sites can pin the fingerprint, which is that of the site's own key: tell it to them by telephone or on paper.

    Examples:

        confide site status site

        confide site status site --requests 20 --json

        confide site status site --check
    """
    from confide.report.validation.sites import place_of_logs, print_site, status_notes
    from confide.tasks.site_status import site_status

    found = site_status(folder, requests=requests)
    if as_json:
        output.print_json(found.to_dict())
    if check and not found.connected:
        raise FederationError(f"site {found.name} is not connected to its server; {place_of_logs(found)} say more")
    if as_json or check:
        return
    print_site(found, output.console())
    print_notes(status_notes(found))
    print_next(("Change what it allows in:", (str(folder / "policy.toml"),)))


def pending(folder: FolderArgument, decided: DecidedOption = False, as_json: JsonOption = False) -> None:
    """Show the questions that wait for a person's approval: what would leave the site, for whom, and at which price.

    With approval = "manual" in policy.toml the site answers a question only after somebody approved it. What is shown
    here follows from the question and the ledger, never from the rows: whoever decides after a look at the numbers
    tells something about them.

    Examples:

        confide site pending site

        confide site pending site --decided --json
    """
    from confide.report.validation.sites import pending_lines
    from confide.tasks.site_status import pending_questions

    found = pending_questions(folder, decided=decided)
    if as_json:
        output.print_json(found.to_dict())
        return
    for line in pending_lines(found, width=output.console().width):
        typer.echo(line)
    if found.questions:
        print_next(
            ("Decide on a question by its number:", (f"confide site approve {folder} NUMBER",)),
            ("or refuse it. The coordinator reads why:", (f'confide site refuse {folder} NUMBER --why "TEXT"',)),
        )


def approve(folder: FolderArgument, number: QuestionArgument) -> None:
    """Approve a question that waits: the site answers it when it is asked again.

    The approval holds for this question alone, and until somebody refuses it. Rules of the policy and the budget are
    checked when the question is asked again.

    Example:

        confide site approve site 3f9c01ab22d4
    """
    from confide.report.validation.sites import decision_line
    from confide.tasks.site_status import approve_question

    held = approve_question(folder, number)
    typer.echo(decision_line(held), err=True)
    print_next(
        ("The coordinator asks the same question again. To take the approval back:", (_refuse(folder, held.number),))
    )


def _refuse(folder: object, number: str) -> str:
    return f'confide site refuse {folder} {number} --why "TEXT"'


def refuse(folder: FolderArgument, number: QuestionArgument, why: WhyOption) -> None:
    """Refuse a question that waits, or take an approval back.

    The coordinator reads the reason: write nothing about the data there.

    Example:

        confide site refuse site 3f9c01ab22d4 --why "The ethics board has not decided yet"
    """
    from confide.report.validation.sites import decision_line
    from confide.tasks.site_status import refuse_question

    held = refuse_question(folder, number, why=why)
    typer.echo(decision_line(held), err=True)
    print_next(("To approve it after all:", (f"confide site approve {folder} {held.number}",)))


def verify(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Check that nobody changed the site's log of requests, its approvals, its register or its ledger.

    Each entry is sealed with a key in the site's folder, together with the one before it. The exit code is 1 if an
    entry was changed, removed or inserted, or if the database is gone or an old copy. Whoever has the key is not
    noticed, nor is an old copy of the whole folder.

    Examples:

        confide site verify site

        confide site verify site --json
    """
    from confide.tasks.site_status import verify_site

    found = verify_site(folder)
    if as_json:
        output.print_json(found.to_dict())
    else:
        for log in found.logs:
            typer.echo(log.in_words())
        typer.echo(f"ledger: {found.ledger_problem or 'all entries as they were written'}")
    if not found.whole:
        raise FederationError("the site's records were changed or are damaged; find out how, and restore a backup")


def forget(
    folder: FolderArgument,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    yes: YesOption = False,
) -> None:
    """Let a model be asked for anew in modes without noise.

    A site answers one such question for each model. A second one, with other sites, other cells or a few changed rows,
    discloses small groups: whoever has both answers can subtract them. Forget the first only if its answer was never
    seen, or the data are different altogether.

    Example:

        confide site forget site stroke-risk --yes
    """
    from confide.tasks.site import forget_model

    forget_model(folder, model, yes=yes)
    typer.echo(f"{model} can be asked for anew in modes without noise", err=True)
    print_next(("The policy is as it was:", (f"confide site status {folder}",)))


def renew(folder: FolderArgument, kit: KitArgument, compared: RootComparedOption = False) -> None:
    """Take in a new kit: a new certificate or another address of the server.

    Ledger, register, policy and the site's own key stay as they are, and with them its fingerprint. A kit from another
    root is refused unless its fingerprint was compared with the coordinator's by telephone. If the command is
    interrupted, the site has the old certificate or the new one; the same command can be repeated.

    Example:

        confide site renew north north.zip
    """
    from confide.tasks.site import renew_site

    renewed = renew_site(folder, kit, compared=compared)
    typer.echo(f"site {renewed.site} has a certificate until {renewed.dates.in_words()}", err=True)
    restart = (f"confide site stop {folder}", f"confide site start {folder}")
    steps = [("Restart the engine, which runs with the old certificate:", restart)] if renewed.needs_restart else []
    print_next(*steps, ("See the site:", (f"confide site status {folder}",)))


def stop(folder: FolderArgument) -> None:
    """Disconnect the site from its federation.

    Example:

        confide site stop site
    """
    from confide.tasks.site import stop_site

    with output.busy("stopping"):
        was_running = stop_site(folder)
    print_stopped(f"the site in {folder}", was_running=was_running, start_again=f"confide site start {folder}")


class Verbs(LazyGroup):
    """Verbs of `confide site`."""

    verbs: ClassVar = {
        "request": request,
        "init": init,
        "renew": renew,
        "add-model": add_model,
        "start": start,
        "stop": stop,
        "status": status,
        "pending": pending,
        "approve": approve,
        "refuse": refuse,
        "verify": verify,
        "forget": forget,
    }


app = typer.Typer(
    cls=Verbs,
    help="Take part in a federation: describe the data and what is allowed, start the site, and see its requests.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
