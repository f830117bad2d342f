"""Text of a new site's policy, and how a study is added to a policy that an administrator has edited.

The text is a template, and not written from values: its comments explain each rule to the administrator, and a change
must keep every other line as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from confide.errors import ParameterError
from confide.federation.modes.mode import FEWEST_MASKED, MOST_EXACT_CELLS
from confide.federation.modes.registry import MODES
from confide.federation.policy import ALLOWED_BY_DEFAULT, Policy
from confide.federation.site_files import toml_value
from confide.federation.term_checks import checked_names

_TEMPLATE = f"""\
# Rules of this site. A request that breaks one is refused, and the reply names the rule.
# A rule that is left out has the value shown here. Changes hold from the next request on.

# Modes in which this site answers, by what each promises to the people in its data. Exact answers are given only if
# their mode is named here:
@modes@
modes = @allowed@

# disclosure-control: least number of people in a group of rows of one class that leaves the site.
minimum_cell = 5

# secure-sum: least number of people in such a group before masking. With 1, counts are masked as they are.
secure_sum_minimum_cell = 1

# Modes without noise: least number of rows of each class that this site must have to take part. Groups of more rows
# than that are refused: a coordinator must not learn how large a class is.
smallest_class = 5

# Modes without noise: largest number of cells that scores are counted in.
most_cells = {MOST_EXACT_CELLS}

# private: most epsilon that one study, and all studies together, may spend. Write 0.5 or "1/2". Spent epsilon does not
# come back. The ledger beside this file lists it: confide ledger show --ledger ledger.db
epsilon_per_study = 1
epsilon_in_all = 3

# private: noise that answers may have. "laplace" has a pure guarantee. "gaussian" also has a small delta, and costs
# less where many questions are asked: it needs composition = "zcdp".
noise = ["laplace"]

# private: how prices of questions add up. "addition": epsilons add up. "zcdp": the rho of questions adds up, and is
# converted to epsilon at a delta of at most delta_in_all, which then must be far below 1 / rows, such as "1e-6". Decide
# before the first private answer: composition cannot change after it was charged.
composition = "addition"
delta_in_all = 0

# private: number of other sites that may share everything they know with the coordinator without weakening the
# guarantee. With 0 it would depend on every single one of them.
least_colluders = 1

# secure-sum and private: least number of sites in a sum. Questions that allow fewer are refused, too. The value is at
# least 3: with two sites, each could subtract its own part.
fewest_sites = {FEWEST_MASKED}

# Most rows that one person has. Above 1, private questions must protect persons with as many rows (unit = person,
# rows_per_person), and groups need as many times more rows.
rows_per_person = 1

# Studies that this site takes part in, by their exact names, such as ["stroke-2026", "sepsis"]. Others are refused, as
# each study may spend epsilon_per_study. Without the mode private the value may also be "any".
studies = @studies@

# "automatic": questions that these rules allow are answered. "manual": a person must also say yes to each question,
# before anything is read, charged or sent: confide site pending, approve and refuse.
approval = "automatic"

# true: the site neither starts nor answers where the kernel cannot hold its engine to the site's folder and its data
# (Landlock, Linux 5.13 and later). false: it runs unconfined there, and `confide site status` says so.
require_confinement = false

# Coordinators whose requests are answered: "any", or a list such as ["coordinator@stroke.confide"].
coordinators = "any"

# private: most epsilon that all studies together may cost in each calendar month, quarter or year. epsilon_in_all and
# epsilon_per_study limit the whole: raise them for studies that recur for years, as spent epsilon does not come back.
# [allowance]
# period = "year"
# epsilon = 2

# secure-sum and private: SHA-256 fingerprints of the sites' own keys (`confide site status` shows each there). Compare
# them by telephone or on paper. Then nobody can pose as one of these sites, not even the coordinator, who signs
# certificates. With none listed, you trust the coordinator in this. If you list any, list all sites that take
# part, this one too.
# [peers]
# "hospital-a" = "0f3c..."
"""


def default_policy(*, studies: Sequence[str] = (), modes: Sequence[str] = ALLOWED_BY_DEFAULT) -> str:
    """Return the text of a new site's policy, for its administrator to read and change."""
    width = max(len(name) for name in MODES) + 2
    values = {
        "@modes@": "\n".join(f"#   {toml_value(mode.name):<{width}}  {mode.summary}" for mode in MODES.values()),
        "@allowed@": toml_value(tuple(modes)),
        "@studies@": toml_value(checked_names(list(studies), "study")),
    }
    text = _TEMPLATE
    for place, value in values.items():
        text = text.replace(place, value)
    return text


def with_studies(text: str, studies: Sequence[str]) -> str:
    """Return a policy's text with more studies, leaving everything else as it was written."""
    named = Policy.from_toml(text).studies
    if named is None:
        return text
    wanted = tuple(dict.fromkeys((*named, *checked_names(list(studies), "study"))))
    changed, found = re.subn(r"^studies = .*$", lambda _: f"studies = {toml_value(wanted)}", text, flags=re.MULTILINE)
    try:
        done = found == 1 and Policy.from_toml(changed).studies == wanted
    except ParameterError:
        done = False
    if not done:
        raise ParameterError("the policy's list of studies is not on one line; add the study there by hand")
    return changed
