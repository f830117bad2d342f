"""Text of the demonstration of a contest: each step with its commands, the board, the attacks and the final."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confide.report.shared.numbers import amount, number
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.tasks.contest_demo import ContestDemo, DemoContest, DemoOutcome
    from confide.tasks.contest_demo_attacks import AttackResult


def new_step(demo: ContestDemo) -> str:
    """Describe the making of the contest."""
    from confide.privacy.guarantee import typed
    from confide.tasks.contest_demo import (
        ACCOUNT,
        FINAL_DELTA,
        FINAL_EPSILON,
        METRIC,
        NAME,
        PUBLIC,
        submission_limit,
    )

    ledger, delta, cap = f"--ledger {demo.ledger}", f"{float(FINAL_DELTA):g}", max(demo.epsilon, FINAL_EPSILON)
    most = submission_limit(demo.rows)
    return _step(
        "1. The holder of the labels masks them once, and charges the ledger",
        f"confide ledger new {ACCOUNT} --epsilon {typed(cap)} --delta {delta} --neighbours label-only --label died "
        f"--data {demo.labels_file} {ledger}",
        f"confide contest new {NAME} {demo.labels_file} --id id --label died --metric {METRIC} "
        f"--public {float(PUBLIC):g} --epsilon {typed(demo.epsilon)} --final-epsilon {typed(FINAL_EPSILON)} "
        f"--final-delta {delta} --daily-limit {most} --total-limit {most} --account {ACCOUNT} {ledger} "
        f"--out {demo.folder}",
    )


def serve_step(demo: ContestDemo, url: str) -> str:
    """Describe the start of the server."""
    from confide.tasks.contest_demo import NAME, TEAMS

    port = url.rsplit(":", 1)[-1]
    return _step(
        "2. A server gets the masked labels, and opens the contest",
        f"confide serve {demo.bundle} --home {demo.home} --port {port}",
        f"confide contest token {NAME} --home {demo.home} --participant '{TEAMS[0]}'",
        f"confide contest open {NAME} --to {url}",
    )


def teams_step(url: str, teams: int) -> str:
    """Describe the submissions of the teams."""
    from confide.tasks.contest_demo import NAME

    return _step(f"3. {teams} teams submit", f"confide submit scores.csv --to {url}/contests/{NAME}")


def attack_step(made: DemoContest) -> str:
    """Describe the attacker."""
    return (
        f"\n4. An attacker submits as often as it likes, and knows which {amount(made.public.size)} of "
        f"{amount(len(made.ids))} rows count for the board"
    )


def final_step(made: DemoContest, url: str) -> str:
    """Describe the final."""
    from confide.tasks.contest_demo import NAME

    demo = made.demo
    return _step(
        "5. The contest closes, and the holder computes the final from labels that no answer came from",
        f"confide contest close {NAME} --to {url}",
        f"confide contest finalists {NAME} --to {url} -o {demo.folder / 'finalists.zip'}",
        f"confide contest publish {demo.holder} {demo.folder / 'finalists.zip'} --labels {demo.labels_file} "
        f"--ledger {demo.ledger} --to {url}",
    )


def print_attacks(outcome: DemoOutcome, console: Console) -> None:
    """Print what the attacker got, beside the bound and beside exact answers."""
    print_table(attack_table(outcome.attacks, outcome.bound), console)
    beyond = [one.name for one in outcome.attacks if one.beyond_bound]
    if beyond:
        print_line(f"BEYOND THE BOUND: {', '.join(beyond)}. This must not happen; please report it.", console)


def attack_table(attacks: Sequence[AttackResult], bound: float) -> Table:
    """Return the attacks as a table."""
    body = tuple(
        (
            one.name,
            amount(one.rows),
            amount(one.submissions),
            _share(one.share),
            _share(bound),
            _share(one.exact_share),
            amount(one.exact_submissions),
        )
        for one in attacks
    )
    return Table(
        title="Labels that the attacker got right",
        head=("attack", "labels", "submissions", "this server", "bound", "exact answers", "with submissions"),
        body=body,
        note="Half would be right by guessing. More than the bound is sampling error of few labels: a sound server is "
        "called unsound with a probability of 1 in a million.",
    )


def print_final(final: Mapping[str, Any], true_auc: Mapping[str, float], console: Console) -> None:
    """Print the final with ranks on the board, and the truth that only the demonstration knows."""
    print_table(final_table(final, true_auc), console)
    for line in attacker_lines(final):
        print_line(line, console)


def final_table(final: Mapping[str, Any], true_auc: Mapping[str, float]) -> Table:
    """Return the final as a table; `true_auc` has the exact AUC on all rows of each finalist."""
    shaken = {one["name"]: one for one in final.get("shake_up", ())}
    body = tuple(_final_row(one, shaken.get(one["name"], {}), true_auc) for one in final["entries"])
    return Table(
        title="Final",
        head=("rank", "finalist", "AUC", "new rows", "rank on the board", "exact AUC (nobody sees it)"),
        body=body,
        note="A rank counts the entries that are significantly better; in brackets the ranks that are possible.",
        text_columns=("finalist",),
    )


def attacker_lines(final: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of the attacker, who climbed the board by its answers alone."""
    from confide.tasks.contest_demo import ATTACKER

    for one in final.get("shake_up", ()):
        if one["name"] == ATTACKER and one["board_rank"] is not None:
            yield (
                f"{ATTACKER} climbed to rank {one['board_rank']} of the board by its answers alone, and has rank "
                f"{one['rank']} of {len(final['entries'])} in the final, on rows that no answer was about."
            )


def _final_row(entry: Mapping[str, Any], shaken: Mapping[str, Any], true_auc: Mapping[str, float]) -> tuple[str, ...]:
    lowest, highest = entry["rank_lowest"], entry["rank_highest"]
    rank = str(entry["rank"]) if lowest == highest else f"{entry['rank']} ({lowest}–{highest})"
    population = entry["population"]
    board = shaken.get("board_rank")
    return (
        rank,
        str(entry["name"]),
        number(entry["value"], 4),
        f"{number(population['lower'])} to {number(population['upper'])}",
        "–" if board is None else str(board),
        number(true_auc.get(str(entry["name"])), 4),
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _step(headline: str, *commands: str) -> str:
    return "\n".join([f"\n{headline}. The same as:", *(f"  {command}" for command in commands)])
