"""Text and pages of the three demonstrations: each step with its commands, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.evaluation.evaluation import Evaluation
from confide.ledger.receipts import Receipt
from confide.releases.release import Release
from confide.report.evaluation.pages import evaluation_parts
from confide.report.numbers import amount, interval_text, number
from confide.report.release import ledger_table, release_parts
from confide.report.validation.plan import print_words
from confide.report.writers.html import html_table, lead, warning, whole_page
from confide.report.writers.terminal import Table, print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.coordinator.validation import Validation
    from confide.tasks.contest_demo import AttackResult, ContestDemo, DemoContest, DemoOutcome
    from confide.tasks.federation_demo import Demo, DemoFederation


def new_step(demo: ContestDemo) -> str:
    """Describe the making of the contest."""
    from confide.privacy.guarantee import typed
    from confide.tasks.contest_demo import ACCOUNT, FINAL_DELTA, FINAL_EPSILON, METRIC, NAME, PUBLIC, submission_limit

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


_FOOTER = "The first part may be published; the second is for people who may see the data. Made with confide."


def demo_page(evaluation: Evaluation, receipt: Receipt[Release], refusal: str, *, title: str) -> str:
    """Return one page: the private release and a refusal, then the exact evaluation."""
    return whole_page(
        title,
        [
            warning(
                "Internal page: its second part holds exact numbers, so do not publish the whole page. "
                "The command confide release --report writes the first part alone."
            ),
            lead(
                "The same model twice: first as it may be published, then exactly, for people who may see the records."
            ),
            "<h2>Part 1. To be published</h2>",
            *release_parts(receipt),
            "<h2>The ledger after it</h2>",
            html_table(ledger_table(receipt), caption=False),
            "<h2>What happens when the budget is used up</h2>",
            f"<p>The next request was refused, before any noise was drawn:</p><p><code>{escape(refusal)}</code></p>",
            "<h2>Part 2. Not to be published</h2>",
            warning("From here on the numbers are exact. Publishing exact numbers can reveal labels."),
            *evaluation_parts(evaluation),
        ],
        footer=_FOOTER,
    )
