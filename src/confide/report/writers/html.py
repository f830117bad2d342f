"""HTML pages: one file without scripts or network access, ready to print, with tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from confide.report.numbers import decimal_aligned
from confide.report.writers.terminal import Table

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

STYLE = """
:root { color-scheme: light; --paper: #fff; --ink: #1d1d1f; --soft: #444; --line: #e2e2e2; --rule: #555;
  --edge: #c8c8c8; --mark: #d55e00; --mark-paper: #fdf3ec; --link: #0060a8; --stop: #b00020;
  --stop-paper: #fdecee; --stop-ink: #7a0016; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink);
  background: var(--paper); max-width: 74rem; margin: 0 auto; padding: 1.5rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p, li { max-width: 46rem; } .lead { color: var(--soft); margin-top: 0; } a { color: var(--link); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1.5rem;
  margin: 1.2rem 0; }
.figures.single { max-width: 40rem; } .figures.single:has(.wide) { max-width: none; }
figure { margin: 0; min-width: 0; } figure.wide { grid-column: 1 / -1; }
figure svg { display: block; width: 100%; height: auto; max-width: 40rem; }
figure.wide svg { min-width: 40rem; max-width: none; mix-blend-mode: multiply; }
figcaption { font-size: .9rem; color: var(--soft); max-width: 46rem; margin-top: .3rem; }
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--paper) 30%, transparent) 0 0,
  linear-gradient(270deg, var(--paper) 30%, transparent) 100% 0, linear-gradient(90deg, var(--edge), transparent) 0 0,
  linear-gradient(270deg, var(--edge), transparent) 100% 0; background-repeat: no-repeat;
  background-size: 3rem 100%, 3rem 100%, .7rem 100%, .7rem 100%; background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; margin: .3rem 0; font-variant-numeric: tabular-nums lining-nums; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; }
th { border-bottom: 2px solid var(--rule); vertical-align: bottom; white-space: normal; }
th.text, td.text { text-align: left; }
table.prose td { white-space: normal; vertical-align: top; } table.prose td:first-child { white-space: nowrap; }
.note { font-size: .9rem; color: var(--soft); }
.banner { border: 2px solid var(--stop); background: var(--stop-paper); color: var(--stop-ink); padding: .6rem .9rem;
  margin: .8rem 0; max-width: none; }
.warning { border-left: 4px solid var(--mark); background: var(--mark-paper); padding: .5rem .9rem; margin: .6rem 0;
  max-width: 46rem; }
.warning ul { margin: 0; padding-left: 1.1rem; } .warning li + li { margin-top: .3rem; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
pre { overflow-x: auto; overflow-wrap: normal; } code { font-size: .9em; }
footer { margin-top: 3rem; font-size: .85rem; color: var(--soft); border-top: 1px solid var(--line);
  padding-top: .6rem; }
@media (max-width: 40rem) { body { padding: 1rem; } th, td { padding: .3rem .5rem; } ul { padding-left: 1.3rem; }
  td.text:first-child { white-space: normal; min-width: 6rem; }
  table.prose, table.prose tbody, table.prose tr, table.prose td { display: block; }
  table.prose caption { display: block; } table.prose thead { display: none; }
  table.prose td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; } table.prose td:empty { display: none; }
  table.prose td:first-child { font-weight: 600; } table.prose tr { border-bottom: 1px solid var(--line);
    padding: .4rem 0; } }
@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --paper: #1a1a1a; --ink: #e6e6e6; --soft: #b4b4b4; --line: #3a3a3a; --rule: #9a9a9a;
    --edge: #5a5a5a; --mark: #e8853f; --mark-paper: #33241a; --link: #7cb8f0; --stop: #ff6b7f;
    --stop-paper: #3a1a1f; --stop-ink: #ffc2ca; }
  figure svg { filter: invert(.9) hue-rotate(180deg); } figure.wide svg { mix-blend-mode: lighten; } }
@media print { html { font-size: 12px; } body { max-width: none; padding: 0; font-size: 12px; }
  figure, table, li, .warning { break-inside: avoid; } h2, summary { break-after: avoid; }
  .scroll { overflow: visible; background: none; }
  .figures { grid-template-columns: 1fr 1fr; } .figures.single { grid-template-columns: 1fr; }
  figure.wide svg { min-width: 0; mix-blend-mode: normal; }
  summary { list-style: none; } th, td { padding: .2rem .4rem; }
  td.text { white-space: normal; }
  details::details-content { content-visibility: visible; block-size: auto; opacity: 1; } }
"""
"""Colours are variables. In dark mode figures are inverted: white becomes the page's colour, and hues stay.
A shade at an edge shows that a table or figure scrolls."""

_MINUS = re.compile(r"(?<!\w)-(?=[0-9.∞])")

_WIDE = 560.0  # points, from which on a figure takes the whole width


def whole_page(title: str, parts: Iterable[str], *, footer: str) -> str:
    """Return a complete page. `parts` are HTML; title and footer are text."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *parts,
            f"<footer>{escape(footer)}</footer>",
            "</body></html>",
        )
    )


def lead(text: str) -> str:
    """Return the paragraph under the title."""
    return f'<p class="lead">{escape(text)}</p>'


def warning(text: str) -> str:
    """Return a warning in a box."""
    return f'<p class="warning">{escape(text)}</p>'


def warnings(texts: Iterable[str]) -> str:
    """Return warnings in one box, as a list if there are several; nothing if there are none."""
    every = list(texts)
    if len(every) < 2:
        return "".join(warning(text) for text in every)
    return f'<div class="warning">{bullets(every)}</div>'


def folded(title: str, html: str) -> str:
    """Return a part that opens when its title is clicked, and that is open in print. `html` is HTML; title is text."""
    return f"<details><summary>{escape(title)}</summary>{html}</details>"


def bullets(lines: Iterable[str]) -> str:
    """Return a list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a list of terms with their explanations."""
    lines = (f"<li><strong>{escape(term)}</strong>: {escape(text)}</li>" for term, text in pairs)
    return f"<ul>{''.join(lines)}</ul>"


def figure(svg: str, name: str, caption: str) -> str:
    """Return a figure with its caption, which screen readers get too."""
    described = _prefixed(svg, name).replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    words = f"<figcaption>{escape(caption)}</figcaption>"
    if _width(svg) < _WIDE:
        return f"<figure>{described}{words}</figure>"
    return f'<figure class="wide"><div class="scroll">{described}</div>{words}</figure>'


def _width(svg: str) -> float:
    """Return the width of a figure in points; 0 if it names none."""
    named = re.match(r'<svg\b[^>]*?\bwidth="([0-9.]+)pt"', svg)
    return float(named[1]) if named else 0.0


def figures(parts: Iterable[str]) -> str:
    """Return figures side by side, or one alone."""
    every = list(parts)
    kind = "figures single" if len(every) == 1 else "figures"
    return f'<div class="{kind}">' + "".join(every) + "</div>"


def _prefixed(svg: str, prefix: str) -> str:
    """Prefix the identifiers of a figure, so that several figures can share a page."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)


def html_table(table: Table, *, caption: bool = True, prose: bool = False) -> str:
    """Return a table that scrolls where the screen is narrow, with its note.

    Numbers are aligned by their points. Cells of `prose` break into lines.
    """

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f'<{tag} class="text">{escape(cell)}</{tag}>' if is_text else f"<{tag}>{escape(cell)}</{tag}>"
            for cell, is_text in zip(row, table.aligned_left, strict=True)
        )

    columns = [
        list(column) if is_text else decimal_aligned([_MINUS.sub("−", cell) for cell in column])
        for column, is_text in zip(zip(*table.body, strict=True), table.aligned_left, strict=False)
    ]
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in zip(*columns, strict=True))
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    title = f"<caption>{escape(table.title)}</caption>" if caption else ""
    kind = ' class="prose"' if prose else ""
    return (
        f'<div class="scroll"><table{kind}>{title}<thead><tr>{cells("th", table.head)}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>{note}"
    )
