"""Scores of models on real rows that they were not trained on; the data are not part of the project.

Quick runs without the data take simulated scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared import shared_file
from confide.counts import FloatArray, ScoreCounts

TWEETS, SMS = (385, 299), (481, 77)
"""Positives and negatives among the test rows of Stoddard, Chen & Machanavajjhala (2014), section 5.2."""

SIMULATED = "simulated"

TRAINING_TWEETS = 6_620
FEW_ADULTS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Labels and scores under a name; small enough to be sent to another process."""

    name: str
    labels: NDArray[np.bool_]
    scores: FloatArray

    def __len__(self) -> int:
        return self.labels.size

    def counts(self) -> ScoreCounts:
        return ScoreCounts.from_arrays(self.labels, self.scores)


def held_out(*, quick: bool = False) -> list[HeldOut]:
    """Return tweets, SMS and two sizes of Adult, each where its file is there.

    In quick mode only the two short texts, or simulated scores where neither is there.
    """
    sets = []
    tweets, sms = _rows("sentiment140_sample20k.csv.gz"), _rows("sms_spam.csv.gz")
    if tweets is not None:
        sets.append(_texts("tweets", tweets["text"], (tweets["label"] == 4).to_numpy(), TWEETS, TRAINING_TWEETS))
    if sms is not None:
        sets.append(_texts("SMS", sms["text"], (sms["label"] == "ham").to_numpy(), SMS, len(sms)))
    every = None if quick else adult_scores(held_out=True)
    if every is not None:
        some = np.random.default_rng(2).permutation(len(every))[:FEW_ADULTS]
        sets += [HeldOut(name="Adult", labels=every.labels[some], scores=every.scores[some]), every]
    return [_simulated()] if quick and not sets else sets


def _simulated() -> HeldOut:
    """Draw scores for as many rows of each class as there are tweets, with an AUC of about 0.8."""
    rng = np.random.default_rng(3)
    positives, negatives = rng.beta(3.0, 2.0, TWEETS[0]), rng.beta(2.0, 4.0, TWEETS[1])
    return HeldOut(
        name=SIMULATED, labels=np.arange(sum(TWEETS)) < TWEETS[0], scores=np.concatenate((positives, negatives))
    )


def _rows(name: str) -> Any:
    """The rows of a file in the shared folder, or None."""
    import pandas as pd

    file = shared_file(name)
    return None if file is None else pd.read_csv(file, keep_default_na=False)


def _texts(name: str, texts: Any, labels: NDArray[np.bool_], sizes: tuple[int, int], most: int) -> HeldOut:
    """Logistic regression on which words occur, stop words left out, as in the paper; test rows in its class sizes."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    order = np.random.default_rng(1).permutation(labels.size)
    ours, theirs = order[labels[order]], order[~labels[order]]
    test = np.concatenate((ours[: sizes[0]], theirs[: sizes[1]]))
    train = order[~np.isin(order, test)][:most]
    model = make_pipeline(CountVectorizer(binary=True, stop_words="english"), LogisticRegression(max_iter=1_000))
    model.fit(texts.iloc[train], labels[train])
    return HeldOut(name=name, labels=labels[test], scores=model.predict_proba(texts.iloc[test])[:, 1])


def adult_scores(*, held_out: bool = False) -> HeldOut | None:
    """Logistic regression on the rows that UCI calls training: its scores for all rows, or for the test rows alone."""
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = _rows("adult.csv.gz")
    if rows is None:
        return None
    labels = (rows["income"] == ">50K").to_numpy()
    train = (rows["split"] == "train").to_numpy()
    features = rows.drop(columns=["income", "split", "fnlwgt"])
    columns = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
        ]
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(features[train], labels[train])
    shown = ~train if held_out else np.ones(train.size, dtype=bool)
    return HeldOut(name="Adult", labels=labels[shown], scores=model.predict_proba(features[shown])[:, 1])
