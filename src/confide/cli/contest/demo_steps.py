"""Steps of `confide contest demo`, each announced with the commands that do the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import typer

from confide.cli import output
from confide.cli.contest.demo_server_steps import serving
from confide.cli.federation_common import STOPPED, print_next, stoppable

if TYPE_CHECKING:
    from confide.client import OracleClient
    from confide.client.results import Submission
    from confide.counts import FloatArray
    from confide.tasks.contest_demo import ContestDemo, DemoContest, DemoOutcome
    from confide.tasks.contest_demo_attacks import AttackResult


def run_demo(demo: ContestDemo, *, keep: bool, as_json: bool) -> None:
    """Run a demonstration and print its results; stop the server in the end, however it ends."""
    from confide.report.contest.demo_text import new_step
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
    from confide.report.contest.demo_text import attack_step, final_step, serve_step, teams_step
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
    from confide.client import OracleClient
    from confide.service.administration import new_token
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

    from confide.tasks.contest_demo import ATTACKER, METRIC
    from confide.tasks.contest_demo_attacks import attack_server, planned_submissions

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
    from confide.report.contest.demo_text import print_attacks, print_final
    from confide.report.contest.submission_text import print_board

    console = output.console()
    typer.echo("", err=True)
    print_board(outcome.board, "AUC", console)
    print_attacks(outcome, console)
    print_final(outcome.final, outcome.true_auc, console)
