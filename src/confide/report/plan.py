"""Plans of releases and of exact studies: tables, sentences, plot, page, data frame, and the command itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from confide.intervals.power import AucDesign
from confide.intervals.sample_size import SamplePlan
from confide.intervals.validation_size import ValidationPlan
from confide.metrics.names import METRIC_NAMES, metric_title
from confide.privacy.guarantee import shown, typed
from confide.privacy.neighbours import Neighbours
from confide.releases.plan_result import ZCDP, MechanismPlan, Needed, Plan, QuestionPlan
from confide.report.numbers import amount, number, percent
from confide.report.style import GREY, as_svg, drawn_figure, marker, style
from confide.report.writers.frames import data_frame
from confide.report.writers.html import bullets, definitions, figure, figures, html_table, lead, whole_page
from confide.report.writers.terminal import Table, print_line, print_table
from confide.tasks.plan import TablePlan
from confide.tasks.requests.plan import NAIVE_BAYES, SELECTION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from rich.console import Console


def plan_tables(plan: Plan) -> list[Table]:
    """Return what to expect at the planned epsilon, and the epsilon that the wanted width needs."""
    level = percent(plan.level)
    digits = _digits(plan)
    expected = Table(
        title=f"What to expect at epsilon {shown(plan.epsilon)}",
        head=("mechanism", "error", "sample width", "population width", "times sampling"),
        body=tuple(
            (
                f"{entry.mechanism}{' *' if entry.mechanism == plan.auto else ''}",
                number(entry.mean_absolute_error, digits + 1),
                number(entry.sample_width, digits),
                number(entry.population_width, digits),
                number(plan.times_sampling(entry), 2),
            )
            for entry in plan.mechanisms
        ),
        note=f"* chosen by auto. Error: mean absolute error of the released value. Widths: of {level} intervals. "
        f"From sampling alone, without noise, the population interval would be {number(plan.sampling_width, digits)} "
        "wide.",
    )
    needs = [] if plan.width is None else [_needs(plan, plan.width)]
    return [expected, *needs, *([] if plan.questions is None else [_questions(plan.questions, digits)])]


def table_plan_table(plan: TablePlan) -> Table:
    """Return the ways to release tables, without widths of intervals."""
    whole = _questions(plan.questions, 0 if plan.in_rows else 3)
    columns = slice(None, -1)
    note = f"{whole.note} Error: {plan.error}."
    return replace(whole, head=whole.head[columns], body=tuple(row[columns] for row in whole.body), note=note)


def _questions(many: QuestionPlan, digits: int) -> Table:
    caps = f"epsilon {shown(many.epsilon)}" + (f", delta {shown(many.delta)}" if many.delta else "")
    best = many.best
    return Table(
        title=f"{many.questions:,} such questions in one account of {caps}",
        head=("composition", "mechanism", "epsilon each", "delta each", "rho each", "error", "population width"),
        body=tuple(
            (
                f"{way.share.composition}{' *' if way == best else ''}",
                way.share.mechanism,
                shown(way.share.epsilon),
                shown(way.share.delta),
                "" if way.share.rho is None else shown(way.share.rho),
                number(way.mean_absolute_error, digits + 1),
                number(way.population_width, digits),
            )
            for way in many.ways
        ),
        note="* least error. Under zcdp the rho of all questions add up, not their epsilons and deltas.",
        text_columns=("mechanism",),
    )


def _needs(plan: Plan, width: float) -> Table:
    return Table(
        title=f"Epsilon needed for an interval of width {width:g}",
        head=("mechanism", "sample interval", "population interval"),
        body=tuple(
            (entry.mechanism, _need(entry.sample_needs), _need(entry.population_needs)) for entry in plan.mechanisms
        ),
    )


def _digits(plan: Plan) -> int:
    """Return the decimals of widths: fewer where values are numbers of rows."""
    return 3 if plan.expected < 20.0 else 1


def _need(needed: Needed | None) -> str:
    if needed is None or needed.epsilon is None:
        return "none"
    return {"about": "", "at most": "≤ ", "more than": "> "}.get(needed.relation, "") + f"{needed.epsilon:g}"


_TITLES = {
    "roc": "ROC curves",
    "pr": "PR curves",
    "selection": "Selections of features",
    "naive-bayes": "Naive Bayes models",
    "confusion": "Confusion matrix (true positives)",
}


def print_plan(plan: Plan | TablePlan, console: Console) -> None:
    """Print the tables, the advice and the assumptions."""
    if isinstance(plan, TablePlan):
        _print_table_plan(plan, console)
        return
    print_line(plan_summary(plan), console)
    for table in plan_tables(plan):
        console.print()
        print_table(table, console)
    console.print()
    for line in (*plan_advice(plan), *plan.assumptions):
        print_line(line, console)


def _print_table_plan(plan: TablePlan, console: Console) -> None:
    print_line(table_summary(plan), console)
    console.print()
    print_table(table_plan_table(plan), console)
    console.print()
    for line in (plan.questions.why, *plan.assumptions):
        print_line(line, console)


def table_summary(plan: TablePlan) -> str:
    """Summarise the plan for tables in one line."""
    many = plan.questions
    spent = f"epsilon {shown(many.epsilon)}" + (f", delta {shown(many.delta)}" if many.delta else "")
    return f"{_TITLES.get(plan.kind, plan.kind)} from {amount(plan.rows)} rows, at {spent} ({plan.neighbours.value})"


def plan_summary(plan: Plan) -> str:
    """Summarise the plan in one line."""
    spent = f"epsilon {shown(plan.epsilon)}" + (f", delta {shown(plan.delta)}" if plan.delta else "")
    return (
        f"{planned_metric(plan)} of about {number(plan.expected)} from {amount(plan.rows)} rows with prevalence "
        f"{plan.prevalence:g}, at {spent} ({plan.neighbours.value})"
    )


def planned_metric(plan: Plan) -> str:
    """Return the planned metric in words."""
    return _TITLES.get(plan.metric, METRIC_NAMES[plan.metric].heading)


def plan_advice(plan: Plan) -> list[str]:
    """Return which mechanism to use, which ones cannot be used, and whether more epsilon would help."""
    advice = [plan.why, *([] if plan.questions is None else [plan.questions.why])]
    advice += [f"{name} is left out: {reason}." for name, reason in plan.left_out.items()]
    best = plan.recommended
    if plan.width is not None and plan.sampling_width > plan.width:
        advice.append(
            f"No epsilon makes the population interval {plan.width:g} wide: sampling alone makes it "
            f"{plan.sampling_width:.3g} wide. More rows would help."
        )
    if plan.times_sampling(best) < 1.1:
        advice.append("Noise hardly widens the population interval: a smaller epsilon may be enough.")
    return advice


def plot_plan(plan: Plan) -> Figure:
    """Draw the plan in a figure of its own."""
    return drawn_figure([(draw_widths, plan)], size=(6.4, 5.2))


def draw_widths(ax: Axes, plan: Plan) -> None:
    """Draw the expected width of the population interval against epsilon, one line for each mechanism."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    epsilon = float(plan.epsilon)
    for i, entry in enumerate(plan.mechanisms):
        points = np.array(_curve(entry, epsilon)).reshape(-1, 2)
        ax.plot(points[:, 0], points[:, 1], label=entry.mechanism, linewidth=1.8, **style(i))
        ax.plot([epsilon], [entry.population_width], marker(i), color=style(i)["color"])
    sampling = plan.sampling_width
    if math.isfinite(sampling):
        ax.axhline(sampling, color=GREY, linewidth=1.2, linestyle=":", label=f"sampling alone: {sampling:.3g}")
    if plan.width is not None:
        ax.axhline(plan.width, color="#000000", linewidth=0.9, linestyle=(0, (6, 4)), label=f"wanted: {plan.width:g}")
    ax.axvline(epsilon, color=GREY, linewidth=0.9)
    ax.annotate(
        f"epsilon {epsilon:.3g}",
        (epsilon, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4, -2),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color="#333333",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0.0, 1.08 * ax.get_ylim()[1])
    ax.grid(True)
    ax.set_axisbelow(True)
    ax.set_xlabel("Epsilon (smaller is more private)")
    ax.set_ylabel(f"Expected width of the {percent(plan.level)} interval")
    ax.set_title(f"{planned_metric(plan)}: width of the population interval")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)


def _curve(entry: MechanismPlan, epsilon: float) -> list[tuple[float, float]]:
    """Return the points to draw, the planned one among them."""
    points = [(point.epsilon, point.population_width) for point in entry.curve if point.epsilon != epsilon]
    points.append((epsilon, entry.population_width))
    return sorted((epsilon, width) for epsilon, width in points if math.isfinite(width))


_FOOTER = "Computed from public facts and guesses alone: no data were read and no budget was spent. Made with confide."

_CAPTION = (
    "Expected width of the population interval at each epsilon; lower is better. Dotted: width from sampling alone, "
    "without noise. Marks: the planned epsilon. More epsilon means less privacy."
)

_READING = (
    ("Error", "mean absolute difference between the released and the exact value. It comes from noise alone."),
    (
        "Sample interval",
        "covers the exact value of these rows. It accounts for noise.",
    ),
    (
        "Population interval",
        "covers the value in the population that the rows come from. It accounts for noise and sampling.",
    ),
    (
        "Times sampling",
        "width of the population interval, divided by its width without noise: the cost of privacy.",
    ),
    ("Epsilon", "the budget that the release takes from its account. A smaller epsilon is more private."),
)


def plan_page(plan: Plan | TablePlan, *, title: str) -> str:
    """Return one HTML page: no scripts, no network, ready to print."""
    if isinstance(plan, TablePlan):
        return whole_page(title, _table_parts(plan), footer=_FOOTER)
    return whole_page(title, _parts(plan), footer=_FOOTER)


def fragment(plan: Plan) -> str:
    """Return tables and advice, as a notebook shows them."""
    tables = "".join(html_table(table) for table in plan_tables(plan))
    return f"<div>{lead(plan_summary(plan))}{tables}{bullets(plan_advice(plan))}</div>"


def _table_parts(plan: TablePlan) -> list[str]:
    return [
        lead(table_summary(plan)),
        html_table(table_plan_table(plan)),
        bullets([plan.questions.why]),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]


def _parts(plan: Plan) -> list[str]:
    svg = as_svg(draw_widths, plan, size=(6.4, 5.2))
    return [
        lead(plan_summary(plan)),
        *(html_table(table) for table in plan_tables(plan)),
        bullets(plan_advice(plan)),
        figures([figure(svg, "widths", _CAPTION)]),
        "<h2>How to read this</h2>",
        definitions(_READING),
        "<h2>What was assumed</h2>",
        bullets(plan.assumptions),
    ]


COLUMNS = ("metric", "mechanism", "epsilon", "mean_absolute_error", "sample_width", "population_width", "level")


def plan_frame(plan: Plan) -> DataFrame:
    """Return one row for each mechanism, with what to expect of it."""
    rows = (
        {
            "metric": plan.metric,
            "mechanism": entry.mechanism,
            "epsilon": float(plan.epsilon),
            "mean_absolute_error": entry.mean_absolute_error,
            "sample_width": entry.sample_width,
            "population_width": entry.population_width,
            "level": plan.level,
        }
        for entry in plan.mechanisms
    )
    return data_frame(rows, COLUMNS)


_MEASURES = {
    "observed_expected": metric_title("observed_expected"),
    "calibration_slope": metric_title("calibration_slope"),
    "auc": f"{metric_title('auc')} (c-statistic)",
    "standardised_net_benefit": f"standardised {metric_title('net_benefit')}",
}


def sample_table(plan: SamplePlan) -> Table:
    """Return what the rows of a study of AUC give."""
    each = " of each sample" if plan.samples > 1 else ""
    cells = [
        ("rows" + each, f"{plan.rows:,}"),
        ("positives" + each, f"{plan.positives:,}"),
        ("negatives" + each, f"{plan.negatives:,}"),
        *([] if plan.power is None else [("power", number(plan.power))]),
        ("standard error", number(plan.standard_error, 4)),
        (f"width of the {percent(plan.design.level)} interval", number(plan.width)),
    ]
    return Table(title="What to expect", head=("", "value"), body=tuple(cells))


def validation_table(plan: ValidationPlan) -> Table:
    """Return the criteria of a validation, with the rows that each needs and the widths with all rows."""
    decisive = plan.decisive
    return Table(
        title="Rows for each criterion",
        head=("measure", "expected", "wanted width", "rows needed", f"width with {plan.rows:,} rows"),
        body=tuple(
            (
                f"{_MEASURES[one.measure]}{' *' if one == decisive else ''}",
                number(one.value),
                number(one.wanted_width),
                f"{one.rows:,}",
                number(one.width),
            )
            for one in plan.criteria
        ),
        note=f"* needs most rows. Widths: of {percent(plan.level)} intervals.",
    )


def measure_words(measure: str) -> str:
    """Return the name of a measure of a validation in words."""
    return _MEASURES[measure]


def print_exact_plan(plan: SamplePlan | ValidationPlan, console: Console) -> None:
    """Print the answer, its table and the assumptions."""
    print_line(exact_summary(plan), console)
    console.print()
    print_table(validation_table(plan) if isinstance(plan, ValidationPlan) else sample_table(plan), console)
    console.print()
    notes = plan.notes if isinstance(plan, ValidationPlan) else ()
    for line in (*notes, *plan.assumptions):
        print_line(line, console)


def exact_summary(plan: SamplePlan | ValidationPlan) -> str:
    """Return the answer in one sentence."""
    return _validation_summary(plan) if isinstance(plan, ValidationPlan) else _sample_summary(plan)


def _sample_summary(plan: SamplePlan) -> str:
    design = plan.design
    if isinstance(design, AucDesign):
        what = f"AUC {design.auc:g}" + ("" if design.null is None else f" against {design.null:g}")
    else:
        what = "AUC {:g} against {:g}".format(*design.aucs) + (" on the same rows" if design.paired else "")
    rows = f"{plan.rows:,} rows" if plan.samples == 1 else f"2 samples of {plan.rows:,} rows"
    share = f", {design.prevalence:g} of them positive,"
    power = "" if plan.power is None else f" with power {number(plan.power)}"
    verb = "estimate" if plan.power is None else "test"
    return f"{rows}{share} {verb} {what}{power}; the interval is {number(plan.width)} wide."


def _validation_summary(plan: ValidationPlan) -> str:
    decisive = f"{measure_words(plan.decisive.measure)} needs most"
    if not plan.given:
        return f"The validation needs {plan.rows:,} rows with about {plan.positives:,} positives: {decisive}."
    if plan.enough:
        return f"{plan.rows:,} rows are enough: the validation needs {plan.needed:,}, as {decisive}."
    return f"{plan.rows:,} rows are too few: the validation needs {plan.needed:,}, as {decisive}."


_FLAGS = {"metrics": "--metric"}


def release_command(parameters: Mapping[str, object]) -> str:
    """Return the command line of `confide release` with some parameters.

    >>> release_command({"metrics": "auc", "epsilon": Fraction(1, 2)})
    'confide release FILE --label COL --score COL --metric auc --epsilon 0.5'
    """
    return " ".join(["confide release FILE --label COL --score COL", *_options(parameters)])


def _table_command(plan: TablePlan, parameters: Mapping[str, object]) -> str:
    """Return the command line of the verb that releases a table."""
    verb = {SELECTION: "select", NAIVE_BAYES: "train"}.get(plan.kind)
    if verb is None:
        return release_command(parameters)
    return " ".join([f"confide {verb} FILE --label COL --column COL=CUTS", *_options(parameters)])


def _options(parameters: Mapping[str, object]) -> list[str]:
    return [
        f"{_FLAGS.get(name, '--' + name.replace('_', '-'))} {_written(value)}" for name, value in parameters.items()
    ]


def plan_commands(plan: Plan | TablePlan, parameters: Mapping[str, object]) -> list[str]:
    """Return the commands that do what was planned: with many questions, the account comes first."""
    release = _table_command(plan, parameters) if isinstance(plan, TablePlan) else release_command(parameters)
    if plan.questions is None:
        return [release]
    caps, zcdp = plan.questions, plan.questions.best.share.composition == ZCDP
    account = [f"confide ledger new NAME --epsilon {_written(caps.epsilon)}"]
    account += [f"--delta {_written(caps.delta)}"] if caps.delta and (zcdp or caps.best.share.delta) else []
    account += [f"--neighbours {plan.neighbours.value}"] if plan.neighbours != Neighbours.REPLACE_ONE else []
    account += [f"--composition {ZCDP}"] if zcdp else []
    return [" ".join(account), f"{release} --account NAME"]


def _written(value: object) -> str:
    if isinstance(value, Fraction):
        return typed(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
