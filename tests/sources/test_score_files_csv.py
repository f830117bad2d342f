"""Submitted CSV: what people write is read, and what is wrong is named with a next step, before anything is scored."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import SubmissionError, UsageError
from confide.sources.submissions import IdIndex, ScoreLimits, kind_of, read_scores
from tests.sources.submitted import IDS, INDEX, SCORES, codes, read, read_csv

PLAIN = 'id,score\na,0.25\nb,1e-3\n"c,d",0.5\né,0\n5,1\n'

READ = {
    "plain": PLAIN,
    "in another order": 'id,score\n5,1\n"c,d",0.5\na,0.25\né,0\nb,1e-3\n',
    "without the last line end": PLAIN.removesuffix("\n"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR alone": PLAIN.replace("\n", "\r"),
    "byte order mark": "\ufeff" + PLAIN,
    "all quoted": '"id","score"\n"a","0.25"\n"b","1e-3"\n"c,d","0.5"\n"é","0"\n"5","1"\n',
    "other columns": 'x,score,id,y\n1,0.25,a,\n2,1e-3,b,q\n3,0.5,"c,d",\n4,0,é,\n5,1,5,"z"\n',
    "two other columns of one name": 'x,score,id,x\n1,0.25,a,\n2,1e-3,b,q\n3,0.5,"c,d",\n4,0,é,\n5,1,5,"z"\n',
    "spaces around numbers and names": 'id , score\na, 0.25\nb,1e-3 \n"c,d",0.5\né, 0\n5,1\n',
    "plus signs, exponents and bare points": 'id,score\na,+.25\nb,+1.E-3\n"c,d",5e-1\né,-0.0\n5,1.\n',
    "a blank line before the header": "\n\n" + PLAIN,
}


@pytest.mark.parametrize("content", READ.values(), ids=READ.keys())
def test_what_people_write_is_read(tmp_path: Path, content: str) -> None:
    scores = read_csv(tmp_path, content)
    assert scores.tolist() == list(SCORES)
    assert not np.signbit(scores).any(), "minus zero is another digest than zero"


REFUSED = {
    "nothing": (b"", ["unreadable"], "empty"),
    "blank lines": (b"\n\r\n\n", ["unreadable"], "empty"),
    "a header alone": (b"id,score\n", ["no-rows"], "no rows"),
    "header in capitals": (PLAIN.replace("id,score", "ID,Score"), ["columns", "columns"], "did you mean 'ID'?"),
    "no header": (PLAIN.removeprefix("id,score\n"), ["columns", "columns"], "no column 'id'"),
    "two columns of scores": ("id,score,score\na,1,2\n", ["columns"], "more than one column 'score'"),
    "semicolons": ("id;score\na;0,25\n", ["columns", "columns"], "separate columns by commas"),
    "a row too short": ("id,score\na,0.25\nb\n", ["unreadable"], "row 2 has 1 value where the header has 2"),
    "a row too long": ("id,score\na,0.25\nc,d,0.5\n", ["unreadable"], "values with commas in quotes"),
    "more rows than the template": (PLAIN + "x,1\n", ["too-many-rows"], "6 rows, and the template 5"),
    "an id twice": (PLAIN.replace("5,1", "a,1"), ["repeated-ids", "missing-ids"], "more than once: 'a'"),
    "an unknown id": (PLAIN.replace("5,1", "6,1"), ["unknown-ids", "missing-ids"], "does not have: '6'"),
    "an id in other case": (PLAIN.replace("a,0", "A,0"), ["unknown-ids", "missing-ids"], "'A'"),
    "an empty id": (PLAIN.replace("5,1", ",1"), ["unknown-ids", "missing-ids"], "''"),
    "ids missing": ("id,score\na,0.25\n", ["missing-ids"], "4 ids are missing: 'b', 'c,d', 'é' and 1 more"),
    "nan": (PLAIN.replace("0.25", "nan"), ["not-a-number"], "missing or NaN, at id 'a'"),
    "NA": (PLAIN.replace("0.25", "NA"), ["not-a-number"], "missing or NaN"),
    "an empty score": (PLAIN.replace("0.25", ""), ["not-a-number"], "missing or NaN"),
    "inf": (PLAIN.replace("0.25", "inf"), ["infinite"], "an infinite score, at id 'a'"),
    "minus infinity": (PLAIN.replace("0.25", "-Infinity"), ["infinite"], "infinite"),
    "a number too large for a float": (PLAIN.replace("0.25", "1e999"), ["infinite"], "infinite"),
    "words for scores": (PLAIN.replace("0.25", "high"), ["not-a-number"], "'high' at id 'a'"),
    "a decimal comma": (PLAIN.replace("0.25", '"0,25"'), ["not-a-number"], "decimals with a point"),
    "underscores": (PLAIN.replace("0.25", "1_0"), ["not-a-number"], "'1_0'"),
    "a NUL in an id": (PLAIN.replace("a,0", "a\0,0"), ["unknown-ids", "missing-ids"], r"'a\x00'"),
    "a NUL in a score": (PLAIN.replace("0.25", "0.25\0"), ["not-a-number"], r"\x00"),
    "Latin-1": (PLAIN.encode("latin-1"), ["unreadable"], "UTF-8"),
    "UTF-16": (PLAIN.encode("utf-16"), ["unreadable"], "UTF-8"),
    "gzip": (gzip.compress(PLAIN.encode()), ["unreadable"], "compressed"),
    "Parquet by another name": (b"PAR1" + bytes(40), ["columns", "columns"], "no column 'id'"),
    "a quote that is not closed": (PLAIN + '"', ["too-many-rows"], "6 rows"),
    "an open quote within": (PLAIN.replace("a,0.25", '"a,0.25'), ["unreadable"], "quotes"),
}


@pytest.mark.parametrize(("content", "expected", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes, expected: list[str], words: str) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_csv(tmp_path, content)
    assert codes(refused.value) == expected
    assert words in str(refused.value)
    assert all(problem.next_step for problem in refused.value.problems)
    assert str(refused.value).isprintable()


def test_all_problems_of_the_rows_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_csv(tmp_path, "id,score\na,nan\na,inf\nx,2\n5,-1\n", probabilities=True)
    assert codes(refused.value) == [
        "unknown-ids",
        "repeated-ids",
        "missing-ids",
        "not-a-number",
        "infinite",
        "out-of-range",
    ]


def test_only_probabilities_must_lie_between_0_and_1(tmp_path: Path) -> None:
    content = PLAIN.replace("0.25", "1.25")
    assert read_csv(tmp_path, content)[0] == 1.25
    with pytest.raises(SubmissionError, match="outside 0 to 1, at id 'a'"):
        read_csv(tmp_path, content, probabilities=True)
    assert read_csv(tmp_path, PLAIN, probabilities=True).tolist() == list(SCORES)


def test_columns_have_the_names_of_the_template(tmp_path: Path) -> None:
    content = PLAIN.replace("id,score", "patient,risk")
    assert read_csv(tmp_path, content, id_column="patient", score_column="risk").tolist() == list(SCORES)
    with pytest.raises(SubmissionError, match="no column 'id'"):
        read_csv(tmp_path, content)


def test_a_huge_field_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="no row is longer than 1 MiB"):
        read_csv(tmp_path, "id,score\n" + "a" * (3 << 20) + ",1\n")
    with pytest.raises(SubmissionError, match="column"):
        read_csv(tmp_path, "id" * (1 << 20) + ",score\na,1\n")


def test_long_values_are_cut_in_messages(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_csv(tmp_path, PLAIN.replace("5,1", "x" * 10_000 + ",1"))
    assert len(str(refused.value)) < 400


def test_too_many_bytes_or_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        read_csv(tmp_path, PLAIN, limits=ScoreLimits(most_bytes=len(PLAIN.encode()) - 1))
    assert codes(refused.value) == ["too-large"]
    assert read_csv(tmp_path, PLAIN, limits=ScoreLimits(most_bytes=len(PLAIN.encode()))).size == 5
    with pytest.raises(SubmissionError, match="more than 100 columns"):
        read_csv(tmp_path, "id,score" + ",x" * 99 + "\n")


def test_a_file_of_many_short_rows_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(b"id,score\n" + b"a,1\n" * (2 << 20))
    tracemalloc.start()
    with pytest.raises(SubmissionError, match="2,097,152 rows, and the template 5"):
        read_scores(path, "csv", INDEX)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * path.stat().st_size


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_scores(tmp_path / "none.csv", "csv", INDEX)
    with pytest.raises(UsageError, match=r"must be \.csv"):
        kind_of(Path("scores.xlsx"))
    assert [kind_of(Path(name)) for name in ("A.CSV", "b.parquet", "c.pq")] == ["csv", "parquet", "parquet"]


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    for start in (b"", b"id,score\n", PLAIN.encode()[:30]):
        with suppress(SubmissionError):
            assert np.isfinite(read(folder, start + content, "csv")).all()


@given(
    order=st.permutations(range(len(IDS))),
    scores=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5),
)
def test_scores_come_back_exactly_in_the_template_s_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], scores: list[float]
) -> None:
    quoted = [f'"{one}"' for one in IDS]
    lines = "".join(f"{quoted[row]},{scores[row]!r}\n" for row in order)
    result = read_csv(tmp_path_factory.getbasetemp(), "id,score\n" + lines)
    assert result.tolist() == [score + 0.0 for score in scores]


def test_a_long_list_is_aligned(tmp_path: Path) -> None:
    ids = [f"patient {row}" for row in range(5000)]
    scores, order = np.random.default_rng(0).random(5000), np.random.default_rng(1).permutation(5000)
    content = "id,score\n" + "".join(f"{ids[row]},{float(scores[row])!r}\n" for row in order)
    assert (read_csv(tmp_path, content, index=IdIndex(ids)) == scores).all()


def test_long_digits_do_not_keep_the_reader_busy(tmp_path: Path) -> None:
    """The time must not grow with the square of the length: it was minutes here."""
    content = PLAIN.replace("0.25", "1" * 200_000 + "x")
    started = time.process_time()
    with pytest.raises(SubmissionError, match="not a number"):
        read_csv(tmp_path, content)
    assert time.process_time() - started < 5
