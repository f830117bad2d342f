"""A new contest on the terminal: its price, what was made, what is promised, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.contest.terms import ContestTerms, Mode
from confide.ledger.receipts import Quote
from confide.privacy.guarantee import shown
from confide.report.contest.promise_text import promise_of
from confide.report.shared.tables import Table
from confide.report.shared.text import print_bullets, print_line, print_table
from confide.tasks.contest_new import ContestQuote, NewContest

if TYPE_CHECKING:
    from rich.console import Console


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


def print_price(quote: ContestQuote, console: Console) -> None:
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
