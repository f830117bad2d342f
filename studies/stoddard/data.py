"""Three collections of short texts, as rows with one binary feature for each word.

As in the paper, the vocabulary of the whole file is taken as public, which it is not: a word that one person alone uses
gives that person away. `confide select` and `confide train` hash words to numbered places instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import ColumnError, LabelError, OneClassError, ParameterError, UsageError, did_you_mean
from confide.features import FeatureRows, Integers
from confide.sources.engine_tables import fetch_columns
from confide.sources.tables import as_table, discreet
from confide.sources.words import words_of
from studies.data_files import DataFile

DRAWN_WITH = 0
"""Seed with which texts are drawn from the larger collections, whatever the seed of the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Collection of texts: its file, what its labels mean, and what the paper had of it.

    `short` says that the paper takes the texts to have at most 20 words. `drawn` texts are taken, or all.
    """

    key: str
    name: str
    source: DataFile
    label: str
    positive: str
    negative: str
    short: bool
    drawn: int | None
    paper_rows: int
    paper_features: int

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.source.name


CORPORA = {
    corpus.key: corpus
    for corpus in (
        Corpus(
            key="tweets",
            name="Twitter",
            source=DataFile(
                name="sentiment140_sample20k.csv.gz",
                what="tweets of Sentiment140, a sample of 20,000",
                sha256="80a12efcc878eff021d37c485d355897ee9050be8230ecaefd19ee1eba709ec3",
            ),
            label="label",
            positive="4",
            negative="0",
            short=True,
            drawn=7304,
            paper_rows=7304,
            paper_features=32935,
        ),
        Corpus(
            key="sms",
            name="SMS",
            source=DataFile(
                name="sms_spam.csv.gz",
                what="the SMS spam collection, all of it",
                sha256="1ce574c8810de885a6593e207826ab6149a2217635893eeff7ace4cbdbadea21",
            ),
            label="label",
            positive="spam",
            negative="ham",
            short=True,
            drawn=None,
            paper_rows=5574,
            paper_features=8021,
        ),
        Corpus(
            key="reuters",
            name="Reuters",
            source=DataFile(
                name="reuters21578_modapte.parquet",
                what="Reuters-21578, the articles of the ModApte split",
                sha256="831d5ab10e77566d9c8063044d23495c71ec4b5ce73a455757d07c6e9aa53393",
            ),
            label="label_earn",
            positive="1",
            negative="0",
            short=False,
            drawn=6906,
            paper_rows=6906,
            paper_features=33389,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Rows of a collection."""

    corpus: Corpus
    rows: FeatureRows

    @property
    def majority(self) -> float:
        """Return the share of the larger class."""
        return max(self.rows.class_sizes()) / len(self.rows)

    @property
    def lengths(self) -> tuple[float, int]:
        """Return how many features a row has: the median and the most."""
        each = np.diff(self.rows.starts)
        return float(np.median(each)), int(each.max())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.corpus.name,
            "file": self.corpus.file,
            "rows": len(self.rows),
            "positives": self.rows.class_sizes()[0],
            "features": self.rows.width,
            "features_of_a_row": dict(zip(("median", "most"), self.lengths, strict=True)),
            "paper": {"rows": self.corpus.paper_rows, "features": self.corpus.paper_features},
        }


def checked_corpora(names: Sequence[str] | None) -> tuple[Corpus, ...]:
    """Return the collections with these names, or all."""
    for name in names or ():
        if name not in CORPORA:
            hint = did_you_mean(name, CORPORA)
            raise ParameterError(f"there is no dataset {name!r}. {hint}Choose from {', '.join(CORPORA)}")
    return tuple(corpus for key, corpus in CORPORA.items() if not names or key in names)


def check_files(folder: Path, corpora: Sequence[Corpus]) -> None:
    """Refuse a folder that lacks a file, naming all that are expected."""
    missing = [corpus.file for corpus in corpora if not (folder / corpus.file).is_file()]
    if missing:
        columns = "; ".join(f"{corpus.file} with columns {corpus.label} and text" for corpus in corpora)
        raise UsageError(
            f"{folder} has no {' and no '.join(missing)}. Expected: {columns}. Put the files there, or name the "
            "datasets that are there with --dataset"
        )


def stop_words() -> frozenset[str]:
    """Return the English stop words of scikit-learn, of which the paper does not say which it took."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != "sklearn":
            raise
        raise UsageError("this study needs scikit-learn: pip install 'confide[learn]'") from None
    return frozenset(ENGLISH_STOP_WORDS)


def read_dataset(folder: Path, corpus: Corpus) -> Dataset:
    """Read a collection, draw from it what the paper had, and make rows of its words."""
    labels, texts = _columns(folder / corpus.file, corpus)
    if corpus.drawn is not None and corpus.drawn < len(texts):
        drawn = np.random.default_rng(DRAWN_WITH).permutation(len(texts))[: corpus.drawn]
        labels, texts = labels[drawn], [texts[place] for place in drawn]
    if labels.all() or not labels.any():
        raise OneClassError(f"{corpus.file} has labels of one class alone; the study needs both")
    return Dataset(corpus=corpus, rows=word_rows(texts, labels, stop_words()))


def word_rows(texts: Sequence[str], labels: NDArray[np.bool_], left_out: frozenset[str]) -> FeatureRows:
    """Rows with a feature for each word of the texts that is not left out, in alphabetical order.

    >>> rows = word_rows(["a red red rose", "the rose"], np.array([True, False]), frozenset({"the"}))
    >>> rows.width, rows.features
    (2, array([0, 1, 1]))
    """
    found = [sorted(set(words_of(text)) - left_out) for text in texts]
    number = {word: place for place, word in enumerate(sorted({word for words in found for word in words}))}
    starts = np.concatenate(([0], np.cumsum([len(words) for words in found], dtype=np.int64)))
    features: Integers = np.array([number[word] for words in found for word in words], dtype=np.int64)
    return FeatureRows(starts, features, labels, len(number))


def _columns(file: Path, corpus: Corpus) -> tuple[NDArray[np.bool_], list[str]]:
    with discreet(file):
        table = as_table(file)
        ColumnError.require([corpus.label, "text"], list(table.columns))
        held = fetch_columns(table.select(corpus.label, "text"), {corpus.label: object, "text": object})
    said = [str(value) for value in held[corpus.label]]
    if not set(said) <= {corpus.positive, corpus.negative}:
        raise LabelError(
            f"column {corpus.label!r} of {corpus.file} must hold {corpus.positive} and {corpus.negative} alone; check "
            "that the file is the one that is meant"
        )
    texts = ["" if text is None else str(text) for text in held["text"]]
    return np.array([value == corpus.positive for value in said], dtype=np.bool_), texts
