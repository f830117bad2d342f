"""Files that cannot be read: the error names the file and the next step, and shows nothing that is in it."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import ScoreCounts
from confide.errors import ColumnError, ConfideError, DataError, NoRowsError, ScoreError, UnreadableError, UsageError
from tests.sources.refusals import refused

SECRETS = ["0.31771", "0.52613", "zebra", "quagga"]
GOOD_CSV = "label,score\nzebra,0.31771\nquagga,0.52613\nzebra,0.4\n"


def count(file: Path) -> ScoreCounts:
    return ScoreCounts.from_table(file, label="label", score="score", positive="zebra")


def written(folder: Path, name: str, content: bytes | str) -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)  # noqa: S311


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet", "rows.jsonl", "rows.tsv"])
def test_empty(name: str, tmp_path: Path) -> None:
    with refused(NoRowsError if name == "rows.jsonl" else UnreadableError, says="is empty"):
        count(written(tmp_path, name, b""))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", b"\n\n\n"),
        ("rows.csv.gz", gzip.compress(b"", mtime=0)),
        ("rows.csv.gz", gzip.compress(b"\n\n", mtime=0)),
    ],
    ids=["blank lines", "nothing, packed", "blank lines, packed"],
)
def test_nothing_but_blank_lines(name: str, content: bytes, tmp_path: Path) -> None:
    with refused(UnreadableError, says="is empty"):
        count(written(tmp_path, name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.parquet", GOOD_CSV),
        ("rows.csv.gz", GOOD_CSV),
        ("rows.jsonl", GOOD_CSV),
        ("rows.csv", noise(4_000)),
        ("rows.parquet", noise(4_000)),
        ("rows.csv.gz", noise(4_000)),
        ("rows.jsonl", '{"label": "zebra", "score": 0.31771}\n{"label": "quagga", "sco'),
        ("rows.csv", GOOD_CSV.encode("utf-16")),
        ("rows.csv", ("label,score,name\n" + "zebra,0.31771,x\n" * 100 + "quagga,0.52613,Jos\xe9\n").encode("latin-1")),
    ],
    ids=[
        "CSV as Parquet",
        "CSV as gzip",
        "CSV as JSON",
        "noise as CSV",
        "noise as Parquet",
        "noise as gzip",
        "half a line of JSON",
        "UTF-16",
        "Latin-1",
    ],
)
def test_not_what_its_ending_says(name: str, content: bytes | str, tmp_path: Path) -> None:
    with refused(UnreadableError, private=SECRETS, says=name.replace(".", r"\.")):
        count(written(tmp_path, name, content))


def test_truncated_parquet(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"label": rng.integers(0, 2, 5_000), "score": rng.random(5_000)}), file)
    file.write_bytes(file.read_bytes()[:20_000])
    with refused(UnreadableError):
        ScoreCounts.from_table(file, label="label", score="score")


def test_damaged_pages_of_parquet(tmp_path: Path) -> None:
    """The directory at the end is whole, so the file opens; what it points to cannot be decoded."""
    rng = np.random.default_rng(1)
    file = tmp_path / "rows.parquet"
    table = pa.table({"label": rng.integers(0, 2, 5_000), "score": rng.random(5_000)})
    pq.write_table(table, file, compression="zstd", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[200:30_000] = noise(29_800)
    file.write_bytes(bytes(content))
    with refused(UnreadableError):
        ScoreCounts.from_table(file, label="label", score="score")


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.jsonl.gz"])
def test_truncated_gzip(name: str, tmp_path: Path) -> None:
    """Half of a download must not be evaluated as if it were all of it."""
    rng = np.random.default_rng(1)
    rows = list(zip(rng.integers(0, 2, 5_000), rng.random(5_000), strict=True))
    if name == "rows.csv.gz":
        text = "label,score\n" + "".join(f"{label},{score}\n" for label, score in rows)
    else:
        text = "".join(f'{{"label": {label}, "score": {score}}}\n' for label, score in rows)
    content = gzip.compress(text.encode())
    with refused(UnreadableError, says="complete"):
        ScoreCounts.from_table(written(tmp_path, name, content[: len(content) // 2]), label="label", score="score")


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_a_header_without_rows(name: str, tmp_path: Path) -> None:
    content = b"label,score\n"
    with pytest.raises(DataError, match="no rows"):
        count(written(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content))


def test_an_empty_list_of_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no rows|empty"):
        count(written(tmp_path, "rows.json", b"[]"))


@pytest.mark.parametrize(
    "rows",
    [
        "zebra,0.31771\nquagga,0.52613\nzebra,0.4\n",
        "zebra,31.771%\nquagga,52.613%\n",
        "zebra,2031-07-17\nquagga,2052-06-13\n",
        "zebra,quagga\nquagga,zebra\n",
    ],
    ids=["numbers", "percentages", "dates", "words"],
)
def test_rows_without_a_header_are_not_taken_for_names_and_shown(rows: str, tmp_path: Path) -> None:
    """None of the columns asked for is there: what stands in the first line may be a patient."""
    with refused(ColumnError, private=[*SECRETS, "31.771%", "2031-07-17"]):
        count(written(tmp_path, "rows.csv", rows))


def test_names_are_shown_once_one_of_them_was_asked_for(tmp_path: Path) -> None:
    file = written(tmp_path, "rows.csv", "label,risk,2019\n0,0.31771,1\n1,0.52613,2\n")
    with refused(ColumnError, private=SECRETS, says="'label', 'risk', '2019'"):
        ScoreCounts.from_table(file, label="label", score="probability")


def test_lines_of_different_length(tmp_path: Path) -> None:
    with pytest.raises(ConfideError) as caught:
        count(written(tmp_path, "rows.csv", "label,score\nzebra,0.31771\nquagga,0.52613,12,34\nzebra\n"))
    assert not any(secret in str(caught.value) for secret in SECRETS)


def test_a_decimal_comma(tmp_path: Path) -> None:
    with refused(ScoreError, private=["0,31771", "31771"], says="numbers"):
        count(written(tmp_path, "rows.csv", "label;score\nzebra;0,31771\nquagga;0,52613\n"))


def test_missing(tmp_path: Path) -> None:
    with refused(UsageError, says="does not exist"):
        count(tmp_path / "nowhere.csv")


def test_a_folder(tmp_path: Path) -> None:
    with refused(UsageError, says="folder"):
        count(tmp_path)


@pytest.mark.parametrize("name", ["rows.xlsx", "rows", "rows.txt.gz", "csv", "rows.csv.zip"])
def test_unknown_endings(name: str, tmp_path: Path) -> None:
    with refused(UsageError, private=SECRETS, says="ending"):
        count(written(tmp_path, name, GOOD_CSV))


def test_exit_codes_tell_usage_from_data() -> None:
    assert UsageError("").exit_code == ColumnError("").exit_code == 2
    assert UnreadableError("").exit_code == ScoreError("").exit_code == 1
