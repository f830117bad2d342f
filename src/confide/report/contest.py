"""A contest for its organiser and its participants: plan, promise, state, submissions and final, in sentences."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from confide.contest.terms import ContestTerms, FinalMechanism, Mode
from confide.privacy.guarantee import shown
from confide.report.numbers import DASH, amount, has_ends, interval_text, number, percent
from confide.report.promises import at_most, guarantee_words
from confide.report.style import GREY, as_svg, style
from confide.report.writers.html import bullets, figure, figures, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_bullets, print_line, print_table

if TYPE_CHECKING:  # participants print what they submitted without the packages that organisers need
    from matplotlib.axes import Axes
    from rich.console import Console

    from confide.contest.client.results import ContestStatus, Leaderboard, LeaderboardEntry, Limits, Submission
    from confide.contest.final_result import FinalResult
    from confide.contest.plan import AnswerPlan, ContestPlan, FinalPlan
    from confide.intervals.interval import Interval
    from confide.ledger.receipts import Quote
    from confide.tasks.contest import ContestQuote, FinalQuote, NewContest, PublishedFinal
    from confide.tasks.contest_check import SubmissionCheck


def print_submission(done: Submission, board: Leaderboard | None, terms: ContestTerms, console: Console) -> None:
    """Print the value of a submission, its intervals, its place on the board and what is left."""
    for line in submission_lines(done, board, terms.metric.title, mode=terms.mode):
        print_line(line, console)


def submission_lines(
    done: Submission, board: Leaderboard | None, title: str, *, mode: Mode = Mode.MASKED
) -> Iterator[str]:
    """Yield what a participant wants to know of a submission; `title` names the metric, `mode` how it is answered."""
    noise = "as labels are masked" if mode == Mode.MASKED else "as the answer has noise"
    yield f"{title} {number(done.value, 4)}: submission {done.id} of {done.participant} to {done.contest}"
    yield f"  on the contest's rows: {_interval(done.sample)}, {noise}"
    yield f"  on new rows like them: {_interval(done.population)}, with sampling error"
    entry = None if board is None else board.entry(done.participant)
    if board is not None and entry is not None:
        yield f"  {_place(done, entry, len(board.entries))}"
    if done.replayed:
        yield "  the server has these scores already: nothing was counted again"
    if done.limits is not None:
        yield f"  {limits_line(done.limits)}"


def limits_line(limits: Limits) -> str:
    """Write how many submissions are left."""
    today = f"{amount(limits.daily_left)} of {amount(limits.daily_limit)} until {moment_text(limits.resets_at)}"
    return f"submissions left: {today}, {amount(limits.total_left)} of {amount(limits.total_limit)} in all"


def print_board(board: Leaderboard, title: str, console: Console) -> None:
    """Print a board. Entries that cannot be told apart share a rank."""
    print_table(board_table(board, title), console)


def board_table(board: Leaderboard, title: str) -> Table:
    """Return a board as a table; `title` names the metric."""
    body = tuple(
        (
            rank_text(entry),
            entry.name,
            number(entry.value, 4),
            interval_text(entry.sample),
            interval_text(entry.population),
            amount(entry.submissions),
        )
        for entry in board.entries
    )
    return Table(
        title=f"Board of {board.contest}, {counted(board.scored, 'submission')} scored",
        head=("rank", "participant", title, "these rows", "new rows", "submissions"),
        body=body,
        note="A rank counts the entries that are significantly better; in brackets the ranks that are possible.",
        text_columns=("participant",),
    )


def rank_text(entry: LeaderboardEntry) -> str:
    """Write a rank with the ranks that are possible.

    A rank that is certain stands alone.
    """
    lowest, highest = entry.rank_lowest, entry.rank_highest
    return str(entry.rank) if lowest == highest else f"{entry.rank} ({lowest}–{highest})"


def _place(done: Submission, entry: LeaderboardEntry, entries: int) -> str:
    own = (
        "your entry" if entry.submission == done.id else f"your entry, {number(entry.value, 4)} by {entry.submission},"
    )
    open_ranks = (
        ""
        if entry.rank_lowest == entry.rank_highest
        else (f"; between {entry.rank_lowest} and {entry.rank_highest} are possible")
    )
    return f"on the board, {own} has rank {entry.rank} of {entries}{open_ranks}"


def _interval(interval: Interval | None) -> str:
    if not has_ends(interval):
        return DASH
    return f"{interval_text(interval, 4)} ({percent(interval.level)} interval)"


def counted(count: int, word: str) -> str:
    """Write a count with its word.

    >>> counted(1, "submission"), counted(1200, "submission")
    ('1 submission', '1,200 submissions')
    """
    return f"{amount(count)} {word}{'' if count == 1 else 's'}"


def moment_text(moment: str) -> str:
    """Write a moment of the server, which is in UTC, up to the minute.

    >>> moment_text("2026-11-17T06:02:33.123456+00:00")
    '2026-11-17 06:02 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Promise of a contest: its two numbers, the headline, what it covers, and what gives no promise.

    `certainty` is in per cent, rounded up. `each` and `scope` say if the numbers are those of one answer.
    """

    epsilon: str
    certainty: str
    each: str
    scope: str
    headline: str
    covered: tuple[str, ...]
    final: tuple[str, ...]
    limits: tuple[str, ...]

    def words(self) -> list[str]:
        """Return all sentences, in order."""
        return [self.headline, *self.covered, *self.final, *self.limits]


def promise_of(terms: ContestTerms) -> Promise:
    """Return the promise of a contest."""
    masked = terms.mode == Mode.MASKED
    return Promise(
        epsilon=f"{float(terms.epsilon):g}",
        certainty=at_most(terms.certainty),
        each="" if masked else " for each answer",
        scope="" if masked else " by one answer (answers add up to what the data holder's account allows)",
        headline=_headline(terms, masked=masked),
        covered=_masked(terms) if masked else _per_answer(terms),
        final=_final(terms),
        limits=_LIMITS,
    )


def _headline(terms: ContestTerms, *, masked: bool) -> str:
    seen = "after seeing everything that the server says or holds" if masked else "after seeing one answer"
    return (
        f"Somebody who was 50 % sure of one label is at most {at_most(terms.certainty)} % sure {seen} "
        f"(epsilon = {float(terms.epsilon):g}, delta = 0)."
    )


def _masked(terms: ContestTerms) -> tuple[str, ...]:
    flip = 0.0 if terms.flip is None else float(terms.flip)
    return (
        f"The data holder flipped each label once, with probability {100 * flip:.3g} %, before it left the holder. The "
        "server never holds a true label; all scores are computed from the masked labels.",
        "The promise covers every answer to every participant together, whatever they ask; the board; every log; and a "
        "break-in into the server. More answers do not weaken it.",
    )


def _per_answer(terms: ContestTerms) -> tuple[str, ...]:
    return (
        f"Each answer is a noisy release of its own and costs epsilon = {float(terms.epsilon):g}. The costs of all "
        "answers add up; the data holder's ledger counts them and refuses answers beyond its limit.",
        "The server runs at the data holder and can read the labels: a break-in is not covered.",
    )


def _final(terms: ContestTerms) -> tuple[str, ...]:
    if terms.final_epsilon is None or terms.final_certainty is None:
        return ()
    delta = f", delta = {float(terms.final_delta):.2g}" if terms.final_mechanism == FinalMechanism.SHAPED else ""
    return (
        "The final is computed once, by the data holder, on rows that the board never uses. Somebody who was 50 % sure "
        f"of one of these labels is at most {at_most(terms.final_certainty)} % sure after seeing the result (epsilon = "
        f"{float(terms.final_epsilon):g}{delta}).",
    )


_LIMITS = (
    "Rounded scores, a Ladder that shows only improvements, and limits on submissions promise nothing about labels: "
    "enough rounded answers give all labels away. This contest does not rely on them.",
    "The promise is about what is learned from the labels. A model that predicts a label well from public data may do "
    "so without them.",
)


def print_contest_plan(plan: ContestPlan, console: Console) -> None:
    """Print the summary, the tables, how to read them, and the assumptions."""
    print_line(contest_plan_summary(plan), console)
    for table in contest_plan_tables(plan):
        console.print()
        print_table(table, console)
    console.print()
    print_bullets(contest_plan_advice(plan), console)
    console.print()
    for line in plan.assumptions:
        print_line(line, console)


def contest_plan_summary(plan: ContestPlan) -> str:
    """Summarise the plan in one line."""
    public = "" if plan.public_rows == plan.rows else f", {plan.public_rows:,} of them public"
    return (
        f"Contest on {plan.rows:,} rows{public} with prevalence {plan.prevalence:g}, scored by {plan.metric.title}: "
        f"{plan.answers:,} answers to {plan.teams:,} teams"
    )


def contest_plan_tables(plan: ContestPlan) -> list[Table]:
    """Return the worth of the board by kind of answers, and the worth of the final."""
    board = Table(
        title="What the board will be worth",
        head=("labels", "error of scores", "Kendall tau", "leader's gap", "price in rows", "most sure of one label"),
        body=tuple(_board_row(plan, one) for one in plan.boards),
        note=(
            "* planned; labels masked at each epsilon. Error: mean absolute difference between shown and true values. "
            "Kendall tau: agreement of the board's order with the true order, 1 at best. Leader's gap: how much too "
            "good the leader's score looks. Price in rows: masking costs as much as using so many times fewer rows. "
            f"Means of {counted(plan.repetitions, 'simulated contest')}, with standard errors."
        ),
    )
    return [board] if plan.final is None else [board, _final_table(plan.final)]


def contest_plan_advice(plan: ContestPlan) -> list[str]:
    """Return what the numbers mean, in sentences."""
    planned, exact = plan.planned, plan.exact
    lines = [
        f"At epsilon {shown(plan.epsilon)} nobody who was undecided about a label can become more than "
        f"{at_most(planned.certainty)} % sure of it, with any number of answers. Exact answers give labels "
        "away: rounding them, or a Ladder, promises nothing.",
        f"The order of teams agrees with the truth to {number(planned.kendall_tau.value, 2)} (Kendall tau), and to "
        f"{number(exact.kendall_tau.value, 2)} with exact answers.",
    ]
    if planned.rows_price > 4.0:
        lines.append(
            f"Masking costs as much as {number(planned.rows_price, 1)} times fewer rows; a larger epsilon or more rows "
            "would help."
        )
    return lines


def _board_row(plan: ContestPlan, board: AnswerPlan) -> tuple[str, ...]:
    if board.epsilon is None:
        name, certainty = "exact labels", "all can be read"
    else:
        name = f"epsilon {shown(board.epsilon)}{' *' if board.epsilon == plan.epsilon else ''}"
        certainty = f"{at_most(board.certainty)} %"
    return (
        name,
        f"{number(board.error.value, 4)} ± {number(board.error.standard_error, 4)}",
        f"{number(board.kendall_tau.value)} ± {number(board.kendall_tau.standard_error)}",
        f"{board.leader_gap.value:+.4f} ± {number(board.leader_gap.standard_error, 4)}",
        number(board.rows_price, 2),
        certainty,
    )


def _final_table(final: FinalPlan) -> Table:
    promise = f"epsilon {shown(final.epsilon)}" + (f", delta {shown(final.delta)}" if final.delta else "")
    return Table(
        title="What the final will be worth",
        head=("final", "rows", "finalists", "noise", "sampling", "most sure of one label"),
        body=(
            (
                f"{final.mechanism.value}, {promise}",
                f"{final.rows:,}",
                f"{final.finalists:,}",
                number(final.noise, 4),
                number(final.sampling, 4),
                f"{at_most(final.certainty)} %",
            ),
        ),
        note="Noise and sampling: standard deviations of the difference of two finalists' scores.",
    )


SIZE = (6.4, 4.4)


def draw_agreement(ax: Axes, plan: ContestPlan) -> None:
    """Draw Kendall's tau with the true order against epsilon, with twice the standard error, beside exact answers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    points = [(float(board.epsilon), board.kendall_tau) for board in plan.boards if board.epsilon is not None]
    epsilons = [epsilon for epsilon, _ in points]
    ax.errorbar(
        epsilons,
        [tau.value for _, tau in points],
        yerr=[2.0 * tau.standard_error for _, tau in points],
        marker="o",
        capsize=3,
        linewidth=1.8,
        label="masked labels",
        **style(0),
    )
    exact = plan.exact.kendall_tau.value
    ax.axhline(exact, color=GREY, linewidth=1.2, linestyle=":", label=f"exact answers: {exact:.2f}")
    ax.axvline(float(plan.epsilon), color=GREY, linewidth=0.9)
    ax.annotate(
        "planned",
        (float(plan.epsilon), 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=9,
        color="#333333",
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(epsilons))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_ylim(min(0.0, *(tau.value for _, tau in points)), 1.02)
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Epsilon (smaller is more private)")
    ax.set_ylabel("Kendall tau with the true order")
    ax.set_title("Agreement of the board with the true order")
    ax.legend(loc="lower right")


_FOOTER = "Computed from public facts and guesses alone: no data were read and no budget was spent. Made with confide."

_CAPTION = (
    "Agreement of the order on the board with the true order of the teams; 1 is perfect. Bars: two standard errors of "
    "the simulation. Dotted: exact answers, which give labels away."
)


def contest_plan_page(plan: ContestPlan, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    parts = [
        lead(contest_plan_summary(plan)),
        *(html_table(table) for table in contest_plan_tables(plan)),
        bullets(contest_plan_advice(plan)),
        figures([figure(as_svg(draw_agreement, plan, size=SIZE), "agreement", _CAPTION)]),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]
    return whole_page(title, parts, footer=_FOOTER)


def _promised(terms: ContestTerms) -> tuple[str, ...]:
    """Return the promise of a contest in sentences."""
    promise = promise_of(terms)
    return (promise.headline, *promise.covered, *promise.final)


def _planned(terms: ContestTerms) -> tuple[str, ...]:
    """Return the promise of a contest that was not made: no label was flipped yet."""
    promise = promise_of(terms)
    if terms.flip is None:
        return (promise.headline, *promise.covered, *promise.final)
    _, *others = promise.covered
    flips = f"Each label would be flipped once, with probability {100 * float(terms.flip):.3g} %, before it leaves you."
    return (promise.headline, flips, *others, *promise.final)


def print_price_of_contest(quote: ContestQuote, console: Console) -> None:
    """Print the price of a contest."""
    rows = tuple(
        _price_row(what, one)
        for what, one in (("board", quote.board), ("board and final", quote.final))
        if one is not None
    )
    if rows:
        head = ("", "account", "price", "left now", "left after")
        print_table(Table(title="Price", head=head, body=rows), console)
    else:
        price = shown(quote.terms.epsilon)
        print_line(f"Making the contest costs nothing. Each answer will cost epsilon {price}.", console)
    print_bullets(_planned(quote.terms), console)
    if quote.refusal is None:
        print_line("It fits. Nothing was charged.", console)


def _price_row(what: str, quote: Quote) -> tuple[str, ...]:
    return (
        what,
        quote.account,
        quote.in_a_cell()[0],
        quote.remaining.in_words(),
        quote.remaining_after.in_words(),
    )


def print_new(made: NewContest, console: Console) -> None:
    """Print what was made, what may leave the data holder, the promise, and the next commands."""
    terms, folder = made.terms, made.folder
    final = terms.rows - terms.public_rows
    parts = f"{terms.public_rows:,} for the board and {final:,} for the final" if final else "all of them for the board"
    print_line(f"Contest {terms.name}: {terms.rows:,} rows, {parts}; metric {terms.metric.title}.", console)
    console.print()
    masked = terms.mode == Mode.MASKED
    files = (
        (str(folder.server), "may leave: for the server" if masked else "for your own server, which needs the labels"),
        (str(folder.template), "may leave: for participants; it lists the ids, which are public"),
        (f"{folder.holder}/", "stays with you, as do the labels and the ledger"),
    )
    print_table(Table(title="Files", head=("file", "who may have it"), body=files), console)
    print_bullets(_promised(terms), console)
    if made.receipt is not None:
        receipt = made.receipt
        print_line(
            f"Account {receipt.account}: paid {receipt.in_words()}; spent {receipt.spent.in_words()}, left "
            f"{receipt.remaining.in_words()}.",
            console,
        )
    if terms.final_epsilon is not None:
        delta = f" and delta {shown(terms.final_delta)}" if terms.final_delta else ""
        print_line(
            f"The final will cost epsilon {shown(terms.final_epsilon)}{delta} on its own rows; what board and final "
            "cost does not add up.",
            console,
        )
    console.print()
    print_line("Next:", console)
    for command in _next_commands(made):
        console.print(f"  {command}", highlight=False, markup=False, soft_wrap=True)


def _next_commands(made: NewContest) -> Iterator[str]:
    name, labels = made.terms.name, ["--labels", str(made.labels_file)]
    ledger = [] if made.ledger is None else ["--ledger", made.ledger]
    serve = ["confide", "serve", str(made.folder.server), "--home", "DIR"]
    if made.terms.mode == Mode.PER_ANSWER:
        serve += [*labels, *ledger, "--account", made.account]
    yield shlex.join(serve)
    yield f"confide contest token {name} --home DIR --participant NAME --organiser"
    yield f"confide contest open {name} --to URL"
    yield shlex.join(["confide", "contest", "check", str(made.folder.template), "SCORES.csv"])
    yield f"confide contest close {name} --to URL"
    if made.terms.final_epsilon is not None:
        yield f"confide contest finalists {name} --to URL -o finalists.zip"
        publish = ["confide", "contest", "publish", str(made.folder.holder), "finalists.zip", *labels, *ledger]
        yield shlex.join([*publish, "--to", "URL"])


def print_check(check: SubmissionCheck, file: str, console: Console) -> None:
    """Print whether a file fits a contest, or every problem with its next step."""
    if not check.fits:
        print_line(f"{file} does not fit contest {check.contest}, whose template has {check.rows:,} rows:", console)
        print_bullets((f"{problem}." for problem in check.problems), console)
        return
    order = "in the order of the template" if check.in_order else "in another order than the template, which is fine"
    print_line(f"{file} fits contest {check.contest}: {check.rows:,} rows, {order}.", console)
    print_line(f"Scores lie between {check.lowest:g} and {check.highest:g}; {check.distinct:,} are distinct.", console)
    if check.constant:
        print_line("All scores are equal, so they rank nothing. Check that this is the right column.", console)


class Token(Protocol):
    """A token, without its secret."""

    @property
    def id(self) -> str:
        """Return the id, by which it can be revoked."""

    @property
    def participant(self) -> str:
        """Return the name of its holder."""

    @property
    def role(self) -> str:
        """Return what it allows."""

    @property
    def created_at(self) -> str:
        """Return the time at which it was made."""

    @property
    def expires_at(self) -> str | None:
        """Return the time at which it ends; none if the server does not say."""

    @property
    def revoked_at(self) -> str | None:
        """Return the time at which it was revoked, if it was."""


def print_status(found: ContestStatus, console: Console) -> None:
    """Print the state of a contest and its members."""
    for line in status_lines(found):
        print_line(line, console)
    print_table(member_table(found), console)


def status_lines(found: ContestStatus) -> Iterator[str]:
    """Yield the state of a contest and its counts."""
    yield f"{found.name} is {found.state}"
    yield (
        f"{counted(found.participants, 'participant')}, {counted(found.submissions, 'submission')} scored, "
        f"{amount(found.submissions_today)} of them today"
    )
    if found.next_states:
        yield f"it can become {' or '.join(found.next_states)}"


def member_table(found: ContestStatus) -> Table:
    """Return the members of a contest as a table."""
    body = tuple(
        (
            member.name,
            ", ".join(member.roles) or DASH,
            amount(member.submissions),
            DASH if member.last_at is None else moment_text(member.last_at),
            amount(member.finalists),
        )
        for member in found.members
    )
    return Table(
        title="Members",
        head=("name", "token", "submissions", "last", "finalists"),
        body=body,
        text_columns=("token", "last"),
    )


def print_tokens(contest: str, tokens: Sequence[Token], console: Console) -> None:
    """Print the tokens of a contest, without their secrets."""
    body = tuple(
        (
            one.id,
            one.participant,
            str(one.role),
            moment_text(one.created_at),
            _end_text(one),
        )
        for one in tokens
    )
    head = ("id", "participant", "role", "made", "ends")
    print_table(Table(title=f"Tokens of {contest}", head=head, body=body, text_columns=head[1:]), console)


def _end_text(token: Token) -> str:
    """Return when a token ends, or when it was revoked."""
    if token.revoked_at is not None:
        return f"revoked {moment_text(token.revoked_at)}"
    return DASH if token.expires_at is None else moment_text(token.expires_at)


def final_table(result: FinalResult) -> Table:
    """Return the finalists with their ranks, values and intervals."""
    level = f"{100 * result.entries[0].population.level:g} %"
    body = tuple(
        (
            str(entry.rank),
            _span(entry.rank_lowest, entry.rank_highest),
            entry.name,
            f"{entry.value:.4f}",
            f"{entry.sample.lower:.4f} to {entry.sample.upper:.4f}",
            f"{entry.population.lower:.4f} to {entry.population.upper:.4f}",
        )
        for entry in result.entries
    )
    head = ("rank", "may be", "finalist", result.metric.title, f"these rows, {level}", f"population, {level}")
    note = "Rank: 1 + number of finalists that are significantly better. Equal ranks are ties; nothing breaks them."
    return Table(title=f"Final of {result.contest}, {result.rows:,} rows", head=head, body=body, note=note)


def print_price_of_final(price: FinalQuote, console: Console) -> None:
    """Print the price of a final."""
    quote = price.quote
    cell, note = quote.in_a_cell()
    body = ((quote.account, cell, quote.remaining.in_words(), quote.remaining_after.in_words()),)
    head = ("account", "price", "left now", "left after")
    print_table(Table(title=f"Final of {price.terms.name}", head=head, body=body, note=note), console)
    print_line(f"Finalists: {len(price.finalists)}.", console)
    if quote.fits:
        print_line("It fits. Nothing was charged.", console)


def print_final(done: PublishedFinal, console: Console) -> None:
    """Print the result of a final, its guarantee and its cost."""
    print_table(final_table(done.result), console)
    print_line(guarantee_words(done.result.guarantee), console)
    receipt = done.receipt
    print_line(
        f"Account {receipt.account}: paid {receipt.in_words()}; spent {receipt.spent.in_words()}, left "
        f"{receipt.remaining.in_words()}.",
        console,
    )


def _span(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest} to {highest}"
