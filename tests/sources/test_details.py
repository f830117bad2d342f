"""Errors about private rows stand alone: no traceback, debugger or error tracker finds the engine's own words."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest

import confide
from confide.errors import ConfideError, DataError, ScoreError, UnreadableError
from confide.sources.rows import RowColumns
from confide.sources.tables import count_table, discreet, table_rows

QUOTED = "score-17"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all that it keeps of others, shown by Python or not."""
    if error is not None:
        yield error
        yield from chain(error.__context__)
        yield from chain(error.__cause__)


def words(error: BaseException) -> str:
    """Return what a notebook shows, even one that shows what Python would not."""
    for one in chain(error):
        one.__suppress_context__ = False
    return "".join(traceback.format_exception(error))


def engine_fails() -> None:
    try:
        float(QUOTED)
    except ValueError:
        raise KeyError(QUOTED)  # noqa: B904  # as engines do


def we_refuse() -> None:
    try:
        float(QUOTED)
    except ValueError:
        raise ScoreError("scores must be numbers; correct them") from None


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(
    ("source", "fails", "kind"),
    [
        ("rows.csv", engine_fails, UnreadableError),
        (object(), engine_fails, DataError),
        ("rows.csv", we_refuse, ScoreError),
    ],
)
def test_nothing_of_the_engine_is_left(
    source: Any, fails: Callable[[], None], kind: type[ConfideError], private: bool
) -> None:
    with pytest.raises(kind) as caught, discreet(source, private=private):
        fails()
    assert list(chain(caught.value)) == [caught.value]
    assert QUOTED not in words(caught.value)


def failing_table() -> Any:
    table = ibis.memtable({"died": ["0", "1", "0"], "risk": ["0.1", QUOTED, "0.3"]})
    return table.mutate(risk=table.risk.cast("float64"))


@pytest.mark.parametrize(
    "read",
    [
        lambda table: count_table(table, label="died", score="risk", one_class=True),
        lambda table: count_table(table, label="died", score="risk"),
        lambda table: table_rows(table, RowColumns(label="died", scores=("risk",))),
        lambda table: confide.evaluate(table, label="died", score="risk"),
    ],
)
def test_a_real_engine_quotes_a_value_and_nobody_reads_it(read: Callable[[Any], object]) -> None:
    with pytest.raises(Exception, match=QUOTED):  # the engine does quote it
        failing_table().to_pyarrow()
    with pytest.raises(DataError) as caught:
        read(failing_table())
    assert QUOTED not in words(caught.value)


class Stubborn:
    """A value that quotes itself when it is read."""

    def __str__(self) -> str:
        raise ValueError(QUOTED)


def test_nor_that_of_a_dataframe(tmp_path: Path) -> None:
    frame = pd.DataFrame({"died": [Stubborn(), Stubborn()], "risk": [0.1, 0.2]})
    with confide.Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.open_account("trial", epsilon=3, data="rows, version 1")
        with pytest.raises(DataError) as caught:
            confide.release(
                frame,
                label="died",
                score="risk",
                epsilon=1,
                data_name="rows, version 1",
                ledger=ledger,
                account="trial",
            )
    assert QUOTED not in words(caught.value)
