"""A study for people: tables on a terminal, and one HTML page with every figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from confide.privacy.guarantee import shown
from confide.report.shared import style
from confide.report.shared.page import bullets, figure, figures, html_table, lead, warning, whole_page
from confide.report.shared.tables import Table
from confide.report.shared.text import print_table
from studies.claims import CLEAR
from studies.stoddard import plots as study_plots
from studies.stoddard.claims import claims
from studies.stoddard.methods import JOINT, SAMPLED
from studies.stoddard.plots import Bars
from studies.stoddard.selectors import CENTERS, ROUNDS
from studies.stoddard.study import GAIN_WANTED, GAP_ALLOWED, Study
from studies.stoddard.tables import (
    accuracy,
    accuracy_table,
    budget_table,
    choice,
    choices_table,
    dataset_table,
    logistic_table,
    overlap_table,
    points,
    rate_table,
    split_table,
    verdict_table,
)
from studies.stoddard.trials import FREQUENT

if TYPE_CHECKING:
    from rich.console import Console

PAPERS_FOLDS = 10

TITLE = "Private feature selection: the figures of Stoddard, Chen and Machanavajjhala (2014) made anew"

_FOOTER = (
    "Public data alone were read. The noise is drawn in floats from a seed, so that the study can be repeated: nothing "
    "on this page is a private release. Made with confide."
)

NOT_PRIVATE = (
    "Not private, and grey in pictures: three ways of the paper do not keep the epsilon that they claim: private "
    "threshold testing (PTT) at no epsilon at all, as exact scores are compared with one noisy threshold; noisycut, "
    "whose noise does not grow with the number of words found; and cluster selection as published, as one row moves "
    "several words between clusters. They are here to compare with, and confide does not offer them."
)


CLAIMS = (
    "The paper's sentences, with differences in points of a hundred that are above 0 where a sentence holds; those of "
    f"less than {CLEAR:g} standard errors count as unclear."
)


def print_study(study: Study, console: Console) -> None:
    """Print every table, the one that decides last, and what it means."""
    console.print(f"{_lead(study)}. {_quick_look(study)}".strip(), highlight=False, markup=False)
    for table in (*number_tables(study), choices_table(study), verdict_table(study)):
        console.print()
        print_table(table, console)
    for lines in ((CLAIMS, *claim_lines(study)), (NOT_PRIVATE, *shortfall_lines(study), *verdict_lines(study))):
        console.print()
        for line in lines:
            console.print(f"• {line}", highlight=False, markup=False)


def number_tables(study: Study) -> Iterator[Table]:
    """The datasets and every figure in numbers."""
    yield dataset_table(study)
    for dataset in study.datasets:
        yield accuracy_table(study, dataset)
    if "sms" in study.datasets:
        yield logistic_table(study)
        yield overlap_table(study)
    for dataset in study.datasets:
        yield budget_table(study, dataset)
    for dataset in study.datasets:
        yield split_table(study, dataset)
        yield rate_table(study, dataset)


def study_page(study: Study) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    return whole_page(TITLE, _parts(study), footer=_FOOTER)


def _lead(study: Study) -> str:
    names = ", ".join(held.corpus.name for held in study.datasets.values())
    return (
        f"{names}; total epsilon {shown(study.settings.epsilon)} where nothing else is said, neighbours differ by one "
        f"row more or less; accuracy on held-out rows, mean and standard error over {study.settings.folds} folds"
    )


def _quick_look(study: Study) -> str:
    """What a reader of fewer folds than the paper's must know; nothing for ten."""
    if study.settings.folds >= PAPERS_FOLDS:
        return ""
    return (
        f"A quick look: with {study.settings.folds} folds instead of {PAPERS_FOLDS}, models are trained on fewer rows, "
        "and what is said below to be reached or missed is within chance."
    )


def _parts(study: Study) -> Iterator[str]:
    yield lead(_lead(study) + ".")
    if _quick_look(study):
        yield warning(_quick_look(study))
    yield html_table(verdict_table(study))
    yield bullets(verdict_lines(study))
    yield html_table(choices_table(study))
    yield "<h3>Where it falls short</h3>"
    yield bullets(shortfall_lines(study))
    yield warning(NOT_PRIVATE)
    yield from _figure_1(study)
    if "sms" in study.datasets:
        yield from _figure_2(study)
        yield from _figure_3(study)
    yield from _figure_4(study)
    yield from _figure_5(study)
    yield "<h2>What the paper says, and what is found here</h2>"
    yield f"<p>{CLAIMS}</p>"
    yield bullets(claim_lines(study))
    yield "<h2>How it was done</h2>"
    yield bullets(setup_lines(study))
    yield "<h2>All numbers</h2>"
    for table in number_tables(study):
        yield html_table(table)


def _figure_1(study: Study) -> Iterator[str]:
    yield "<h2>Figure 1: naive Bayes</h2>"
    yield figures(
        _bars(
            Bars(
                title=held.corpus.name,
                majority=held.majority,
                exact=study.exact(dataset),
                private=study.private(dataset),
            ),
            f"bars-{dataset}",
            f"{held.corpus.name}: naive Bayes without privacy (above the line) and at total epsilon "
            f"{shown(study.settings.epsilon)}.",
        )
        for dataset, held in study.datasets.items()
    )


def _figure_2(study: Study) -> Iterator[str]:
    exact, private = study.logistic()
    bars = Bars(title="SMS, logistic regression", majority=study.datasets["sms"].majority, exact=exact, private=private)
    caption = (
        f"SMS: logistic regression by scikit-learn without privacy, and by objective perturbation at total epsilon "
        f"{shown(study.settings.epsilon)}. As in the paper, all words are the {FREQUENT:,} most frequent ones, taken "
        "without privacy."
    )
    yield "<h2>Figure 2: logistic regression</h2>"
    yield figures([_bars(bars, "logistic", caption)])


def _bars(bars: Bars, name: str, caption: str) -> str:
    more = (
        " Bars start at the accuracy of always guessing the larger class; black lines are standard errors over folds. "
        "Hatched bars and names with a star: not private."
    )
    return figure(style.as_svg(study_plots.draw_bars, bars, size=bars.size), name, caption + more)


def _figure_3(study: Study) -> Iterator[str]:
    captions = {
        False: "The paper's four ways but for score perturbation, which is sound: none of these is private.",
        True: "Sound ways at the same epsilon. Peeling and permute-and-flip are told how many words to take, sparse "
        "vector how many to find at most.",
    }
    yield "<h2>Figure 3: which words are found</h2>"
    yield figures(
        figure(style.as_svg(study_plots.draw_overlaps, (study, sound), size=(6.2, 5.4)), f"overlap-{sound}", caption)
        for sound, caption in captions.items()
    )
    yield (
        f'<p class="note">SMS, total counts, all of epsilon {shown(study.settings.epsilon)} for the selection, as the '
        "paper does not say what it took. F1 compares the words found with those that reach the threshold.</p>"
    )


def _figure_4(study: Study) -> Iterator[str]:
    yield "<h2>Figure 4: total epsilon</h2>"
    yield figures(
        figure(
            style.as_svg(study_plots.draw_budgets, (study, dataset), size=(6.2, 5.4)),
            f"budget-{dataset}",
            f"{held.corpus.name}: each family of selection methods at its best, chosen anew at every epsilon.",
        )
        for dataset, held in study.datasets.items()
    )


def _figure_5(study: Study) -> Iterator[str]:
    yield "<h2>Figure 5: budget split and sampling rate</h2>"
    yield '<p class="note">The paper has this figure for Twitter and SMS.</p>'
    for draw, name, caption in (
        (study_plots.draw_splits, "split", "How epsilon is divided, without sampling."),
        (
            study_plots.draw_rates,
            "rate",
            "How many words of a row count: a sample of so many, or for joint naive Bayes "
            "that weight divided among all words of the row. Score perturbation has half of epsilon for each step.",
        ),
    ):
        yield figures(
            figure(
                style.as_svg(draw, (study, dataset), size=(6.2, 5.2)),
                f"{name}-{dataset}",
                f"{study.datasets[dataset].corpus.name}: {caption[0].lower()}{caption[1:]}",
            )
            for dataset in study.datasets
        )


def verdict_lines(study: Study) -> Iterator[str]:
    """Say for each dataset whether the aims are reached."""
    for verdict in study.verdicts():
        name = study.datasets[verdict.dataset].corpus.name
        yield (
            f"{name}: ours against all features with sampling {points(verdict.gain)} points (aim: at least "
            f"+{100 * GAIN_WANTED:g}, {_reached(verdict.gains)}); against the best threshold testing, which is not "
            f"private, {points(verdict.gap)} points (aim: at least −{100 * GAP_ALLOWED:g}, {_reached(verdict.near)})."
        )


def shortfall_lines(study: Study) -> Iterator[str]:
    """Where ours is behind what is sound too, and what the baseline owes to its sampling rate."""
    for dataset, held in study.datasets.items():
        yield from _other_rate(study, dataset)
        for epsilon in study.settings.epsilons:
            ours, ahead = study.best(dataset, JOINT.key, epsilon), study.ahead(dataset, epsilon)
            if ours.less(ahead).sign(CLEAR) < 0:
                yield (
                    f"{held.corpus.name}, epsilon {shown(epsilon)}: ours, {accuracy(ours)}, is behind {choice(ahead)}, "
                    f"{accuracy(ahead)}, which is sound too."
                )


def _other_rate(study: Study, dataset: str) -> Iterator[str]:
    best, ours = study.baseline(dataset), study.best(dataset, JOINT.key)
    if best.trial.worth is not None:
        yield (
            f"{study.datasets[dataset].corpus.name}: {SAMPLED} words of a row, as in the paper, is not the best for "
            f"all features: with {best.trial.worth} they reach {accuracy(best)}, and ours is {points(ours.less(best))} "
            "points from that."
        )


def _reached(reached: bool) -> str:
    return "reached" if reached else "missed"


def claim_lines(study: Study) -> Iterator[str]:
    """The paper's sentences, and whether they hold here."""
    for claim in claims(study):
        evidence = "; ".join(f"{name} {points(difference)}" for name, difference in claim.differences.items())
        yield f"Figure {claim.figure}. {claim.sentence} Here: {claim.holds} ({evidence})."


def setup_lines(study: Study) -> Iterator[str]:
    """How the paper's setup was followed, and where it leaves something open."""
    settings = study.settings
    grid = ", ".join(str(k) for k in settings.grid)
    yield (
        "A row has one binary feature for each word of two letters or more, in lower case, English stop words (those "
        "of scikit-learn) left out. As in the paper the vocabulary of the whole file is taken as public. That is not "
        "private: a word that one person alone uses gives that person away. confide select and confide train hash "
        "words to numbered places instead."
    )
    yield (
        "The paper's draws of tweets and articles are not known; these are drawn with a fixed seed, from a sample of "
        "20,000 tweets and from the articles of the ModApte split."
    )
    yield (
        "Scores of a word: TC, the rows that have it; DC, how much their number differs between the classes; PI, the "
        "purity index, which looks at rows without it too; IG, its information gain."
    )
    yield (
        "The paper does not say how thresholds and numbers of words were chosen. Here every selection method is shown "
        f"at its best over k = {grid}; a threshold is the exact score of the k-th word of the training rows. The "
        "choice looks at the data, as the paper's must have, and flatters all of them alike."
    )
    yield (
        "Joint naive Bayes is shown with its defaults, one setting for all: nothing is chosen here. These collections "
        "were among those on which the defaults were set, once."
    )
    yield (
        "Score perturbation and the sound methods beside it give half of epsilon to the selection, clustering, PTT and "
        "noisycut a fifth. With sampling 10 words of a row count. All takes rows to have at most 20 words, which is "
        "enforced; it is left out for Reuters. PTT and noisycut select from whole rows, and then 20 words of a row "
        "count in the training."
    )
    yield (
        "Information gain is perturbed under replace-one neighbours, as in the paper, with a sensitivity that holds: a "
        "row that changes its label changes the gain of every word, not of those 2s words alone that the paper counts."
    )
    yield (
        f"Of cluster selection the paper leaves open the numbers of rounds and centers: {ROUNDS} and {CENTERS} here. "
        "Clusters of noisy scores, which is sound, puts the noise on the scores and then clusters."
    )
    yield (
        "The private naive Bayes of the paper adds noise to the counts of each word in each class and adds 1; joint "
        "naive Bayes spreads a row's weight over all its words, keeps words whose noisy counts differ between the "
        "classes, smooths by the scale of the noise, and fits the intercept and slope on a noisy histogram of scores."
    )
    yield (
        f"Noise is drawn in floats from seed {settings.seed}, each trial's by itself: fast and repeatable, but no "
        "privacy. A release draws from the system's generator and without floats. Standard errors "
        "take folds for independent, though they share training rows."
    )
