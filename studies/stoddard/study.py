"""Study: what the paper's figures show when they are made anew, with sound methods beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from studies.claims import Mean
from studies.stoddard.data import Dataset
from studies.stoddard.methods import ALL, ALL_SAMPLED, ENFORCED, JOINT, METHODS, Standing
from studies.stoddard.plan import (
    BY_LOGISTIC,
    COMPARED,
    FAMILIES,
    REACHING,
    TUNED,
    Settings,
    fits,
    over_grid,
    overlap_trial,
)
from studies.stoddard.results import Line, TrialResult, TrialResults
from studies.stoddard.trials import FoldResult, Trial

GAIN_WANTED, GAP_ALLOWED = 0.05, 0.03
"""What ours is to gain over all features at least, and by how much it may be behind threshold testing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSummary:
    """Comparison for one dataset: accuracy with all features, with the best published method, and ours.

    The published method is not private. `separate` is the best sound selection before the paper's naive Bayes. `gain`
    and `gap` are ours less `sampling` and ours less `published`, fold by fold.
    """

    dataset: str
    sampling: TrialResult
    published: TrialResult
    separate: TrialResult
    ours: TrialResult

    @property
    def gain(self) -> Mean:
        """Ours less all features with sampling."""
        return self.ours.less(self.sampling)

    @property
    def gap(self) -> Mean:
        """Ours less the best threshold testing, which is not private."""
        return self.ours.less(self.published)

    @property
    def gains(self) -> bool:
        """Tell whether ours gains as much as is wanted."""
        return self.gain.value >= GAIN_WANTED

    @property
    def near(self) -> bool:
        """Tell whether ours is as near to threshold testing as is wanted, or above."""
        return self.gap.value >= -GAP_ALLOWED

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "all_sampling": self.sampling.to_dict(),
            "threshold_testing_not_private": self.published.to_dict(),
            "sound_selection": self.separate.to_dict(),
            "ours": self.ours.to_dict(),
            "ours_less_all_sampling": self.gain.to_dict(),
            "ours_less_threshold_testing": self.gap.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Settings, the datasets and the outcomes of all trials; every method of it reads off a figure.

    Where a method takes a number of features, the best of the settings' grid is shown.
    """

    settings: Settings
    datasets: Mapping[str, Dataset]
    outcomes: TrialResults

    @classmethod
    def of(
        cls, settings: Settings, datasets: tuple[Dataset, ...], found: Mapping[Trial, tuple[FoldResult, ...]]
    ) -> Study:
        """Gather what was found."""
        by_key = {dataset.corpus.key: dataset for dataset in datasets}
        return cls(settings=settings, datasets=by_key, outcomes=TrialResults.of(found))

    def best(self, dataset: str, key: str, epsilon: Fraction | None = None, **numbers: Any) -> TrialResult:
        """Return a method at its best over the grid."""
        trials = over_grid(self.settings, dataset, METHODS[key], epsilon or self.settings.epsilon, **numbers)
        return self.outcomes.best(trials)

    def exact(self, dataset: str) -> Line:
        """Figure 1 without privacy."""
        return tuple(self.best(dataset, key) for key, method in METHODS.items() if method.standing is Standing.EXACT)

    def private(self, dataset: str) -> Line:
        """Figure 1 with noise: every method that fits the dataset, those that are not private among them."""
        chosen = (key for key, m in METHODS.items() if m.standing is not Standing.EXACT and fits(m, dataset))
        return tuple(self.best(dataset, key) for key in chosen)

    def logistic(self) -> tuple[Line, Line]:
        """Figure 2: without privacy and with noise."""
        exact = (key for key, method in METHODS.items() if method.standing is Standing.EXACT)
        return self._logistic(tuple(exact)), self._logistic((ALL.key, *BY_LOGISTIC))

    def _logistic(self, keys: tuple[str, ...]) -> Line:
        def tried(key: str) -> Iterator[Trial]:
            for trial in over_grid(self.settings, "sms", METHODS[key], self.settings.epsilon):
                yield replace(trial, classifier="logistic regression")

        return tuple(self.outcomes.best(tried(key)) for key in keys)

    def overlaps(self) -> dict[str, Line]:
        """Figure 3: a line over thresholds for each method."""
        return {key: tuple(self._overlap(key, threshold) for threshold in self.settings.thresholds) for key in COMPARED}

    def _overlap(self, key: str, threshold: float) -> TrialResult:
        return self.outcomes.by_trial[overlap_trial(self.settings, key, threshold)]

    def wanted(self, threshold: float) -> float:
        """Return the mean number of SMS words that reach a threshold, over folds."""
        return self._overlap(REACHING, threshold).features

    def budgets(self, dataset: str) -> dict[str, Line]:
        """Figure 4: a line over epsilons for each family at its best."""
        families = {ALL_SAMPLED.key: (ALL_SAMPLED.key,), **FAMILIES, JOINT.key: (JOINT.key,)}
        return {
            name: tuple(self._best_of(dataset, keys, epsilon) for epsilon in self.settings.epsilons)
            for name, keys in families.items()
        }

    def _best_of(self, dataset: str, keys: tuple[str, ...], epsilon: Fraction) -> TrialResult:
        return max((self.best(dataset, key, epsilon) for key in keys), key=lambda outcome: outcome.mean.value)

    def splits(self, dataset: str) -> Line:
        """Figure 5: over shares of epsilon for the selection, without sampling."""
        return tuple(self.best(dataset, TUNED, share=share, worth=ENFORCED) for share in self.settings.shares)

    def rates(self, dataset: str) -> dict[str, Line]:
        """Figure 5: over the number of features of a row that count."""
        return {
            key: tuple(self.best(dataset, key, worth=rate) for rate in self.settings.rates)
            for key in (TUNED, ALL_SAMPLED.key, JOINT.key)
        }

    def baseline(self, dataset: str) -> TrialResult:
        """Return all features with the sampling rate that does best."""
        return _highest(iter(self.rates(dataset)[ALL_SAMPLED.key]))

    def ahead(self, dataset: str, epsilon: Fraction) -> TrialResult:
        """Return the best sound method but ours at an epsilon, of those in figure 4."""
        place = self.settings.epsilons.index(epsilon)
        others = (line[place] for key, line in self.budgets(dataset).items() if key != JOINT.key)
        return _highest(outcome for outcome in others if METHODS[outcome.trial.method].standing is Standing.SOUND)

    def summaries(self) -> tuple[DatasetSummary, ...]:
        """Return the table that decides."""
        return tuple(self._summary(dataset) for dataset in self.datasets)

    def _summary(self, dataset: str) -> DatasetSummary:
        private = self.private(dataset)
        return DatasetSummary(
            dataset=dataset,
            sampling=self.best(dataset, ALL_SAMPLED.key),
            published=_highest(o for o in private if METHODS[o.trial.method].name == "PTT"),
            separate=_highest(o for o in private if _sound_selection(o)),
            ours=self.best(dataset, JOINT.key),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of all figures as plain data."""
        return {
            "datasets": {key: dataset.to_dict() for key, dataset in self.datasets.items()},
            "summary": {summary.dataset: summary.to_dict() for summary in self.summaries()},
            "figures": self._figures(),
            "trials": [outcome.to_dict() for outcome in self.outcomes.by_trial.values()],
        }

    def _figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "1": {
                dataset: {
                    "majority": held.majority,
                    "exact": _plain(self.exact(dataset)),
                    "private": _plain(self.private(dataset)),
                }
                for dataset, held in self.datasets.items()
            },
            "4": {dataset: _plain_lines(self.budgets(dataset)) for dataset in self.datasets},
            "5": {
                dataset: {"split": _plain(self.splits(dataset)), "row_weight": _plain_lines(self.rates(dataset))}
                for dataset in self.datasets
            },
        }
        if "sms" in self.datasets:
            exact, private = self.logistic()
            figures |= {"2": {"exact": _plain(exact), "private": _plain(private)}, "3": _plain_lines(self.overlaps())}
        return dict(sorted(figures.items()))


def _highest(outcomes: Iterator[TrialResult]) -> TrialResult:
    return max(outcomes, key=lambda outcome: outcome.mean.value)


def _sound_selection(outcome: TrialResult) -> bool:
    method = METHODS[outcome.trial.method]
    return method.standing is Standing.SOUND and method.selector is not None


def _plain(line: Line) -> list[dict[str, Any]]:
    return [{name: value for name, value in outcome.to_dict().items() if name != "values"} for outcome in line]


def _plain_lines(lines: Mapping[str, Line]) -> dict[str, Any]:
    return {name: _plain(line) for name, line in lines.items()}
