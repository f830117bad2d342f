"""Tables as files: what is written can be read back, whatever signs names have."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

import confide
from confide.errors import ParameterError, UsageError
from confide.examples import HEART_ATTACK
from confide.report.evaluation.tables import evaluation_tables
from confide.report.writers.table_files import (
    available_formats,
    check_tables,
    csv_table,
    latex_table,
    latex_text,
    markdown_table,
    save_word,
    write_tables,
)
from confide.report.writers.terminal import Table, file_stem

NASTY = (
    r"a_b", "50 %", "A & B", "x|y", "$cost$", r"back\slash", "{curly}", "#1", "~", "^", "<b>", "[0.1]", "* mark", "--",
    'say "x"', "`code`", "été", "漢字", "two\nlines", "a,b", "–", "−1.5", "1 ≥ 0 ≤ ∞", "!x", "=1+1",
)  # fmt: skip
TABLE = Table(
    title="100 % of A_B & C",
    head=("name", "value", "words|x"),
    body=tuple((name, "0.805", f"about {name}") for name in NASTY),
    note="* A note with 5 % and a_b.",
    text_columns=("words|x",),
)


@pytest.fixture(scope="module")
def evaluation() -> confide.Evaluation:
    return confide.evaluate(HEART_ATTACK, label="died", score=["logistic", "age_only"], group="sex", replicates=0)


class TestLatex:
    """Structure only: no engine is needed to see that groups, environments and columns are balanced."""

    def test_environments_and_groups_are_balanced(self) -> None:
        text = latex_table(TABLE)
        opened = re.findall(r"\\begin\{(\w+)\}", text)
        closed = re.findall(r"\\end\{(\w+)\}", text)
        assert opened == ["table", "tabular"] == closed[::-1]
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")
        assert text.isascii() is False  # letters stay letters
        for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
            assert text.count(rule) == 1

    def test_every_line_has_as_many_cells_as_columns(self) -> None:
        text = latex_table(TABLE)
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
        assert columns is not None
        assert columns[1] == "lrl"
        lines = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(lines) == 1 + len(TABLE.body)
        for line in lines:
            assert len(re.findall(r"(?<!\\)&", line)) == 2, line

    @pytest.mark.parametrize("name", NASTY)
    def test_no_sign_of_a_name_is_a_command(self, name: str) -> None:
        written = latex_text(name)
        known = (
            r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textasciigrave|ldots)\{\}"
        )
        rest = re.sub(rf"{known}|\\[{{}}$&#%_]|\$(-|\\infty|\\ge|\\le)\$|\{{[\[\]*]\}}|\{{\}}", " ", written)
        assert not re.search(r"[\\{}$&#%_~^<>|`\[\]*\n]", rest), written
        assert "--" not in rest or name == "–"

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            ("a_b", r"a\_b"),
            (r"\x{y}", r"\textbackslash{}x\{y\}"),
            ("a--b---c", "a-{}-b-{}-{}-c"),
            ("[1]*", "{[}1{]}{*}"),
            ("−0.5 – 1", "$-$0.5 -- 1"),
            ("two\r\n\tlines", "two lines"),
        ],
    )
    def test_text_is_escaped(self, name: str, written: str) -> None:
        assert latex_text(name) == written

    def test_the_caption_has_a_label_without_special_signs(self) -> None:
        assert r"\label{tab:100-of-a-b-c}" in latex_table(TABLE)


def cells_of(line: str) -> list[str]:
    """Read a line of a pipe table as GitHub does: a pipe after a backslash is part of the cell."""
    inner = re.split(r"(?<!\\)(?:\\\\)*\|", line.strip())[1:-1]
    return [re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip()) for cell in inner]


def test_markdown_is_read_back() -> None:
    title, empty, head, rule, *lines = markdown_table(TABLE).splitlines()
    assert (title, empty) == (r"**100 % of A\_B \& C**", "")
    assert [cell.strip() for cell in rule.strip("|").split("|")] == ["---", "---:", "---"]
    assert cells_of(head) == list(TABLE.head)
    read = [cells_of(line) for line in lines[: len(TABLE.body)]]
    assert read == [[cell.replace("\n", " ") for cell in row] for row in TABLE.body]
    assert lines[len(TABLE.body) :] == ["", r"\* A note with 5 % and a\_b."]


def test_csv_is_read_back() -> None:
    assert [tuple(row) for row in csv.reader(csv_table(TABLE).splitlines(keepends=True))] == [TABLE.head, *TABLE.body]


def test_word_is_read_back(tmp_path: Path) -> None:
    import docx
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    save_word([TABLE, TABLE], tmp_path / "t.docx")
    document = docx.Document(str(tmp_path / "t.docx"))
    assert len(document.tables) == 2
    read = [tuple(cell.text for cell in row.cells) for row in document.tables[0].rows]
    assert read == [TABLE.head, *TABLE.body]
    sides = [cell.paragraphs[0].alignment for cell in document.tables[0].rows[1].cells]
    assert sides == [WD_ALIGN_PARAGRAPH.LEFT, WD_ALIGN_PARAGRAPH.RIGHT, WD_ALIGN_PARAGRAPH.LEFT]
    assert [paragraph.text for paragraph in document.paragraphs][:2] == [TABLE.title, TABLE.note]


def test_word_takes_names_that_xml_does_not(tmp_path: Path) -> None:
    import docx

    odd = Table(title="t", head=("a",), body=(("x\x00\x1by",),))
    save_word([odd], tmp_path / "t.docx")
    assert docx.Document(str(tmp_path / "t.docx")).tables[0].cell(1, 0).text == "x\ufffd\ufffdy"


def test_without_python_docx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setattr("confide.report.writers.table_files.find_spec", lambda name: None)
    assert available_formats() == ("csv", "tex", "md")
    with pytest.raises(UsageError, match=r"pip install 'confide\[word\]'"):
        write_tables([TABLE], tmp_path / "new", formats=["csv", "docx"])
    with pytest.raises(UsageError, match=r"pip install 'confide\[word\]'"):
        save_word([TABLE], tmp_path / "t.docx")
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in write_tables([TABLE], tmp_path)] == [
        f"100-of-a-b-c.{k}" for k in ("csv", "tex", "md")
    ]


def test_all_tables_of_an_evaluation_are_written(tmp_path: Path, evaluation: confide.Evaluation) -> None:
    tables, folder = evaluation_tables(evaluation), tmp_path / "paper" / "tables"
    written = write_tables(tables, folder, formats=["csv", "tex", "md"], numbers=evaluation.to_frame())
    assert set(written) == set(folder.iterdir())
    assert {path.name for path in written} == {
        "numbers.csv", *(f"{file_stem(table.title)}.{kind}" for table in tables for kind in ("csv", "tex", "md"))
    }  # fmt: skip
    ranking = pd.read_csv(folder / "ranking.csv")
    assert ranking.loc[0, "AUC"] == pytest.approx(evaluation.models[0].auc.value, abs=5e-4)


def test_numbers_keep_all_digits(tmp_path: Path, evaluation: confide.Evaluation) -> None:
    write_tables([], tmp_path, formats=["csv"], numbers=evaluation.to_frame())
    frame = evaluation.to_frame()
    with (tmp_path / "numbers.csv").open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert [float(row["value"]) for row in read] == frame["value"].tolist()
    assert [row["metric"] for row in read] == frame["metric"].tolist()
    assert [row["group"] or None for row in read] == [None if pd.isna(one) else one for one in frame["group"]]


def test_two_tables_of_one_title_have_two_files(tmp_path: Path) -> None:
    named = [Table(title=title, head=("a",), body=((title,),)) for title in ("T", "t", "T!", "Numbers", "漢字")]
    written = write_tables(named, tmp_path, formats=["md"])
    assert [path.name for path in written] == ["t.md", "t-2.md", "t-3.md", "numbers-2.md", "table.md"]


def test_the_data_are_never_overwritten(tmp_path: Path) -> None:
    data = tmp_path / "numbers.csv"
    data.write_text("died,risk\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is the file to be evaluated"):
        write_tables([TABLE], tmp_path, formats=["csv"], source=data)
    named = tmp_path / "100-of-a-b-c.csv"
    named.write_text("died,risk\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is the file to be evaluated"):
        write_tables([TABLE], tmp_path, formats=["csv"], source=str(named))
    assert data.read_text(encoding="utf-8") == named.read_text(encoding="utf-8") == "died,risk\n"


def test_wrong_formats_and_folders_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="`formats` must be some of csv, tex, md, docx; got xlsx"):
        check_tables(tmp_path / "new", formats=["csv", "xlsx"])
    with pytest.raises(ParameterError, match="got none"):
        check_tables(tmp_path / "new", formats=[])
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file; give the name of a folder"):
        check_tables(tmp_path / "file", formats=["csv"])
    with pytest.raises(UsageError, match="cannot be written to"):
        check_tables(tmp_path / "file" / "below", formats=["csv"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
