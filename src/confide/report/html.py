"""The evaluation as one HTML page: no scripts, no network, ready to print."""

from __future__ import annotations

import re
from html import escape

from confide.report import plots
from confide.report.cautions import band_caution
from confide.report.model import Evaluation
from confide.report.tables import Table, tables
from confide.report.text import summary

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

_CAPTIONS = {
    "roc": "Each threshold's true-positive rate against its false-positive rate. The further up and left, the better; "
    "the dotted diagonal is guessing. Shaded, where whole rows allow it: pointwise bootstrap band.",
    "pr": "Each threshold's precision against its recall. The hatched region cannot be reached by any model at this "
    "prevalence; the dotted line is guessing. At low recall precision rests on a few rows.",
    "calibration": "How often what was given a risk happened. On the diagonal risks can be taken at their word; below "
    "it they are too high. Line: smooth curve with its pointwise interval. Marks: ten bins of equal "
    "size with Wilson intervals. Below: the distribution of scores among positives (up) and "
    "negatives (down).",
    "decision": "What acting on the score is worth at each threshold probability, in true positives per row after "
    "paying for false ones. A model is useful where its line is above treating all and treating none.",
    "forest": "AUC in each group beside all rows together.",
}

_READING = (
    (
        "AUC",
        "the probability that a positive row has a higher score than a negative one. 0.5 is guessing, 1 is perfect.",
    ),
    (
        "Average precision",
        "the mean precision at the positives, which depends on prevalence: compare it with the prevalence and "
        "with the minimum, not with 0.5.",
    ),
    (
        "AUCNPR",
        "where average precision lies between the worst possible curve (0) and the best (1) at this prevalence. "
        "It has the same range everywhere, but a score of the same AUC still has a higher AUCNPR where positives are "
        "common: between groups, compare AUC.",
    ),
    (
        "Interval",
        "values of the population that these rows do not contradict. Two overlapping intervals do not show that "
        "models are equally good; the comparison table tests that on the same rows.",
    ),
    (
        "Calibration slope",
        "below 1, risks are too extreme: high ones too high and low ones too low. Intercept above 0: risks are too "
        "low on average.",
    ),
    (
        "Scaled Brier score",
        "the share of the uncertainty about the label that the score removes; 0 is no better than giving everybody "
        "the prevalence.",
    ),
    (
        "Net benefit",
        "true positives less false positives, a false one counting threshold/(1 - threshold), per row.",
    ),
)


def page(evaluation: Evaluation, *, title: str) -> str:
    """Return the whole page."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(summary(evaluation))}</p>',
            *(f'<p class="warning">{escape(warning)}</p>' for warning in _all_cautions(evaluation)),
            *_sections(evaluation),
            "<h2>How to read this</h2><ul>",
            *(f"<li><strong>{escape(name)}</strong>: {escape(text)}</li>" for name, text in _READING),
            "</ul><h2>What was assumed</h2><ul>",
            *(f"<li>{escape(text)}</li>" for text in evaluation.assumptions),
            "</ul>",
            "<footer>Exact numbers from the rows themselves: this page is not differentially private. "
            "Publishing exact numbers can give labels away. Made with confide.</footer>",
            "</body></html>",
        )
    )


def _all_cautions(evaluation: Evaluation) -> list[str]:
    of_bands = band_caution(evaluation)
    return [*evaluation.warnings, *([of_bands] if of_bands else [])]


def fragment(evaluation: Evaluation) -> str:
    """Return the tables alone, as a notebook shows them."""
    parts = [f"<p>{escape(summary(evaluation))}</p>", *(_table(table) for table in tables(evaluation))]
    parts += [f"<p><em>{escape(warning)}</em></p>" for warning in evaluation.warnings]
    return "<div>" + "".join(parts) + "</div>"


def _sections(evaluation: Evaluation) -> list[str]:
    found = {table.title: table for table in tables(evaluation)}
    probabilities = any(model.counts.probabilities for model in evaluation.models)
    parts = ["<h2>Ranking</h2>", _table(found["Ranking"], caption=False)]
    parts.append(_figures(evaluation, ["roc", "pr"]))
    parts.append(_table(found["AUCPR by estimator"]))
    if "Comparison of AUC" in found:
        parts += ["<h2>Comparison</h2>", _table(found["Comparison of AUC"], caption=False)]
    if probabilities:
        parts += ["<h2>Calibration and use</h2>", _table(found["Calibration"], caption=False)]
        parts.append(_figures(evaluation, ["calibration", "decision"]))
    parts += ["<h2>Thresholds</h2>", _table(found["At a threshold"], caption=False)]
    if "By group" in found:
        parts += ["<h2>Groups</h2>", _table(found["By group"], caption=False)]
        if any(group.models for group in evaluation.groups):
            parts.append(_figures(evaluation, ["forest"]))
    return parts


_DRAWINGS = {
    "roc": plots.draw_roc,
    "pr": plots.draw_pr,
    "calibration": plots.draw_calibration,
    "decision": plots.draw_decision,
    "forest": plots.draw_forest,
}


def _figures(evaluation: Evaluation, names: list[str]) -> str:
    shown = (_figure(evaluation, name) for name in names)
    kind = "figures single" if len(names) == 1 else "figures"
    return f'<div class="{kind}">' + "".join(shown) + "</div>"


def _figure(evaluation: Evaluation, name: str) -> str:
    size = (5.4, 5.0)
    if name == "forest":
        size = (7.0, 1.2 + 0.35 * (1 + len(evaluation.groups)) * max(1.0, len(evaluation.models) * 0.6))
    elif name in ("calibration", "decision"):
        size = (5.4, 5.8)
    svg = _own_names(plots.as_svg(_DRAWINGS[name], evaluation, size=size), name)
    caption = escape(_CAPTIONS[name])
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{caption}" ', 1)
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def _own_names(svg: str, prefix: str) -> str:
    """Give each picture's identifiers a prefix, so that several can share a page."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)


def _table(table: Table, *, caption: bool = True) -> str:
    left = [position == 0 or name == "score" for position, name in enumerate(table.head)]

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f'<{tag} class="text">{escape(cell)}</{tag}>' if is_text else f"<{tag}>{escape(cell)}</{tag}>"
            for cell, is_text in zip(row, left, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.body)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    title = f"<caption>{escape(table.title)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{title}<thead><tr>{cells("th", table.head)}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>{note}"
    )
