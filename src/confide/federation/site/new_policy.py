"""Policy of a new site: the default one with the site's studies, privacy budget and noise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from confide.errors import ParameterError
from confide.federation.policy import checked_modes
from confide.federation.policy_template import default_policy
from confide.federation.private_noise import NOISES, checked_small_delta
from confide.federation.site_files import toml_value
from confide.ledger.account_terms import Composition
from confide.privacy.guarantee import checked_epsilon


def new_policy(
    studies: Sequence[str],
    *,
    epsilon_in_all: object = None,
    epsilon_per_study: object = None,
    delta_in_all: object = None,
    modes: Sequence[str] = (),
) -> str:
    """Return the text of a new site's policy; limits that are None, and modes if none is named, keep their defaults.

    With a delta, the ledger adds up rho (zCDP), and answers may have Gaussian noise.
    """
    text = default_policy(studies=studies, **({"modes": checked_modes(list(modes), "`modes`")} if modes else {}))
    for rule, value in (("epsilon_in_all", epsilon_in_all), ("epsilon_per_study", epsilon_per_study)):
        if value is not None:
            text = _with_line(text, rule, _written(checked_epsilon(value)))
    delta = Fraction(0) if delta_in_all is None else checked_small_delta(delta_in_all)
    if delta:
        text = _with_line(text, "delta_in_all", _written(delta))
        text = _with_line(text, "composition", toml_value(Composition.ZCDP.value))
        text = _with_line(text, "noise", toml_value(NOISES))
    return text


def _written(exact: Fraction) -> str:
    """Write a limit; a fraction is written as text, so that it is read exactly."""
    return str(exact) if exact.denominator == 1 else toml_value(str(exact))


def _with_line(text: str, rule: str, written: str) -> str:
    """Replace the line of one rule."""
    changed, lines = re.subn(rf"^{rule} = .*$", f"{rule} = {written}", text, flags=re.MULTILINE)
    if lines != 1:
        raise ParameterError(f"the policy has no line for {rule}; change it in policy.toml by hand")
    return changed
