"""Ids and labels of a private file: sorted by id, each row by itself, and no value in a message."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide.errors import ColumnError, ConfideError, DataError, LabelError, NoRowsError, ParameterError
from confide.sources.labelled_ids import LabelledIds, read_labelled_ids

ROWS = {"p2": 1, "p10": 0, "é": 1, "007": 0, "a, b": 1}
SORTED = ("007", "a, b", "p10", "p2", "é")
LABELS = [False, True, False, True, True]


def read(path: Path, **options: object) -> LabelledIds:
    return read_labelled_ids(path, **{"id_column": "id", "label": "died", **options})  # type: ignore[arg-type]


def csv_text(separator: str = ",") -> str:
    quoted = {one: f'"{one}"' if "," in one else one for one in ROWS}
    return "".join([f"died{separator}id\n", *(f"{label}{separator}{quoted[one]}\n" for one, label in ROWS.items())])


def written(folder: Path, kind: str) -> Path:
    path = folder / f"labels.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"id": list(ROWS), "died": list(ROWS.values()), "x": [0.5] * 5}), path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(csv_text().encode()))
    elif kind == "jsonl":
        path.write_text("".join(f'{{"id": "{one}", "died": {label}}}\n' for one, label in ROWS.items()))
    else:
        path.write_text(csv_text("\t" if kind == "tsv" else ","))
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "jsonl"])
def test_every_kind_of_file_is_read_alike(tmp_path: Path, kind: str) -> None:
    found = read(written(tmp_path, kind))
    assert found.ids == SORTED
    assert found.labels.tolist() == LABELS
    assert "True" not in repr(found)


def test_the_order_of_rows_does_not_show(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    header, *lines = csv_text().splitlines()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(lines))
        path.write_text("\n".join([header, *(lines[row] for row in order)]) + "\n")
        found = read(path)
        assert (found.ids, found.labels.tolist()) == (SORTED, LABELS)


def test_a_named_label_is_positive_and_all_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,died\na,yes\nb,no\nc,unknown\n")
    assert read(path, positive="yes").labels.tolist() == [True, False, False]
    assert not read(path, positive="maybe").labels.any(), "the absence of a label is private"


def test_whole_numbers_are_ids(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [10, 9, 100], "died": [True, False, False]}), tmp_path / "labels.parquet")
    found = read(tmp_path / "labels.parquet")
    assert (found.ids, found.labels.tolist()) == (("10", "100", "9"), [True, False, False])


REFUSED: dict[str, tuple[str, type[ConfideError], str]] = {
    "a missing id": ("id,died\nsecret-a,1\n,0\n", DataError, "some ids are missing"),
    "a blank id": ("id,died\nsecret-a,1\n  ,0\n", DataError, "some ids are missing"),
    "an id twice": ("id,died\nsecret-a,1\nsecret-a,0\n", DataError, "more than once"),
    "an id of two lines": ('id,died\n"secret-a\nb",1\n', DataError, "printable"),
    "a long id": (f"id,died\n{'secret-a' * 100},1\n", DataError, "at most 200 characters"),
    "a missing label": ("id,died\nsecret-a,1\nb,\n", LabelError, "some labels are missing"),
    "a third label": ("id,died\nsecret-a,1\nb,0\nc,secret-b\n", LabelError, "0/1"),
    "no rows": ("id,died\n", NoRowsError, "no rows"),
    "no ids": ("patient,died\nsecret-a,1\n", ColumnError, "no column 'id'"),
    "no labels": ("id,outcome\nsecret-a,1\n", ColumnError, "no column 'died'"),
}


@pytest.mark.parametrize(("content", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_refused_without_a_value(
    tmp_path: Path, content: str, error: type[ConfideError], words: str
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(error, match=words) as refused:
        read(path)
    assert "secret" not in str(refused.value)


def test_ids_must_be_another_column_of_text_or_whole_numbers(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [0.5, 1.5], "died": [1, 0]}), tmp_path / "labels.parquet")
    with pytest.raises(ColumnError, match="neither text nor whole numbers"):
        read(tmp_path / "labels.parquet")
    with pytest.raises(ParameterError, match="is the label"):
        read(tmp_path / "labels.parquet", id_column="died")
