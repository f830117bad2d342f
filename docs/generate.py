"""Generate the reference pages of the command line and of the metrics, and the page of all studies.

Run `python docs/generate.py` after changing either. A test fails while a page is stale.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from typer.testing import CliRunner

from confide.cli.main import app
from confide.metrics.names import METRIC_NAMES, Face
from confide.metrics.registry import METRICS

sys.path.insert(0, str(Path(__file__).parents[1]))  # the studies, which are not installed
from studies.summaries import index_page, results_page  # found by the line above

HELP_OPTION = re.compile(r"--help +-h +Show this message")

REFERENCE = Path(__file__).parent / "reference"
VERBS = (
    *(
        "evaluate",
        "release",
        "plan",
        "select",
        "train",
        "predict",
        "validate",
        "federation",
        "site",
        "ledger",
        "attack",
    ),
    *("audit", "demo", "contest", "submit", "serve", "completion"),
)
GROUPS = {
    "federation": ("init", "sign", "add-site", "start", "stop", "status", "renew", "revoke", "demo"),
    "site": (
        *("request", "init", "add-model", "start", "stop", "status", "pending", "approve", "refuse", "verify"),
        *("renew", "forget"),
    ),
    "ledger": ("new", "show", "history", "verify"),
    "contest": (
        *("plan", "new", "check", "token", "open", "pause", "status", "finalists", "close", "publish"),
        *("backup", "restore", "demo"),
    ),
    "attack": ("file", "labelings", "contest", "curve"),
    "completion": ("install", "show"),
}


def command_line() -> str:
    """Return the page with the help text of every command."""
    parts = [
        "# Command line\n",
        "Standard output holds data, standard error holds messages. Exit codes: 0 done, 1 failed, 2 wrong usage, "
        "3 refused because the privacy budget does not suffice, 4 waiting for a person at a site to decide. "
        "Every command has `--help`.\n",
    ]
    inner = ([group, verb] for group, verbs in GROUPS.items() for verb in verbs)
    commands = [[], *([verb] for verb in VERBS), *inner]
    for command in commands:
        parts.append(f"## `{' '.join(['confide', *command])}`\n\n```text\n{_help(command)}\n```\n")
    return "\n".join(parts)


def metrics() -> str:
    """Return the page with the registry of metrics as a table."""
    lines = [
        "# Metrics\n",
        "`confide.metric_score(counts, NAME, **options)` computes any of these; "
        "`confide.intervals.estimate(counts, NAME)` adds standard error and interval.\n",
        "| name | aliases | better | ranks only | needs probabilities | options | also offered by |",
        "|---|---|---|---|---|---|---|",
    ]
    for metric in METRICS.values():
        facts = METRIC_NAMES[metric.name]
        options, also = (", ".join(f"`{one}`" for one in named) for named in (metric.options, facts.aliases))
        ranks, probabilities = ("yes" if flag else "" for flag in (metric.ranks_only, metric.probabilities))
        others = ", ".join(face.value for face in Face if face in facts.faces - {Face.EXACT})
        lines.append(
            f"| `{metric.name}` | {also} | {facts.better.value} | {ranks} | {probabilities} | {options} | {others} |"
        )
    lines.append(
        "\nOther parts of the package offer these, too:\n\n| name | aliases | title | offered by |\n|---|---|---|---|"
    )
    for facts in METRIC_NAMES.values():
        if Face.EXACT not in facts.faces:
            also = ", ".join(f"`{one}`" for one in facts.aliases)
            lines.append(f"| `{facts.name}` | {also} | {facts.heading} | {', '.join(sorted(facts.faces))} |")
    lines.append(
        "\n*Ranks only* means that a strictly increasing transformation of the scores changes nothing. Threshold "
        "measures call `score >= threshold` positive; the default threshold is 0.5. `interpolated_thresholds` and "
        "`davis_goadrich` are PRROC's `auc.integral` and `auc.davis.goadrich`; the latter equals `lower_trapezoid` "
        "where no two positives have the same score and no negative ties with the highest positive. "
        "[Calibration curves and their errors](../explanation/calibration.md) defines ICI, E50, E90, Emax and "
        "`smoother`. `joint_intercept` is fitted together with `calibration_slope`, as in rms::val.prob.\n"
    )
    return "\n".join(lines)


PAGES = {
    "command-line.md": command_line,
    "metrics.md": metrics,
    "../studies/index.md": index_page,
    "../../studies/results/README.md": results_page,
}


def _help(arguments: list[str]) -> str:
    """Return the help text as a terminal of 100 columns without colours shows it, without the frames."""
    terminal = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    answer = CliRunner().invoke(app, [*arguments, "--help"], prog_name="confide", env=terminal, catch_exceptions=False)
    if answer.exit_code:
        raise SystemExit(f"confide {' '.join(arguments)} --help failed")
    lines = (_without_frame(line) for line in answer.stdout.strip("\n").splitlines())
    text = "\n".join(line for line in lines if line is not None and not (arguments and HELP_OPTION.search(line)))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"\n Options:(?=\n\n|\s*$)", "", text)).strip("\n")


def _without_frame(line: str) -> str | None:
    """Return a line without the frame of its panel; None for the lower edge."""
    if line.startswith("╰"):
        return None
    if title := re.fullmatch(r"╭─ (.+?) ─+╮", line):
        return f"\n {title[1]}:"
    return re.sub(r"^│(.*)│$", r"\1", line).rstrip()


if __name__ == "__main__":
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
