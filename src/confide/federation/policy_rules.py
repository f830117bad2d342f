"""Refusals by a site's policy, one function for each group of rules; modes choose which groups apply to them.

A refusal names the rule, what was asked, what the site allows and what to change. It depends on the question and the
policy alone, so it tells nothing about the site's data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.errors import RefusedError
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.question_terms import colluding_sites
from confide.privacy.guarantee import shown, typed

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.question import Question


def refusal(rule: str, asked: str, allows: str, change: str) -> RefusedError:
    """Return the error of a question that breaks a rule of the policy."""
    return RefusedError(f"{asked}, but this site {allows} ({rule} in its policy): {change}")


def check_sum(policy: Policy, question: Question) -> None:
    """Refuse a masked sum over too few sites, or with a site whose fingerprint the policy does not list."""
    if len(question.sites) < policy.fewest_sites:
        raise refusal(
            "fewest_sites",
            f"a sum over {len(question.sites)} sites was asked for",
            f"takes part only in sums over at least {policy.fewest_sites}",
            "ask more sites",
        )
    if question.fewest < policy.fewest_sites:
        raise refusal(
            "fewest_sites",
            f"a sum over as few as {question.fewest} sites was asked for",
            f"takes part only in sums over at least {policy.fewest_sites}",
            f"ask with `fewest={policy.fewest_sites}`",
        )
    if question.threshold:
        _check_colluders(policy, question)
    strangers = [site for site in question.sites if policy.peers is not None and site not in policy.peers]
    if strangers:
        raise refusal(
            "peers",
            f"a sum with site {strangers[0]!r} was asked for",
            "adds up only with sites whose fingerprints its policy lists",
            "leave that site out, or ask the administrator to add its fingerprint",
        )


def _check_colluders(policy: Policy, question: Question) -> None:
    if (question.colluders or 0) < policy.least_colluders:
        raise refusal(
            "least_colluders",
            f"a guarantee against {colluding_sites(question.colluders or 0)} was offered",
            f"asks for one against at least {policy.least_colluders}",
            f"ask with `colluders={policy.least_colluders}`",
        )


def check_guarantee(policy: Policy, question: Question) -> None:
    """Refuse a private question that costs too much, or whose guarantee is too weak."""
    if question.exact_epsilon > policy.epsilon_per_study:
        raise refusal(
            "epsilon_per_study",
            f"epsilon {shown(question.exact_epsilon)} was asked for",
            f"grants a study at most {shown(policy.epsilon_per_study)}",
            f"ask with `epsilon={typed(policy.epsilon_per_study)}` or less",
        )
    _check_noise(policy, question)
    _check_colluders(policy, question)
    if question.rows_per_person < policy.rows_per_person:
        rows = "row" if question.rows_per_person == 1 else "rows"
        raise refusal(
            "rows_per_person",
            f"a guarantee for at most {question.rows_per_person} {rows} of a person was offered",
            f"has up to {policy.rows_per_person} rows of a person",
            f"ask with `unit=person` and `rows_per_person={policy.rows_per_person}`",
        )


def _check_noise(policy: Policy, question: Question) -> None:
    """Refuse noise that the policy does not allow, or a delta above the site's."""
    noise = noise_of(question)
    if noise.family not in policy.noise:
        raise refusal(
            "noise",
            f"{noise.family.capitalize()} noise was asked for",
            f"answers with {' or '.join(one.capitalize() for one in policy.noise)} noise",
            f"ask with `noise={policy.noise[0]}`, or ask its administrator to allow it",
        )
    if isinstance(noise, GaussianNoise) and noise.delta > policy.delta_in_all:
        raise refusal(
            "delta_in_all",
            f"delta {shown(noise.delta)} was asked for",
            f"allows at most {shown(policy.delta_in_all)}",
            f"ask with `delta={typed(policy.delta_in_all)}` or less",
        )


def check_cells(policy: Policy, question: Question, rule: str) -> None:
    """Refuse an exact question whose cells are smaller, larger or more than the policy allows.

    `rule` is the policy's key for the least number of people in a cell.
    """
    asked, least, most = question.minimum_cell or 1, least_cell(policy, rule), least_class(policy, rule)
    if asked < least:
        raise refusal(
            rule,
            f"cells of at least {asked} rows were asked for",
            f"sends cells of at least {least} rows in mode {question.mode}",
            f"ask with `minimum_cell={least}`",
        )
    if asked > most:
        raise refusal(
            "smallest_class",
            f"cells of at least {asked} rows were asked for",
            f"makes cells of at most {most} rows: whether a class has more is not to be asked",
            f"ask with `minimum_cell={most}` or less",
        )
    cells = len(question.public_grid)
    if cells > policy.most_cells:
        raise refusal(
            "most_cells",
            f"a grid of {cells:,} cells was asked for",
            f"counts in at most {policy.most_cells:,} cells",
            f"ask with a coarser one, for example `grid=uniform:{policy.most_cells}`",
        )


def least_cell(policy: Policy, rule: str) -> int:
    """Return the least number of rows in a cell; each person in it may have several rows."""
    people: int = getattr(policy, rule)
    return people if people == 1 else people * policy.rows_per_person


def least_class(policy: Policy, rule: str) -> int:
    """Return the least number of rows of each class that the site must have: at least those of one cell."""
    return max(policy.smallest_class, least_cell(policy, rule))
