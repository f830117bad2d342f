"""Tables of an attack: what each publication reveals, and what epsilon promises."""

from __future__ import annotations

from collections.abc import Iterator

from confide.attacks.exposure import AttackReport, Exposure
from confide.attacks.insider import Insider
from confide.attacks.outsider import Outsider
from confide.privacy.adversary import success_bound
from confide.report.attack.bounds import posterior
from confide.report.shared.guarantees import at_most
from confide.report.shared.numbers import DASH, amount
from confide.report.shared.tables import Table

_BOUNDS = (0.1, 0.5, 1.0, 2.0, 4.0)


def attack_table(attacked: AttackReport) -> Table:
    """Return one line for each publication."""
    known = f"also known > {attacked.level:g}"
    return Table(
        title="What would be revealed",
        head=("published", "labelings left", "certain", known, "guessed correctly", "one label"),
        body=tuple(_line(exposure) for exposure in attacked.exposures),
        note=" ".join(_notes(attacked)),
        text_columns=("one label",),
    )


def _notes(attacked: AttackReport) -> Iterator[str]:
    yield (
        f"Of {amount(attacked.rows)} rows. The middle columns are for an outsider, who knows the scores and how many "
        "are positive. Guessed correctly: mostly because the model is good; always guessing the larger class gets "
        f"{amount(attacked.majority)} right. One label: for an insider, who knows all others; labels revealed for "
        "certain, or the share guessed correctly, with the bound. Judge privacy by the columns certain and one label."
    )
    if attacked.majority > attacked.level * attacked.rows:
        yield "The prevalence alone makes every label of the larger class count as known."
    drawn = {found.outsider.drawn for found in attacked.exposures if found.outsider and found.outsider.drawn}
    if drawn:
        yield f"*: from {', '.join(map(str, sorted(drawn)))} labelings drawn at random; another run differs slightly."


def _line(exposure: Exposure) -> tuple[str, ...]:
    found = exposure.outsider
    one = _one_label(exposure.insider)
    if found is None:
        return str(exposure.published), *(DASH,) * 4, one
    certain = f"≤ {amount(found.certain)}" if found.drawn is not None and found.certain else amount(found.certain)
    star = "" if found.drawn is None else "*"
    cells = (certain, amount(found.known) + star, amount(found.right) + star)
    return str(exposure.published), labelings_left(exposure, found), *cells, one


def labelings_left(exposure: Exposure, found: Outsider) -> str:
    """Write the number of labelings that fit."""
    if found.labelings is not None:
        return f"{found.labelings:,}"
    if found.log10_labelings is not None:
        return f"10^{found.log10_labelings:.0f}"
    return "all" if exposure.published.private else DASH


def _one_label(insider: Insider) -> str:
    if insider.game is None:
        return f"{amount(insider.told or 0)} of {amount(insider.tried)} revealed"
    bound = "" if insider.game.bound is None else f", at most {at_most(insider.game.bound)} %"
    return f"{100 * insider.success:.0f} %{bound}"


def bounds_table() -> Table:
    """Return the largest posterior probability of one label, by epsilon."""
    return Table(
        title="What epsilon guarantees",
        head=("epsilon", "at most, from 50 %", "at most, from 10 %"),
        body=tuple(
            (f"{epsilon:g}", f"{at_most(success_bound(epsilon))} %", f"{at_most(posterior(0.1, epsilon))} %")
            for epsilon in _BOUNDS
        ),
        note="Largest probability of one label after the release, for an attacker who was 50 % (or 10 %) sure before, "
        "whatever else the attacker knows.",
    )
