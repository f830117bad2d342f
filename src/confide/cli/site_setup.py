"""Making and changing a site: everything is looked at before anything is written."""

from __future__ import annotations

import math
import re
import shutil
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from confide.errors import ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from confide.federation.folder import SiteFolder
    from confide.federation.policy import Policy
    from confide.federation.site_data import SiteModel

_ANYWHERE = (-1e300, 1e300)
_SLOW = 20.0  # seconds, of the 60 that a round has unless told otherwise


def set_up_site(
    kit: Path,
    folder: Path,
    model_name: str,
    model: SiteModel,
    *,
    budget: str | None = None,
    epsilon_per_study: str | None = None,
) -> SiteFolder:
    """Make a site's folder from its kit; what fails leaves nothing behind."""
    from confide.federation.flare.kits import unpack_site_kit
    from confide.federation.folder import SiteFolder
    from confide.federation.ledger_answers import account_by_policy
    from confide.federation.policy import Policy
    from confide.federation.settings import write_whole
    from confide.federation.site_data import SiteConfig
    from confide.ledger.ledger import Ledger

    text = policy_text(budget=budget, epsilon_per_study=epsilon_per_study)
    policy = Policy.from_toml(text)
    check_countable(model_name, model, policy)
    place, existed = SiteFolder(folder.absolute()), folder.exists()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        name = unpack_site_kit(kit, place)
        SiteConfig(name=name, models={model_name: model}, folder=place.path).write(place.path)
        write_whole(place.policy, text)
        with Ledger(place.ledger) as ledger:
            account_by_policy(ledger, policy)
    except BaseException:
        _remove(folder, keep=existed)
        raise
    return place


def add_site_model(place: SiteFolder, model_name: str, model: SiteModel, *, replace: bool) -> None:
    """Add a model to a site, after its data were read once."""
    from confide.federation.policy import Policy
    from confide.federation.site_data import SiteConfig

    config = SiteConfig.load(place.path)
    if model_name in config.models and not replace:
        raise ParameterError(f"the site has a model {model_name!r} already; give another name, or --replace")
    check_countable(model_name, model, Policy.load(place.policy))
    config.with_model(model_name, model).write(place.path)


def check_countable(model_name: str, model: SiteModel, policy: Policy) -> None:
    """See that the data can be read with these columns; nothing of what was read is kept.

    What is noted is for the administrator, who has the data.
    """
    from confide.federation.site_data import SiteConfig
    from confide.sources.details import errors_shown

    anywhere = replace(model, range=_ANYWHERE)
    started = time.perf_counter()
    with errors_shown():
        counts = SiteConfig(name="this site", models={model_name: anywhere}).counts(model_name)
    taken = time.perf_counter() - started
    if taken > _SLOW:
        typer.echo(
            f"note: reading and scoring took {taken:.0f} seconds, as each distinct row is scored by itself. Tell the "
            f"coordinator, whose first round needs that time (--timeout {_whole_minutes(3 * taken)})",
            err=True,
        )
    low, high = model.range
    if counts.scores.size and not (low <= counts.scores.min() and counts.scores.max() <= high):
        typer.echo(
            f"note: not all scores lie between {low:g} and {high:g}; those beyond count as the end that they passed. "
            "If the model can give others, say so at every site (--range -4,4; here with `confide site add-model "
            "--replace`), and tell the coordinator, whose question needs cells for all of them (--grid "
            "uniform:100:-4:4)",
            err=True,
        )
    if min(counts.total_positives, counts.total_negatives) < policy.smallest_class:
        typer.echo(
            "note: a class has fewer rows than smallest_class in the policy, so in modes without noise this site will "
            "not take part. See that --label and --positive are right",
            err=True,
        )


def _whole_minutes(seconds: float) -> int:
    """Round seconds up to whole minutes."""
    return 60 * math.ceil(seconds / 60)


def check_site(place: SiteFolder) -> str:
    """See that a site's files can be read before it is started; return its name."""
    from confide.federation.flare.kits import site_identity
    from confide.federation.policy import Policy
    from confide.federation.site_data import SiteConfig

    Policy.load(place.policy)
    config, identity = SiteConfig.load(place.path), site_identity(place)
    if config.name != identity.name:
        raise UsageError(
            f"{place.config} is about a site called {config.name!r}, but the certificate is that of {identity.name!r}; "
            "write the certificate's name there"
        )
    return identity.name


def forget_model(place: SiteFolder, model: str) -> None:
    """Let a model be asked for anew in modes without noise."""
    from confide.federation.register import Register
    from confide.federation.site_data import SiteConfig

    if Register(place.path).forget(model):
        return
    known = SiteConfig.load(place.path).models
    if model not in known:
        raise UsageError(f"this site has no model {model!r}. {did_you_mean(model, known)}It has {', '.join(known)}")
    raise UsageError(f"nobody has asked for {model!r} without noise yet; there is nothing to forget")


def policy_text(*, budget: str | None, epsilon_per_study: str | None) -> str:
    """A new site's policy with the caps that were asked for."""
    from confide.federation.policy import default_policy

    text = default_policy()
    for rule, value in (("epsilon_in_all", budget), ("epsilon_per_study", epsilon_per_study)):
        if value is not None:
            text = _with_rule(text, rule, value)
    return text


def account_of(place: SiteFolder) -> dict[str, Any] | None:
    """What was spent of the site's budget by whom, and what is left; caps are those of the policy now."""
    from confide.federation.ledger_answers import ACCOUNT
    from confide.federation.policy import Policy
    from confide.ledger.ledger import Ledger

    with Ledger(place.ledger) as ledger:
        found = next((account for account in ledger.accounts() if account.name == ACCOUNT), None)
    if found is None:
        return None
    cap = Policy.load(place.policy).epsilon_in_all
    spent = found.spent.epsilon
    return {
        "account": ACCOUNT,
        "spent": float(spent),
        "remaining": float(max(cap - spent, Fraction(0))),
        "cap": float(cap),
        "studies": {study: float(amount.epsilon) for study, amount in found.spent_by.items()},
    }


def _with_rule(text: str, rule: str, value: str) -> str:
    """Change one line of a policy, written so that it is read exactly."""
    from confide.federation.settings import toml_value
    from confide.privacy.guarantee import checked_epsilon

    exact = checked_epsilon(value)
    written = str(exact) if exact.denominator == 1 else toml_value(str(exact))
    changed, found = re.subn(rf"^{rule} = .*$", f"{rule} = {written}", text, flags=re.MULTILINE)
    if found != 1:
        raise ParameterError(f"the policy has no line for {rule}; change it in policy.toml by hand")
    return changed


def _remove(folder: Path, *, keep: bool) -> None:
    """Take away what was made; a folder that was there before, empty, stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if keep:
        folder.mkdir(exist_ok=True)
