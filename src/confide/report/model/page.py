"""A privately trained model as one HTML page that may be published."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from html import escape

from confide.learning.workflow import Workflow
from confide.privacy.accounting import total
from confide.report.model.plots import draw_weights
from confide.report.model.tables import MOST_SHOWN, NO_WORDS, budget_table, weights_table
from confide.report.shared.guarantees import guarantee_words
from confide.report.shared.page import bullets, figure, figures, html_table, lead, whole_page
from confide.report.shared.style import as_svg

_FOOTER = "Everything on this page was released under the guarantee stated on it. Made with confide."

_CAPTION = (
    "What each feature adds to the log-odds of the positive class, for the most important features. Importance is the "
    "weight, multiplied by the frequency of the feature where that was released. All values include the noise of the "
    "training."
)


def model_page(
    workflow: Workflow, costs: Mapping[str, Fraction], *, title: str, words: Mapping[str, str] = NO_WORDS
) -> str:
    """Return the whole page. `words` name the places of hashed words."""
    return whole_page(title, _parts(workflow, costs, words), footer=_FOOTER)


def _parts(workflow: Workflow, costs: Mapping[str, Fraction], words: Mapping[str, str]) -> list[str]:
    model = workflow.trained()
    guarantee = total(workflow.steps.values())
    kept = f"{len(model.features):,} of {workflow.encoding.width:,} features"
    return [
        lead(f"A {model.kind} model for {workflow.label!r} with {kept}, trained under differential privacy."),
        f"<p>{escape(guarantee_words(guarantee))}</p>",
        "<h2>Budget</h2>",
        html_table(budget_table(workflow, costs), caption=False),
        "<h2>The model</h2>",
        *(_figure(workflow, words) if model.features else []),
        html_table(weights_table(workflow, words), caption=False),
        "<h2>What was assumed</h2>",
        bullets(_assumptions(workflow)),
    ]


def _figure(workflow: Workflow, words: Mapping[str, str]) -> list[str]:
    count = min(len(workflow.trained().features), MOST_SHOWN)
    svg = as_svg(partial(draw_weights, words=words), workflow, size=(7.0, 1.2 + 0.28 * count))
    return [figures([figure(svg, "weights", _CAPTION)])]


def _assumptions(workflow: Workflow) -> list[str]:
    guarantee = total(workflow.steps.values())
    lines = [
        f"Taken to be public: {', '.join(guarantee.public)}.",
        "The encoding of rows as features does not depend on the data: words are hashed or come from a public list, "
        "and columns are cut at given points.",
    ]
    if workflow.held_out is not None:
        free = (
            " Releases about them cost nothing more, up to the cost of the training rows." if workflow.parallel else ""
        )
        lines.append(
            f"{float(workflow.held_out):g} of the rows were held out by a public hash of "
            f"{', '.join(workflow.held_out_columns)}, and were not read.{free}"
        )
    return lines
