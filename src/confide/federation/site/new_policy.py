"""Policy of a new site: the default one with the site's studies and privacy budget."""

from __future__ import annotations

import re
from collections.abc import Sequence

from confide.errors import ParameterError
from confide.federation.policy_template import default_policy
from confide.federation.site_files import toml_value
from confide.privacy.guarantee import checked_epsilon


def new_policy(studies: Sequence[str], *, epsilon_in_all: object = None, epsilon_per_study: object = None) -> str:
    """Return the text of a new site's policy; limits that are None keep their defaults."""
    text = default_policy(studies=studies)
    for rule, value in (("epsilon_in_all", epsilon_in_all), ("epsilon_per_study", epsilon_per_study)):
        if value is not None:
            text = _with_limit(text, rule, value)
    return text


def _with_limit(text: str, rule: str, value: object) -> str:
    """Replace the line of one limit; a fraction is written as text, so that it is read exactly."""
    exact = checked_epsilon(value)
    written = str(exact) if exact.denominator == 1 else toml_value(str(exact))
    changed, lines = re.subn(rf"^{rule} = .*$", f"{rule} = {written}", text, flags=re.MULTILINE)
    if lines != 1:
        raise ParameterError(f"the policy has no line for {rule}; change it in policy.toml by hand")
    return changed
