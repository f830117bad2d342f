"""The missing row's class from the AUC of all rows: figure 2 of Boyd, Lantz & Page (2015), on Adult."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.adult import predictions
from benchmarks.parallel import output, shown
from benchmarks.shared import shared_file
from benchmarks.timing import table
from confide.attacks.bounds import Game
from confide.attacks.disclosure import Publication
from confide.attacks.one_row.game import label_game, missing_row_game
from confide.counts import FloatArray, ScoreCounts
from confide.privacy.adversary import success_bound
from confide.report.shared import style

SIZES = (10, 20, 50, 100, 250, 500, 1_000, 1_500, 2_000, 2_500)
DIGITS = (2, 3, 4, 5, 6, 7)
RELEASED = Publication.parse("auc:epsilon=1")

GAMES = ((20, 1), (20, 10), (500, 1))
"""Rows, and how many times the AUC is released."""

PAPER = (
    "The paper's figure: with many digits near 1 for few rows and falling with their number, sooner the fewer the "
    "digits; with two digits a coin. Here ten rows are often ranked perfectly, which says little about the missing one."
)


def run(*, quick: bool = False) -> None:
    file = shared_file("adult.csv.gz")
    if file is None:
        print("adult.csv.gz is not here: set CONFIDE_SHARED to the folder that holds data/")
        return
    scores = predictions(file)
    sizes, trials, draws = (SIZES[1::3], 200, 20) if quick else (SIZES, 2_000, 200)
    print(f"share of right guesses of the missing row's class on Adult; {trials} trials ({draws} of releases)")
    found = {size: success(balanced(scores), size, trials, draws) for size in sizes}
    table(
        ("rows", *(f"{digits} digits" for digits in DIGITS), "exact", "epsilon 1"),
        [(f"{size:,}", *(f"{game.success:.3f}" for game in games)) for size, games in found.items()],
    )
    print(PAPER)
    draw(found, "missing-row-quick" if quick else "missing-row")
    print(f"For epsilon 1 a fair coin decides the class; no attack is right more often than {success_bound(1.0):.4f}.")
    print("With the row's score known too and a coin for its class, from releases with epsilon 1:")
    table(("rows", "answers", "right", "95 % interval", "bound"), [bounded(scores, *each, draws) for each in GAMES])


def balanced(scores: tuple[FloatArray, FloatArray], each: int | None = None) -> ScoreCounts:
    """The first rows of each class, as many as there are of both."""
    most = min(part.size for part in scores) if each is None else each
    return ScoreCounts.from_arrays(np.arange(2 * most) < most, np.concatenate([part[:most] for part in scores]))


def success(counts: ScoreCounts, size: int, trials: int, draws: int) -> tuple[Game, ...]:
    """The games with each number of digits, exact and released."""
    rng = np.random.default_rng([size, trials])
    written = [*(Publication(metric="auc", digits=digits) for digits in DIGITS), Publication(metric="auc")]
    games = missing_row_game(counts, written, trials=trials, rng=rng, sample=size)
    released = missing_row_game(counts, [RELEASED], trials=draws, rng=rng, sample=size, coin=True)
    return (*games, *released)


def draw(found: dict[int, tuple[Game, ...]], name: str) -> None:
    """The paper's figure with our numbers: success against the number of rows, a line for each number of digits."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = (*(f"{digits} digits" for digits in DIGITS), "exact", "epsilon 1, a coin decides")
    special = {names[-2]: {"color": "#000000", "linestyle": "-"}, names[-1]: {"color": style.GREY, "linestyle": "--"}}
    with style.house_style():
        fig, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
        for position, label in enumerate(names):
            games = [games[position] for games in found.values()]
            look = special.get(label, style.style(position))
            ax.plot(list(found), [game.success for game in games], label=label, marker=".", **look)
            if position > len(DIGITS):
                lower, upper = ([getattr(game.interval, end) for game in games] for end in ("lower", "upper"))
                ax.fill_between(list(found), lower, upper, alpha=0.2, color=look["color"], linewidth=0.0)
        ax.axhline(0.5, color=style.GREY, linewidth=1.0, linestyle=":")
        ax.axhline(success_bound(1.0), color=style.GREY, linewidth=1.0, linestyle=(0, (6, 3)))
        ax.annotate("bound at epsilon 1", (max(found), success_bound(1.0)), ha="right", va="top", fontsize=9)
        ax.set_xlabel("Rows, half of them positive (Adult)")
        ax.set_ylabel("Missing row's class guessed right")
        ax.set_ylim(0.3, 1.02)
        ax.grid(True)
        ax.set_axisbelow(True)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="AUC given to")
        files = output(f"{name}.svg"), output(f"{name}.png")
        for file in files:
            fig.savefig(file)
        plt.close(fig)
    print(f"drawn: {', '.join(shown(file) for file in files)}")


def bounded(scores: tuple[FloatArray, FloatArray], size: int, times: int, draws: int) -> tuple[str, ...]:
    rng = np.random.default_rng([size, times])
    counts = balanced(scores, size // 2)
    game = label_game(counts, replace(RELEASED, times=times), trials=draws, rng=rng, reading="everything")
    return (f"{size:,}", f"{times}", f"{game.success:.3f}", _interval(game), f"{game.bound:.4f}")


def _interval(game: Game) -> str:
    return f"{game.interval.lower:.3f} to {game.interval.upper:.3f}"
