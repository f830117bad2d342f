"""Tables as LaTeX, for documents that load the package booktabs."""

from __future__ import annotations

import re

from confide.report.shared.tables import Table, file_stem

# Brackets and stars stand in groups: after the \\ that ends a line they would be its arguments.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",  # babel gives the straight sign a meaning in some languages
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\0": "{}",
    "–": "--",
    "−": "$-$",
    "∞": r"$\infty$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "…": r"\ldots{}",
}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def latex_table(table: Table) -> str:
    """Return a floating table with caption, label and note. Text is escaped; `booktabs` draws the rules."""
    columns = "".join("l" if left else "r" for left in table.aligned_left)
    note = [rf"  \par\smallskip{{\footnotesize {latex_text(table.note)}\par}}"] if table.note else []
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_text(table.title)}}}",
        rf"  \label{{tab:{file_stem(table.title)}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _line(table.head),
        r"    \midrule",
        *map(_line, table.body),
        r"    \bottomrule",
        r"  \end{tabular}",
        *note,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX. Letters beyond Latin need an engine and a font that have them.

    >>> latex_text("cost_in_$ & 50 %")
    'cost\\_in\\_\\$ \\& 50 \\%'
    """
    plain = re.sub("-(?=-)", "-\0", _UNPRINTABLE.sub(" ", text))  # two hyphens would become a dash
    return "".join(_SPECIAL.get(letter, letter) for letter in plain)


def _line(cells: tuple[str, ...]) -> str:
    return f"    {' & '.join(map(latex_text, cells))} \\\\"
