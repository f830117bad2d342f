from __future__ import annotations

import builtins
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from studies.stoddard.data import CORPORA, check_files, checked_corpora, read_dataset, stop_words, word_rows

from confide.errors import ColumnError, LabelError, OneClassError, ParameterError, UsageError

TEXTS = ["The Cat's hat: it's 2 cats, a_b and a-b!", "", "of the", "Ça va? ÇA VA 42 x", "hat HAT hat cat"]


def test_words_are_those_of_scikit_learn() -> None:
    vectorizer = CountVectorizer(binary=True, stop_words="english")
    expected = vectorizer.fit_transform(TEXTS)
    rows = word_rows(TEXTS, np.zeros(len(TEXTS), dtype=np.bool_), stop_words())
    assert (rows.matrix() != expected).nnz == 0
    assert rows.width == len(vectorizer.vocabulary_)


def test_files_become_rows(texts: Path) -> None:
    for corpus in CORPORA.values():
        held = read_dataset(texts, corpus)
        assert held.to_dict()["rows"] == 160
        assert held.rows.width <= 70  # stop words are left out
        assert 0.5 <= held.majority < 1.0


def test_larger_collections_are_drawn_from(texts: Path) -> None:
    from dataclasses import replace

    corpus = CORPORA["tweets"]
    first, again = (read_dataset(texts, replace(corpus, drawn=50)) for _ in range(2))
    assert len(first.rows) == 50
    assert np.array_equal(first.rows.features, again.rows.features)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no sms_spam\.csv\.gz.*columns label and text.*--dataset"):
        check_files(tmp_path, checked_corpora(["sms"]))


def test_unknown_datasets_are_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'tweets'"):
        checked_corpora(["tweet"])


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("label,words\nham,x\n", ColumnError, "no column 'text'"),
        ("label,text\nham,x\nSECRET,y\n", LabelError, "must hold spam and ham alone"),
        ("label,text\nham,xx\nham,yy\n", OneClassError, "one class alone"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, error: type[Exception], message: str) -> None:
    (tmp_path / "sms_spam.csv.gz").write_bytes(gzip.compress(content.encode()))
    with pytest.raises(error, match=message) as caught:
        read_dataset(tmp_path, CORPORA["sms"])
    assert "SECRET" not in str(caught.value)


def test_scikit_learn_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'confide\[learn\]'"):
        stop_words()
