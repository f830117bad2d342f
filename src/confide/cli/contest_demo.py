"""Command `confide contest demo`: each step is announced with the commands that do the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.error import URLError
from urllib.request import urlopen

import typer

from confide.cli import output
from confide.cli.options import AsJson
from confide.cli.steps import STOPPED, print_next, stoppable
from confide.errors import ConfideError, UsageError
from confide.ports import free_port

if TYPE_CHECKING:
    from confide.contest.client import OracleClient
    from confide.contest.client.results import Submission
    from confide.counts import FloatArray
    from confide.tasks.contest_demo import AttackResult, ContestDemo, DemoContest, DemoOutcome


_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0
_ATTEMPTS = 3


@contextmanager
def serving(demo: ContestDemo) -> Iterator[str]:
    """Serve the demonstration's contest and yield the address; stop the server however the block is left."""
    log = demo.folder / "server.log"
    process, url = _start_server(demo, log)
    try:
        yield url
    finally:
        _stop(process)


def require_server() -> None:
    """Refuse the demonstration if packages of the server are missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise UsageError("the server needs more packages: pip install 'confide[serve]'")


def _start_server(demo: ContestDemo, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server and wait until it is ready; take another port if somebody else got the first."""
    for _ in range(_ATTEMPTS):
        port = free_port()
        process = _start(demo, port, log)
        url = f"http://127.0.0.1:{port}"
        try:
            if _ready(process, url):
                return process, url
        except BaseException:
            _stop(process)
            raise
        _stop(process)
    raise ConfideError(f"the server ended by itself; its log says why: {log}")


def _start(demo: ContestDemo, port: int, log: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "confide",
        "serve",
        str(demo.bundle),
        "--home",
        str(demo.home),
        "--port",
        str(port),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "CONFIDE_ORACLE_DATABASE"}
    with log.open("ab") as out:
        return subprocess.Popen(  # noqa: S603  # our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches this process, which then stops the server
        )


def _ready(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until the server answers; return False if it ended."""
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        try:
            with urlopen(f"{url}/readyz", timeout=5) as answer:  # noqa: S310  # of this machine
                return bool(answer.status == 200)
        except (URLError, OSError):
            time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to stop, and end it if it does not."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_demo(demo: ContestDemo, *, keep: bool, as_json: bool) -> None:
    """Run a demonstration and print its results; stop the server in the end, however it ends."""
    from confide.report.demonstrations import new_step
    from confide.tasks.contest_demo import NAME, make_demo_contest

    began = time.monotonic()
    with stoppable():
        try:
            typer.echo(new_step(demo), err=True)
            with output.busy("masking the labels"):
                made = make_demo_contest(demo)
            with serving(demo) as url:
                outcome = _hold(made, url, began)
                _print(outcome, as_json=as_json)
                if keep:
                    typer.echo(f"\nlook at {url}/contests/{NAME} in a browser; stop the server with Ctrl-C", err=True)
                    _wait()
        except KeyboardInterrupt:
            typer.echo(f"error: stopped; the files made so far are in {demo.folder}", err=True)
            raise typer.Exit(STOPPED) from None
    print_next(
        ("Look at the pages of the contest:", (f"confide serve --home {demo.home}",)),
        ("See what the holder spent:", (f"confide ledger show --ledger {demo.ledger}",)),
        ("Delete the folder afterwards: it holds the labels:", (f"rm -r {demo.folder}",)),
    )


def _wait() -> None:
    try:
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        typer.echo("\nstopping the server", err=True)


def _hold(made: DemoContest, url: str, began: float) -> DemoOutcome:
    from confide.report.demonstrations import attack_step, final_step, serve_step, teams_step
    from confide.tasks.contest_demo import TEAMS, DemoOutcome, team_entries, true_auc

    typer.echo(serve_step(made.demo, url), err=True)
    organiser = _member(made, url, "organiser", organiser=True)
    organiser.set_state("open")
    typer.echo(teams_step(url, len(TEAMS)), err=True)
    entries = team_entries(made)
    done = _submit_all(made, url, entries)
    typer.echo(attack_step(made), err=True)
    attacks, last = _attack(made, url)
    board = organiser.leaderboard(after=last)
    typer.echo(final_step(made, url), err=True)
    final = _finish(made, organiser)
    chosen = {team: max(submitted, key=lambda one: one.value) for team, submitted in done.items()}
    truth = {team: true_auc(made, entries[team][done[team].index(best)]) for team, best in chosen.items()}
    return DemoOutcome(
        made=made,
        board=board,
        attacks=attacks,
        final=final,
        true_auc=truth,
        submissions=board.scored,
        seconds=time.monotonic() - began,
    )


def _member(made: DemoContest, url: str, name: str, *, organiser: bool = False) -> OracleClient:
    """Return the client of a new member, with a token that the server's machine issues."""
    from confide.contest.client import OracleClient
    from confide.contest.server.administration import new_token
    from confide.tasks.contest_demo import NAME

    role = "organiser" if organiser else "participant"
    return OracleClient(url, new_token(made.demo.home, NAME, name, role), contest=NAME)


def _submit_all(
    made: DemoContest, url: str, entries: Mapping[str, tuple[FloatArray, ...]]
) -> Mapping[str, tuple[Submission, ...]]:
    """Let all teams submit at once, each one attempt after another, and choose their finalists."""
    clients = {team: _member(made, url, team) for team in entries}

    def play(team: str, step: Callable[[str], None]) -> tuple[Submission, ...]:
        done = []
        for scores in entries[team]:
            step(team)
            done.append(clients[team].submit(made.submission(scores)))
        clients[team].choose_finalists([max(done, key=lambda one: one.value).id])
        return tuple(done)

    total = sum(map(len, entries.values()))
    with output.steps(total, "teams submit") as step, ThreadPoolExecutor(len(entries)) as pool:
        started = {team: pool.submit(play, team, step) for team in entries}
        return {team: one.result() for team, one in started.items()}


def _attack(made: DemoContest, url: str) -> tuple[tuple[AttackResult, ...], Submission]:
    """Run all attacks; return what they got, and the last submission."""
    import numpy as np

    from confide.tasks.contest_demo import ATTACKER, METRIC, attack_server, planned_submissions

    client = _member(made, url, ATTACKER)
    total = planned_submissions(made.public.size)
    name = [""]
    last: list[Submission] = []
    with output.steps(total, "the attacker submits") as step:

        def ask(scores: FloatArray) -> float:
            step(name[0])
            last[:] = [client.submit(made.submission(made.on_all_rows(scores)))]
            return last[0].value

        results = attack_server(
            ask,
            made.public_labels,
            metric=METRIC,
            epsilon=made.demo.epsilon,
            bound=made.terms.certainty,
            rng=np.random.default_rng([made.demo.seed, 2]),
            begin=lambda words: name.__setitem__(0, words),
        )
    return results, last[0]


def _finish(made: DemoContest, organiser: OracleClient) -> Mapping[str, Any]:
    from confide.tasks.contest_demo import compute_final

    with output.busy("computing the final"):
        organiser.set_state("closed")
        archive = organiser.finalists_archive(made.demo.folder / "finalists.zip")
        organiser.publish_final(compute_final(made, archive))
        return organiser.final()


def _print(outcome: DemoOutcome, *, as_json: bool) -> None:
    if as_json:
        output.print_json(outcome.to_dict())
        return
    from confide.report.contest import print_board
    from confide.report.demonstrations import print_attacks, print_final

    console = output.console()
    typer.echo("", err=True)
    print_board(outcome.board, "AUC", console)
    print_attacks(outcome, console)
    print_final(outcome.final, outcome.true_auc, console)


def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new folder for all files. [default: a temporary one]")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of the test set; two fifths of them count.")] = 2000,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="E", help="Promise of the board.")] = "2",
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Repeat the same labels and teams; masks are new each time.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the server running at the end, to look at its pages, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a whole contest on this machine: a server, ten teams, an attacker, the board and the final.

    Labels are coin flips. The holder masks them, a real server gets the masked labels, and everybody submits over HTTP.
    The attacker runs the attacks of `confide attack contest` on the server, and beside it on exact answers. At the end
    stand the board, the share of labels that the attacker got right beside the bound, and the final with its shake-up.
    It takes about a minute.

    Examples:

        confide contest demo

        confide contest demo trial --rows 1000 --epsilon 1 --keep

        confide contest demo --json
    """
    from confide.tasks.contest_demo import plan_demo

    require_server()
    with output.busy("preparing"):
        plan = plan_demo(folder, rows=rows, epsilon=epsilon, seed=seed)
    run_demo(plan, keep=keep, as_json=as_json)
