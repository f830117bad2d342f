"""Tables of a study, as the terminal and the page both show them."""

from __future__ import annotations

from confide.privacy.guarantee import shown
from confide.report.numbers import amount
from confide.report.writers.terminal import Table
from studies.claims import Mean
from studies.stoddard.methods import shown_name
from studies.stoddard.results import Line, TrialResult
from studies.stoddard.study import DatasetSummary, Study


def summary_table(study: Study) -> Table:
    """Build the deciding table: all features, the best that is not private, the best sound selection, and ours."""
    return Table(
        title=f"Accuracy of naive Bayes at total epsilon {shown(study.settings.epsilon)}",
        head=("dataset", "all, sampling", "PTT (not private)", "sound selection", "ours", "ours − all", "ours − PTT"),
        body=tuple(_summary_row(study, summary) for summary in study.summaries()),
        note="Mean ± standard error over folds; differences fold by fold, in points of a hundred. Ours: confide's "
        "joint naive Bayes, which selects words by the noisy counts that it is trained from, with its defaults. PTT "
        "and sound selection: the best over scores, methods and numbers of words, chosen by looking at the data.",
    )


def _summary_row(study: Study, summary: DatasetSummary) -> tuple[str, ...]:
    return (
        study.datasets[summary.dataset].corpus.name,
        accuracy(summary.sampling),
        accuracy(summary.published),
        accuracy(summary.separate),
        accuracy(summary.ours),
        points(summary.gain),
        points(summary.gap),
    )


def choices_table(study: Study) -> Table:
    """Return which methods stand behind the columns of the table that decides."""
    return Table(
        title="What stands behind the best",
        head=("dataset", "best PTT", "sound selection", "words ours kept"),
        body=tuple(
            (
                study.datasets[summary.dataset].corpus.name,
                choice(summary.published),
                choice(summary.separate),
                f"{summary.ours.features:,.0f}",
            )
            for summary in study.summaries()
        ),
    )


def dataset_table(study: Study) -> Table:
    """Return the collections, beside what the paper had."""
    return Table(
        title="Datasets",
        head=("dataset", "rows", "positive", "words", "words of a row", "paper's rows", "paper's words"),
        body=tuple(
            (
                held.corpus.name,
                amount(len(held.rows)),
                f"{100 * held.rows.class_sizes()[0] / len(held.rows):.1f} %",
                amount(held.rows.width),
                f"{held.lengths[0]:g}, at most {held.lengths[1]}",
                amount(held.corpus.paper_rows),
                amount(held.corpus.paper_features),
            )
            for held in study.datasets.values()
        ),
        note="Words of a row: their median and the most, stop words left out.",
    )


def accuracy_table(study: Study, dataset: str) -> Table:
    """Figure 1 in numbers."""
    held = study.datasets[dataset]
    return _ranked(
        f"Figure 1: naive Bayes, {held.corpus.name} (majority {held.majority:.3f})",
        study.exact(dataset),
        study.private(dataset),
    )


def logistic_table(study: Study) -> Table:
    """Figure 2 in numbers."""
    held = study.datasets["sms"]
    return _ranked(f"Figure 2: logistic regression, SMS (majority {held.majority:.3f})", *study.logistic())


def _ranked(title: str, *groups: Line) -> Table:
    ordered = (outcome for group in groups for outcome in sorted(group, key=lambda held: -held.mean.value))
    return Table(
        title=title,
        head=("method", "accuracy", "k", "words"),
        body=tuple(
            (
                shown_name(outcome.trial.method),
                accuracy(outcome),
                "–" if outcome.trial.k is None else str(outcome.trial.k),
                f"{outcome.features:,.0f}",
            )
            for outcome in ordered
        ),
        note="k: the number of words asked for that did best; words: how many were used on average.",
    )


def overlap_table(study: Study) -> Table:
    """Figure 3 in numbers."""
    thresholds = study.settings.thresholds
    lines = study.overlaps()
    reach = ("words that reach it", *(f"{study.wanted(threshold):,.0f}" for threshold in thresholds))
    return Table(
        title=f"Figure 3: F1 of the words found, SMS, TC, epsilon {shown(study.settings.epsilon)}",
        head=("threshold", *(f"{threshold:g}" for threshold in thresholds)),
        body=(reach, *((shown_name(key), *_means(line)) for key, line in lines.items())),
        note=_errors(*lines.values()),
    )


def budget_table(study: Study, dataset: str) -> Table:
    """Figure 4 in numbers."""
    held = study.datasets[dataset]
    return Table(
        title=f"Figure 4: accuracy by total epsilon, {held.corpus.name} (majority {held.majority:.3f})",
        head=("method", *(shown(epsilon) for epsilon in study.settings.epsilons)),
        body=tuple((name, *map(accuracy, line)) for name, line in study.budgets(dataset).items()),
    )


def split_table(study: Study, dataset: str) -> Table:
    """Figure 5 in numbers: how epsilon is divided."""
    line = study.splits(dataset)
    return Table(
        title=f"Figure 5: share of epsilon for the selection, {study.datasets[dataset].corpus.name}",
        head=("method", *(f"{float(share):g}" for share in study.settings.shares)),
        body=((line[0].trial.method, *_means(line)),),
        note=_errors(line),
    )


def rate_table(study: Study, dataset: str) -> Table:
    """Figure 5 in numbers: how many words of a row count."""
    lines = study.rates(dataset)
    return Table(
        title=f"Figure 5: words that a row counts with, {study.datasets[dataset].corpus.name}",
        head=("method", *map(str, study.settings.rates)),
        body=tuple((name, *_means(line)) for name, line in lines.items()),
        note=_errors(*lines.values()),
    )


def _means(line: Line) -> tuple[str, ...]:
    return tuple(f"{outcome.mean.value:.3f}" for outcome in line)


def _errors(*lines: Line) -> str:
    largest = max(outcome.mean.standard_error for line in lines for outcome in line)
    return f"Standard errors are at most {largest:.3f}."


def accuracy(outcome: TrialResult) -> str:
    """Return a mean with its standard error."""
    return f"{outcome.mean.value:.3f} ± {outcome.mean.standard_error:.3f}"


def points(difference: Mean) -> str:
    """Return a difference in points of a hundred, with its standard error."""
    sign = "−" if difference.value < 0 else "+"
    return f"{sign}{100 * abs(difference.value):.1f} ± {100 * difference.standard_error:.1f}"


def choice(outcome: TrialResult) -> str:
    """Return a method with the number of words that did best."""
    k = "" if outcome.trial.k is None else f", k = {outcome.trial.k}"
    return f"{shown_name(outcome.trial.method)}{k}"
