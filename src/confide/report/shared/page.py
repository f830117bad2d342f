"""HTML pages: one file without scripts or network access, ready to print, with tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from confide.report.shared.tables import Table

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #1d1d1f; background: #fff;
  max-width: 74rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
p, li { max-width: 46rem; } .lead { color: #444; margin-top: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 1.5rem; margin: 1.2rem 0; }
.figures.single { max-width: 40rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; } figcaption { font-size: .9rem; color: #333; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .3rem 0; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #e2e2e2; white-space: nowrap; }
th { border-bottom: 2px solid #555; } th.text, td.text { text-align: left; }
.note { font-size: .9rem; color: #444; }
.warning { border-left: 4px solid #d55e00; background: #fdf3ec; padding: .5rem .9rem; margin: .6rem 0; }
footer { margin-top: 3rem; font-size: .85rem; color: #555; border-top: 1px solid #ddd; padding-top: .6rem; }
@media print { html { font-size: 12px; } body { max-width: none; padding: 0; font-size: 12px; }
  figure, table, li { break-inside: avoid; } h2 { break-after: avoid; } .scroll { overflow: visible; }
  .figures { grid-template-columns: 1fr 1fr; } .figures.single { grid-template-columns: 1fr; } }
"""


def whole_page(title: str, parts: Iterable[str], *, footer: str) -> str:
    """Return a complete page. `parts` are HTML; title and footer are text."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
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
    return f"<figure>{described}<figcaption>{escape(caption)}</figcaption></figure>"


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


def html_table(table: Table, *, caption: bool = True) -> str:
    """Return a table that scrolls where the screen is narrow, with its note."""

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f'<{tag} class="text">{escape(cell)}</{tag}>' if is_text else f"<{tag}>{escape(cell)}</{tag}>"
            for cell, is_text in zip(row, table.aligned_left, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.body)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    title = f"<caption>{escape(table.title)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{cells("th", table.head)}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>{note}"
    )
