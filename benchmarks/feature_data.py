"""Rows of binary features with labels: made up like texts, and real ones where the shared folder is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared import shared_file
from confide.features import FeatureRows
from confide.sources.encoding import Encoding, read_rows

WORD_BITS = 12
"""The words of messages are hashed to 2**12 places, few enough for libraries that need a dense matrix."""

ADULT_COLUMNS = (
    "age=25,30,35,40,45,50,55,60,65",
    "workclass=Private|Self-emp-not-inc|Self-emp-inc|Federal-gov|Local-gov|State-gov|Without-pay|Never-worked",
    "education=Bachelors|Some-college|11th|HS-grad|Prof-school|Assoc-acdm|Assoc-voc|9th|7th-8th|12th|Masters|1st-4th|"
    "10th|Doctorate|5th-6th|Preschool",
    "marital-status=Married-civ-spouse|Divorced|Never-married|Separated|Widowed|Married-spouse-absent|"
    "Married-AF-spouse",
    "occupation=Tech-support|Craft-repair|Other-service|Sales|Exec-managerial|Prof-specialty|Handlers-cleaners|"
    "Machine-op-inspct|Adm-clerical|Farming-fishing|Transport-moving|Priv-house-serv|Protective-serv|Armed-Forces",
    "relationship=Wife|Own-child|Husband|Not-in-family|Other-relative|Unmarried",
    "race=White|Asian-Pac-Islander|Amer-Indian-Eskimo|Other|Black",
    "sex=Female|Male",
    "capital-gain=1,5000,10000",
    "capital-loss=1,1500,2000",
    "hours-per-week=20,35,40,41,50,60",
)
"""The values are those that UCI lists, the points round numbers."""

_POSITIVE = 0.3
_LEANING, _LEAN = 1 / 3, 0.8  # so many words lean to a class, by log-odds of this deviation
_FLAT = 2.7  # Zipf's law as Mandelbrot has it: a word's share is 1/(rank + 2.7)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Rows to train on and rows to test with; small enough to be sent to another process."""

    name: str
    training: FeatureRows
    test: FeatureRows

    @property
    def majority(self) -> float:
        """The accuracy of whoever always says the more frequent class."""
        return max(self.test.class_sizes()) / len(self.test)


def text_like(rows: int, width: int, words: float, *, seed: int = 0) -> FeatureRows:
    """Rows of Zipf-like words, about so many drawn for each, of which a third lean to one class."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < _POSITIVE
    lean = np.where(rng.random(width) < _LEANING, _LEAN * rng.standard_normal(width), 0.0)
    owners = np.repeat(np.arange(rows), rng.poisson(words, rows))
    drawn = np.empty(owners.size, dtype=np.int64)
    for of_class, towards in ((labels[owners], lean), (~labels[owners], -lean)):
        drawn[of_class] = _drawn(np.exp(towards) / (np.arange(width) + _FLAT), int(np.count_nonzero(of_class)), rng)
    keys = np.sort(owners * width + drawn)
    owners, features = np.divmod(keys[np.diff(keys, prepend=-1) > 0], width)
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=rows))))
    return FeatureRows(starts, features, labels, width)


def _drawn(shares: NDArray[np.floating], times: int, rng: np.random.Generator) -> NDArray[np.intp]:
    ends = np.cumsum(shares)
    return np.searchsorted(ends[:-1] / ends[-1], rng.random(times), side="right")


def splits(*, quick: bool = False) -> list[Split]:
    """Made-up texts, and messages and Adult where their files are there; in quick mode few made-up texts alone."""
    if quick:
        return [_parted("synthetic", text_like(1_500, 300, 10.0), 1_000)]
    found = [_parted("synthetic", text_like(15_000, 5_000, 12.0), 10_000)]
    sms, adult = shared_file("sms_spam.csv.gz"), shared_file("adult.csv.gz")
    if sms is not None:
        rows = read_rows(sms, Encoding.parse(text="text", bits=WORD_BITS), label="label", positive="spam")
        found.append(_parted("SMS", rows, round(0.7 * len(rows))))
    if adult is not None:
        found.append(_adult(adult))
    return found


def _parted(name: str, rows: FeatureRows, training: int) -> Split:
    """So many rows, drawn with a fixed seed, to train on."""
    chosen = np.random.default_rng(1).permutation(len(rows)) < training
    return Split(name=name, training=rows.rows(chosen), test=rows.rows(~chosen))


def _adult(file: Path) -> Split:
    """The rows that UCI calls training and test."""
    import pandas as pd

    rows = read_rows(file, Encoding.parse(columns=ADULT_COLUMNS), label="income", positive=">50K")
    chosen = (pd.read_csv(file, usecols=["split"])["split"] == "train").to_numpy()
    return Split(name="Adult", training=rows.rows(chosen), test=rows.rows(~chosen))
