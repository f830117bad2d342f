"""Options that `confide select` and `confide train` share: how rows are read, and what is protected."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.errors import ParameterError

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.ledger.payer import FileSubject

Text = Annotated[
    str | None,
    typer.Option("--text", metavar="COL", help="Column of text: each word is a feature, hashed to one of 2^14 places."),
]
Bits = Annotated[int | None, typer.Option(metavar="B", help="With --text: hash words to 2^B places. [default: 14]")]
LeaveOut = Annotated[
    Path | None, typer.Option(metavar="WORDS.txt", help="With --text: words to leave out, one a line; public.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        metavar="WORDS.txt",
        help="With --text: take these words, one a line, instead of hashing. The list must be public: words collected "
        "from the private rows give them away.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="RULE",
        help="A column with a public rule: smoker (0/1), age=40,50,60 (cut at points) or sex=f|m (values); repeatable.",
    ),
]
HoldOut = Annotated[
    str | None,
    typer.Option("--hold-out", metavar="SHARE", help="Share of rows kept for evaluation; 0 for none. [default: 0.3]"),
]
HoldOutBy = Annotated[
    list[str] | None,
    typer.Option(
        "--hold-out-by",
        metavar="COL",
        help="Hold out by this column, so that a person's rows stay together. [default: by the row's features]",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        metavar="E", help="Epsilon of the whole workflow, divided among its steps. [default: 1]", show_default=False
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", metavar="E", help="Epsilon of this step. [default: its part of --budget]"),
]
Relation = Annotated[
    str | None, typer.Option(metavar="RELATION", help="add-remove-one (default), replace-one or label-only.")
]
Unit = Annotated[str | None, typer.Option(metavar="UNIT", help="What it protects: row or person. [default: row]")]


def new_workflow(
    *,
    label: str | None,
    positive: str | None,
    text: str | None,
    bits: int | None,
    leave_out: Path | None,
    vocabulary: Path | None,
    columns: list[str] | None,
    hold_out: str | None,
    hold_out_by: list[str] | None,
    budget: str | None,
    unit: str | None,
    rows_per_person: int | None,
) -> Workflow:
    """Return the workflow that the options describe. Nothing private is read."""
    from confide.learning.workflow import Workflow
    from confide.privacy.guarantee import checked_epsilon, exact_fraction
    from confide.sources.encoding import Encoding

    if label is None:
        raise ParameterError("name the column of labels (--label COL)")
    if text is None and not columns:
        raise ParameterError("say what the features are: a column of text (--text COL) or columns (--column RULE)")
    encoding = Encoding.parse(
        text=text, bits=bits, leave_out=leave_out, vocabulary=vocabulary, columns=tuple(columns or ())
    )
    share = exact_fraction("0.3" if hold_out is None else hold_out, "--hold-out")
    workflow = Workflow(
        encoding=encoding,
        label=label,
        positive=positive,
        held_out=None if share == 0 else share,
        held_out_by=tuple(hold_out_by or ()),
        budget=Fraction(1) if budget is None else checked_epsilon(exact_fraction(budget, "--budget")),
        unit="row" if unit is None else unit,
        rows_per_person=1 if rows_per_person is None else rows_per_person,
    )
    try:
        workflow.written().encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError("a column, value or label is not text in UTF-8; write its name anew") from None
    return workflow


def workflow_subject(workflow: Workflow, file: Path, words: Sequence[Path | None]) -> FileSubject:
    """Return the data that a step of a workflow is about; `words` are the files of public words that it takes."""
    from confide.ledger.payer import FileSubject

    return FileSubject(
        file=file,
        label=workflow.label,
        positive=workflow.positive,
        details={"workflow": workflow.digest()},
        public_files=tuple(one for one in words if one is not None),
    )


def remark_on_sides(workflow: Workflow) -> None:
    """Print how rows are held out, if many rows may be alike in the columns that decide it."""
    if workflow.held_out is not None and not workflow.held_out_by and not workflow.encoding.text_columns:
        typer.echo(
            f"rows that are alike in {', '.join(workflow.held_out_columns)} are all held out or all trained on. Where "
            "few values make that an odd sample, hold out by a column that tells rows or persons apart "
            "(--hold-out-by COL).",
            err=True,
        )


def refuse_given(why: str, **options: Any) -> None:
    """Refuse options that another option decides."""
    for name, value in options.items():
        if value is not None and value != []:
            raise ParameterError(f"--{name.replace('_', '-')} {why}; leave it out")
