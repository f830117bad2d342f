"""Commands of `confide contest`, but for its demonstration, and `confide submit` and `confide serve`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from confide.cli import options, output
from confide.cli.lazy_verbs import LazyGroup, Verb
from confide.cli.options import AllowHttp, AsJson, ContestArgument, OptionalTo, To, client_of, options_of
from confide.cli.steps import print_next, print_notes
from confide.errors import OracleError, SubmissionError, UsageError
from confide.tasks.requests.contest import ContestPlanRequest, ContestRequest, FinalRequest

if TYPE_CHECKING:
    from confide.contest.client import OracleClient
    from confide.contest.client.results import Contest, Submission
    from confide.report.contest import Token
    from confide.tasks.contest import PublishedFinal, ReadyFinal


@options_of(ContestPlanRequest)
def plan(
    request: partial[ContestPlanRequest],
    as_json: options.AsJson = False,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page with a plot.")] = None,
) -> None:
    """Plan a contest: the error of its scores, the order on its board, and what nobody can learn.

    Nothing is read or spent. Contests are simulated with exact answers and with labels masked at the epsilon, at half
    of it and at twice it.

    Examples:

        confide contest plan --rows 10000 --prevalence 0.3 --answers 1000 --epsilon 2

        confide contest plan --rows 20000 --prevalence 0.1 --answers 500 --epsilon 4 --public 0.5 --final-epsilon 1

        confide contest plan --rows 2000 --prevalence 0.5 --answers 200 --epsilon 1 --metric brier --json
    """
    from confide.tasks.contest import plan_contest, planned_repetitions
    from confide.tasks.output_files import check_report

    if report is not None:
        check_report(report)
    many = planned_repetitions(request())
    with output.steps(many, f"simulating {many} contest{'' if many == 1 else 's'}") as step:
        planned = plan_contest(**request.keywords, begin=step)
    if report is not None:
        from confide.report.contest import contest_plan_page

        output.write_whole(report, contest_plan_page(planned, title="Plan for a contest"))
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(planned.to_dict())
        return
    from confide.report.contest import print_contest_plan

    print_contest_plan(planned, output.console())


@options_of(ContestRequest)
def new(
    request: partial[ContestRequest],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the contest: small letters, digits, hyphens.")],
    labels_file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Private file of ids and labels: CSV, TSV, JSON lines or Parquet."),
    ],
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Make a contest from a file of labels: mask the labels once, and charge the ledger.

    Each label is flipped once, with a public probability. NAME/server.zip holds the masked labels and may leave:
    everything that a server answers from it keeps the one promise of --epsilon. NAME/holder/ stays with you. The ids
    are public: NAME/template.json lists them, sorted by their text. With --per-answer no label is masked: you run the
    server yourself, where the labels are, and each answer is charged.

    With --final-epsilon a part of the rows is kept for the final, which you compute where the labels are (`confide
    contest publish`). A keyed hash of the id divides the rows, so what the two cost does not add up.

    The account must have label-only neighbours and be for this file. The same contest, made again, gets the same masked
    labels at no further cost.

    Examples:

        confide ledger new trial --epsilon 2 --delta 1e-6 --neighbours label-only --label died --data labels.csv

        confide contest new heart labels.csv --label died --epsilon 2 --account trial --dry-run

        confide contest new heart labels.csv --id id --label died --metric auc --public 0.5 --epsilon 2
        --final-epsilon 1 --final-delta 1e-6 --account trial

        confide contest new vendor labels.csv -l died -e 0.1 --per-answer --account trial
    """
    from confide.tasks.contest import prepare_contest

    with output.busy("reading"):
        ready = prepare_contest(request(name, labels_file))
    from confide.report.contest import print_new
    from confide.report.contest import print_price_of_contest as print_price

    if dry_run:
        price = ready.quote()
        print_notes(price.notes)
        output.print_json(price.to_dict()) if as_json else print_price(price, output.console())
        if price.refusal is not None:
            typer.echo(f"error: {price.refusal}", err=True)
            sys.exit(3)
        return
    with output.busy("charging the ledger and masking labels"):
        made = ready.make()
    print_notes(made.notes)
    output.print_json(made.to_dict()) if as_json else print_new(made, output.console())


def check(
    template_file: Annotated[Path, typer.Argument(metavar="TEMPLATE", help="The organiser's file template.json.")],
    scores_file: Annotated[Path, typer.Argument(metavar="SCORES", help="CSV or Parquet with an id and a score a row.")],
    as_json: options.AsJson = False,
) -> None:
    """Check a file of scores against the template of a contest, offline and at no cost.

    Ids must be those of the template, each once, in any order. Scores must be finite numbers, between 0 and 1 if the
    metric of the contest needs probabilities. Other columns are ignored. Exits with 1 if the file does not fit.

    Examples:

        confide contest check heart/template.json scores.csv

        confide contest check template.json scores.parquet --json
    """
    from confide.report.contest import print_check
    from confide.tasks.contest_check import check_submission

    found = check_submission(template_file, scores_file)
    if as_json:
        output.print_json(found.to_dict())
    else:
        print_check(found, output.shown_name(str(scores_file)), output.console())
    if not found.fits:
        sys.exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDesk:
    """Functions that make, list and revoke tokens of a contest."""

    make: Callable[[str, str, date | None], str]
    listed: Callable[[], Sequence[Token]]
    revoke: Callable[[str], None]

    def new(self, participant: str, *, organiser: bool, until: date | None = None) -> str:
        """Make a token and return its secret."""
        return self.make(participant, "organiser" if organiser else "participant", until)


def desk_of(contest: str, *, home: Path | None, to: str | None, allow_http: bool) -> TokenDesk:
    """Return the desk of a contest at a server's folder or address."""
    if (home is None) == (to is None):
        raise UsageError("give --home on the server's machine, or --to elsewhere")
    if home is not None:
        from confide.contest.server import administration

        folder = home
        return TokenDesk(
            make=lambda participant, role, until: administration.new_token(
                folder, contest, participant, role, until=until
            ),
            listed=lambda: administration.tokens(folder, contest),
            revoke=lambda identity: administration.revoke_token(folder, contest, identity),
        )
    client = client_of(str(to), contest, allow_http=allow_http)
    return TokenDesk(
        make=lambda participant, role, until: (
            client.new_token(participant, organiser=role == "organiser", until=until).token
        ),
        listed=client.tokens,
        revoke=client.revoke,
    )


def token(
    contest: ContestArgument,
    participant: Annotated[
        str | None, typer.Option("--participant", metavar="NAME", help="Name on the board of who gets the token.")
    ] = None,
    organiser: Annotated[bool, typer.Option("--organiser", help="The token may also organise the contest.")] = False,
    until: Annotated[
        datetime | None,
        typer.Option(
            metavar="DAY",
            formats=["%Y-%m-%d"],
            help="Last day on which the token is valid, in UTC; 180 days from now by default.",
        ),
    ] = None,
    home: Annotated[
        Path | None, typer.Option(metavar="DIR", help="On the server's machine: the folder of `confide serve --home`.")
    ] = None,
    to: OptionalTo = None,
    show: Annotated[bool, typer.Option("--list", help="List the contest's tokens, without their secrets.")] = False,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="Revoke the token with this id; what was sent with it stays.")
    ] = None,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Give a participant or an organiser access to a contest.

    The token is printed once, alone on standard output, and stored nowhere: send it to its holder in secret. On the
    server's machine give --home; this makes the first organiser's token. Elsewhere an organiser gives --to, with the
    own token in the variable CONFIDE_TOKEN. A participant with two tokens is still one participant. Every token has an
    end; a new one for the same participant takes its place.

    Examples:

        confide contest token heart --home oracle --participant host --organiser

        confide contest token heart --to https://oracle.example --participant "Team Curie"

        confide contest token heart --to https://oracle.example --list

        confide contest token heart --home oracle --revoke 01J9ZQ3V8Y6T4W2R0P5N7M1K3H
    """
    if sum((participant is not None, show, revoke is not None)) != 1:
        raise UsageError("give one of --participant, --list and --revoke")
    if until is not None and participant is None:
        raise UsageError("--until is for a new token; give --participant too")
    desk = desk_of(contest, home=home, to=to, allow_http=allow_http)
    if participant is not None:
        secret = desk.new(participant, organiser=organiser, until=None if until is None else until.date())
        role = "organiser" if organiser else "participant"
        if as_json:
            output.print_json({"contest": contest, "participant": participant, "role": role, "token": secret})
        else:
            typer.echo(secret)
        typer.echo(f"a token for {participant}, {role} of {contest}; it is not shown again", err=True)
    elif revoke is not None:
        desk.revoke(revoke)
        typer.echo(f"revoked {revoke}", err=True)
    else:
        _print(contest, desk.listed(), as_json=as_json)


def _print(contest: str, tokens: Sequence[Token], *, as_json: bool) -> None:
    if not as_json:
        from confide.report.contest import print_tokens

        print_tokens(contest, tokens, output.console())
        return
    names = ("id", "participant", "role", "created_at", "expires_at", "revoked_at")
    output.print_json({"contest": contest, "tokens": [{name: getattr(one, name) for name in names} for one in tokens]})


def change_state(contest: str, state: str, to: str, *, allow_http: bool, as_json: bool) -> Contest:
    """Ask the server to change a contest's state; print the contest as it is then."""
    client = client_of(to, contest, allow_http=allow_http)
    changed = client.set_state(state)
    if as_json:
        output.print_json(changed.to_dict())
    typer.echo(f"{contest} is {changed.state}: {client.address}", err=True)
    return changed


def open_contest(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Open a contest for submissions.

    A new contest is a draft, which organisers alone can see. Open it, or open it again after a pause.

    Example:

        confide contest open heart --to https://oracle.example
    """
    change_state(contest, "open", to, allow_http=allow_http, as_json=as_json)


def pause(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Pause a contest: nobody can submit until it is opened again.

    The board stays as it is. Submissions that are being scored are finished.

    Example:

        confide contest pause heart --to https://oracle.example
    """
    change_state(contest, "paused", to, allow_http=allow_http, as_json=as_json)


def status(contest: ContestArgument, to: To, allow_http: AllowHttp = False, as_json: AsJson = False) -> None:
    """Show the state of a contest, and who has submitted.

    It needs an organiser's token. Everybody can read terms, board and final on the contest's page.

    Examples:

        confide contest status heart --to https://oracle.example

        confide contest status heart --to https://oracle.example --json
    """
    found = client_of(to, contest, allow_http=allow_http).status()
    if as_json:
        output.print_json(found.to_dict())
        return
    from confide.report.contest import print_status

    print_status(found, output.console())


def finalists(
    contest: ContestArgument,
    to: To,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose", metavar="ID", help="A submission of yours for the final, in place of earlier choices."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.zip", help="Organiser: write the scores of all finalists here."),
    ] = None,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Choose finalists, or fetch those of a closed contest.

    A participant chooses among own submissions, with --choose for each, until the contest is closed. Without options
    the choice is shown. An organiser fetches all finalists' scores with --out once the contest is closed; they hold no
    label. The holder computes the final from them.

    Examples:

        confide contest finalists heart --to https://oracle.example

        confide contest finalists heart --to https://oracle.example --choose 01J9ZQ... --choose 01JA02...

        confide contest finalists heart --to https://oracle.example -o finalists.zip
    """
    if choose and out is not None:
        raise UsageError("--choose is for participants and --out for organisers; give one of them")
    client = client_of(to, contest, allow_http=allow_http)
    if out is not None:
        _fetch(client, out)
        print_next(
            (
                "Compute the final where the labels are:",
                (f"confide contest publish {contest}/holder {out} --labels LABELS.csv --ledger LEDGER --to {to}",),
            )
        )
        return
    choice = client.choose_finalists(choose) if choose else client.finalists()
    if as_json:
        output.print_json({"contest": contest, **choice.to_dict()})
        return
    for one in choice.submissions:
        typer.echo(one)
    if not choice.chosen:
        typer.echo("you chose none, so your best entry on the board takes part in the final", err=True)


def _fetch(client: OracleClient, out: Path) -> None:
    from confide.tasks.output_files import check_writable

    if out.suffix.lower() != ".zip":
        raise UsageError(f"{out} must end in .zip, as the scores of finalists are a ZIP archive")
    check_writable(out)
    with output.busy("fetching the scores of the finalists"):
        client.finalists_archive(out)
    typer.echo(f"written: {out}", err=True)


def close(
    contest: ContestArgument,
    to: To,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before closing.")] = False,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Close a contest for good, before its final.

    Nobody can submit or choose finalists afterwards. Whoever chose none takes part with the best entry on the board. On
    a terminal you are asked before, unless --yes is given.

    Example:

        confide contest close heart --to https://oracle.example
    """
    if not yes and sys.stdin is not None and sys.stdin.isatty():
        typer.confirm(f"Close {contest} for good? It cannot be opened again.", abort=True, err=True)
    changed = change_state(contest, "closed", to, allow_http=allow_http, as_json=as_json)
    if changed.terms.final_epsilon is None:
        typer.echo("this contest has no final: the board stands", err=True)
        return
    print_next(
        ("Fetch the scores of the finalists:", (f"confide contest finalists {contest} --to {to} -o finalists.zip",)),
        (
            "Compute the final where the labels are:",
            (f"confide contest publish {contest}/holder finalists.zip --labels LABELS.csv --ledger LEDGER --to {to}",),
        ),
    )


_CLOSED, _PUBLISHED = "closed", "published"


def server_of(to: str, ready: ReadyFinal, *, allow_http: bool) -> OracleClient:
    """Return a client of the contest's server; refuse a token or a state with which the final cannot be published.

    A final that is published may be computed once more if that is free: it may be the very same.
    """
    name = ready.terms.name
    client = client_of(to, None, allow_http=allow_http)
    with output.busy("asking the server"):
        state = client.status(name).state
    if state == _PUBLISHED and not ready.quote().quote.answered:
        raise OracleError(
            f"the final of {name} is published, and it was not computed from these finalists, labels and ledger; "
            f"nothing was charged. See {client.address_of(name)}/final"
        )
    if state not in (_CLOSED, _PUBLISHED):
        raise OracleError(
            f"contest {name} is {state}, not closed; nothing was charged. Close it first: confide contest close {name} "
            f"--to {to}"
        )
    return client


def send(client: OracleClient, done: PublishedFinal) -> None:
    """Publish a result, unless the server shows this very result already."""
    name = done.terms.name
    page = f"{client.address_of(name)}/final"
    with output.busy("publishing"):
        if client.status(name).state == _PUBLISHED:
            shown, own = client.final(name), done.result.to_dict()
            if any(shown.get(key) != value for key, value in own.items()):
                raise OracleError(f"another result is published, and it stays: {page}")
            words = "published already, with this very result"
        else:
            client.publish_final(done.result, name)
            words = "published"
    typer.echo(f"{words}: {page}", err=True)


@options_of(FinalRequest)
def publish(
    request: partial[FinalRequest],
    holder: Annotated[Path, typer.Argument(metavar="HOLDER", help="The folder that `confide contest new` made.")],
    finalists_file: Annotated[
        Path, typer.Argument(metavar="FINALISTS", help="The file finalists.zip of the closed contest.")
    ],
    to: OptionalTo = None,
    allow_http: AllowHttp = False,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Compute the final of a closed contest where the labels are, and charge the ledger.

    The final reads the rows that the board never used, once, for all finalists together. The result may be published:
    it is written to a file and, with --to, sent to the server, which is asked beforehand whether it will take it. The
    same finalists get the same result at no further cost.

    Examples:

        confide contest finalists heart --to https://contest.example --out finalists.zip

        confide contest publish heart/holder finalists.zip --labels labels.csv --dry-run

        confide contest publish heart/holder finalists.zip --labels labels.csv --to https://contest.example
    """
    from confide.report.contest import print_final
    from confide.report.contest import print_price_of_final as print_price
    from confide.tasks.contest import prepare_publication

    with output.busy("reading"):
        ready = prepare_publication(request(holder=holder, finalists_file=finalists_file))
    client = None if to is None else server_of(to, ready, allow_http=allow_http)
    if dry_run:
        price = ready.quote()
        output.print_json(price.to_dict()) if as_json else print_price(price, output.console())
        if price.refusal is not None:
            typer.echo(f"error: {price.refusal}", err=True)
            sys.exit(3)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.publish()
    for note in done.notes:
        typer.echo(note, err=True)
    typer.echo(f"written: {done.file}", err=True)
    output.print_json(done.to_dict()) if as_json else print_final(done, output.console())
    if client is not None:
        send(client, done)


def backup(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder for the copy; it holds the server's key.")
    ],
    home: Annotated[Path, typer.Option(metavar="DIR", help="The folder of `confide serve --home`.")],
) -> None:
    """Copy a server's home folder, and check the copy.

    The server may run meanwhile. Every sealed record and every score file of the copy is checked. Records in PostgreSQL
    are backed up with pg_dump.

    Example:

        confide contest backup oracle-2026-11-17 --home oracle
    """
    from confide.contest.server.administration import backup as copy

    with output.busy("copying and checking"):
        found = copy(home, folder)
    typer.echo(found.summary(), err=True)
    typer.echo(f"written: {folder}", err=True)


def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A backup, as `confide contest backup` wrote it.")],
    home: Annotated[Path, typer.Option(metavar="DIR", help="A new home folder for `confide serve --home`.")],
) -> None:
    """Check a backup, and put it where a server can use it.

    The home folder must not exist yet: move a damaged one away first. Submissions after the backup are lost, and their
    participants may send them again.

    Example:

        confide contest restore oracle-2026-11-17 --home oracle
    """
    from confide.contest.server.administration import restore as put_back

    with output.busy("checking and copying"):
        found = put_back(folder, home)
    typer.echo(found.summary(), err=True)
    print_next(("Serve it:", (f"confide serve --home {home}",)))


def submit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Ids and scores: CSV or Parquet, a line for each id of the template.")
    ],
    to: To,
    contest: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the contest, unless the address has it.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the file against the contest's template first.")
    ] = True,
    allow_http: AllowHttp = False,
    as_json: AsJson = False,
) -> None:
    """Submit scores to a contest, and see how good they are.

    The token is read from the variable CONFIDE_TOKEN. The file is checked here before it is sent; what does not fit
    costs no submission. The same scores are the same submission: if the connection breaks, submit again. Exit code 3
    means that no submission is left for now.

    Examples:

        confide submit scores.csv --to https://oracle.example/contests/heart

        confide submit scores.parquet --to https://oracle.example --contest heart --json
    """
    if str(file) == "-":
        raise UsageError("a submission is a file; standard input cannot be sent again if the connection breaks")
    client = client_of(to, contest, allow_http=allow_http)
    if check:
        _check_file(client, file)
    done = _send_file(client, file)
    with output.busy("waiting for the board"):
        board = client.leaderboard(after=done)
    if as_json:
        entry = board.entry(done.participant)
        output.print_json(
            {**done.to_dict(), "rank": None if entry is None else entry.rank, "entries": len(board.entries)}
        )
        return
    from confide.report.contest import print_submission

    print_submission(done, board, client.contest().terms, output.console())


def _check_file(client: OracleClient, file: Path) -> None:
    """Refuse a file that does not fit, before it is sent."""
    from confide.tasks.contest_check import check_submission

    with output.busy("checking the file"), tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template.json"
        template.write_text(client.template().to_json(), encoding="utf-8")
        found = check_submission(template, file)
    if not found.fits:
        raise SubmissionError(found.problems)


def _send_file(client: OracleClient, file: Path) -> Submission:
    with output.bytes_sent("sending") as progress:
        return client.submit(file, progress=progress)


def serve(
    bundles: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SERVER.ZIP]...", help="Contests to serve, as `confide contest new` wrote them."),
    ] = None,
    home: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the database, the contests and the score files.")
    ] = Path("oracle"),
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; put TLS before others.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(metavar="PORT", help="Port to listen on.")] = 8765,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port of this machine for metrics, in Prometheus' format.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of labels, for contests that charge each answer.")
    ] = None,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the sealed records and the score files, and do not serve.")
    ] = False,
    accept_rollback: Annotated[
        bool,
        typer.Option(
            "--accept-rollback",
            help="With --verify: go on with a database that is older than the home folder, and put that on record.",
        ),
    ] = False,
) -> None:
    """Serve contests: participants send scores, and get values that cannot give the labels away.

    The server holds masked labels alone. It listens on this machine only, unless --host says otherwise; let a reverse
    proxy add TLS. Contests of earlier runs with the same --home are served too. Set CONFIDE_ORACLE_DATABASE to
    postgresql+psycopg://... to keep records in PostgreSQL. Stop it with Ctrl-C or SIGTERM.

    **Example:** `confide serve heart/server.zip --home oracle`
    """
    if accept_rollback and not verify:
        raise UsageError("--accept-rollback needs --verify; stop the server, and give both")
    if verify:
        from confide.contest.server import administration

        check = administration.accept_rollback if accept_rollback else administration.verify
        typer.echo(check(home).summary())
        return
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before NumPy is loaded: files are scored side by side, in a thread each
    from confide.contest.server.home import Settings
    from confide.contest.server.run import serve as run

    run(
        Settings(
            home=home,
            bundles=tuple(bundles or ()),
            host=host,
            port=port,
            metrics_port=metrics_port,
            labels=labels,
            ledger=ledger,
            account=account,
        )
    )


class Verbs(LazyGroup):
    """Verbs of `confide contest`."""

    verbs: ClassVar = {
        "plan": plan,
        "new": new,
        "check": check,
        "token": token,
        "open": open_contest,
        "pause": pause,
        "status": status,
        "finalists": finalists,
        "close": close,
        "publish": publish,
        "backup": backup,
        "restore": restore,
        "demo": Verb(
            "confide.cli.contest_demo:demo",
            "Run a whole contest on this machine: a server, ten teams, an attacker, the board and the final.",
        ),
    }


app = typer.Typer(
    cls=Verbs,
    help="Run a contest on secret labels, whose answers cannot give the labels away.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
