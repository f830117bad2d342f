"""Making and changing a site: everything is looked at before anything is written."""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from confide.cli import output
from confide.errors import DataError, ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from confide.counts import ScoreCounts
    from confide.federation.policy import Policy
    from confide.federation.site.data import ScoredRows, SiteConfig, SiteModel
    from confide.federation.site.site_folder import SiteFolder

_SLOW = 20.0  # seconds, of the 60 that a round has unless told otherwise


def set_up_site(
    kit: Path,
    folder: Path,
    model_name: str,
    model: SiteModel,
    *,
    studies: Sequence[str] = (),
    budget: str | None = None,
    epsilon_per_study: str | None = None,
) -> SiteFolder:
    """Make a site's folder from its kit; what fails leaves nothing behind.

    A site whose studies are not named takes part in one that has the federation's name.
    """
    from confide.federation.flare.kits import kit_federation, unpack_site_kit
    from confide.federation.policy import Policy
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.private_answer import account_by_policy
    from confide.federation.site.site_folder import SiteFolder
    from confide.federation.site_files import write_whole
    from confide.ledger.ledger import Ledger

    named = tuple(studies) or (kit_federation(kit),)
    text = policy_text(named, budget=budget, epsilon_per_study=epsilon_per_study)
    policy = Policy.from_toml(text)
    counted(model_name, model, policy)
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


def add_site_model(
    place: SiteFolder, model_name: str, model: SiteModel, *, replace: bool, studies: Sequence[str] = ()
) -> None:
    """Add a model to a site, after its data were read once and compared with those of the others."""
    from confide.federation.policy import Policy
    from confide.federation.site.same_rows import require_new_rows

    config = _with_free_name(place, model_name, replace=replace)
    counts = counted(model_name, model, Policy.load(place.policy))
    require_new_rows(config, model_name, model, counts)
    with_model = config.with_model(model_name, model)
    add_studies(place, studies)
    with_model.write(place.path)


def add_site_alias(
    place: SiteFolder, model_name: str, same_as: str, *, replace: bool, studies: Sequence[str] = ()
) -> None:
    """Add another name for a model that a site has; both share one entry in its register."""
    config = _with_free_name(place, model_name, replace=replace)
    if same_as not in config.names or same_as == model_name:
        hint = did_you_mean(same_as, config.names)
        raise UsageError(f"this site has no other model {same_as!r}. {hint}It has {', '.join(config.names)}")
    with_alias = config.with_alias(model_name, same_as)
    add_studies(place, studies)
    with_alias.write(place.path)


def add_studies(place: SiteFolder, studies: Sequence[str]) -> None:
    """Name more studies that a site takes part in, in its policy."""
    from confide.federation.policy_template import with_studies
    from confide.federation.site_files import read_text, write_whole

    if studies:
        write_whole(place.policy, with_studies(read_text(place.policy, "policy"), studies))


def _with_free_name(place: SiteFolder, model_name: str, *, replace: bool) -> SiteConfig:
    from confide.federation.site.data import SiteConfig

    config = SiteConfig.load(place.path)
    if model_name in config.names and not replace:
        raise ParameterError(f"the site has a model {model_name!r} already; give another name, or --replace")
    return config


def counted(model_name: str, model: SiteModel, policy: Policy) -> ScoreCounts:
    """Count a model's rows wherever their scores lie, to see that they can be counted; nothing of them is written.

    Errors and notes are for the administrator, who has the data: a running site replies alike whether or not there are
    rows, and whether or not the model has scores for them.
    """
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.same_rows import ANYWHERE
    from confide.sources.details import errors_shown

    anywhere = replace(model, range=ANYWHERE)
    started = time.perf_counter()
    with errors_shown():
        scored = SiteConfig(name="this site", models={model_name: anywhere}).scored(model_name)
    counts = scored.counts
    _check_scored(scored)
    taken = time.perf_counter() - started
    if taken > _SLOW:
        typer.echo(
            f"note: reading and scoring took {taken:.0f} seconds, as each distinct row is scored by itself. Tell the "
            f"coordinator, whose first round needs that time (--timeout {_whole_minutes(3 * taken)})",
            err=True,
        )
    low, high = model.range
    scores = counts.scores[counts.scores > ANYWHERE[0]] if scored.unscored else counts.scores
    if not (low <= scores.min() and scores.max() <= high):
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
    return counts


def _check_scored(scored: ScoredRows) -> None:
    """Refuse a table without rows, and a model that has a score for none; note rows without a score."""
    rows = scored.counts.total_positives + scored.counts.total_negatives
    if not rows:
        raise DataError("the table has no rows; check the file")
    advice = "check that the features are those it was trained with, and that features of text are listed in `text`"
    if sum(scored.unscored.values()) == rows:
        raise DataError(f"the model could not score any of the rows ({', '.join(scored.unscored)}); {advice}")
    if scored.note:
        typer.echo(f"note: {scored.note}. If it should have scores for them, {advice}", err=True)


def _whole_minutes(seconds: float) -> int:
    """Round seconds up to whole minutes."""
    return 60 * math.ceil(seconds / 60)


def check_site(place: SiteFolder) -> str:
    """See that a site's files can be read before it is started; return its name."""
    from confide.federation.flare.kits import site_identity
    from confide.federation.policy import Policy
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.same_rows import check_copies

    policy = Policy.load(place.policy)
    config, identity = SiteConfig.load(place.path), site_identity(place)
    check_copies(config)
    _compare_models(config, policy)
    if config.name != identity.name:
        raise UsageError(
            f"{place.config} is about a site called {config.name!r}, but the certificate is that of {identity.name!r}; "
            "write the certificate's name there"
        )
    return identity.name


def _compare_models(config: SiteConfig, policy: Policy) -> None:
    """Refuse two models with the same rows and scores, where the policy allows answers without noise.

    Every model's rows are read and scored for it, so a site with one model, or with noise in all answers, starts
    without.
    """
    from confide.federation.site.same_rows import check_rows_apart

    if len(config.models) < 2 or not policy.allows_exact:
        return
    started = time.perf_counter()
    with output.busy("comparing the rows of all models"):
        check_rows_apart(config)
    taken = time.perf_counter() - started
    if taken > _SLOW:
        typer.echo(
            f"note: comparing the rows of all models took {taken:.0f} seconds. A site that allows the mode private "
            "alone starts without (modes in policy.toml)",
            err=True,
        )


def forget_model(place: SiteFolder, model: str) -> None:
    """Let a model be asked for anew in modes without noise, under all names that it has."""
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.register import Register

    config = SiteConfig.load(place.path)
    known = config.names
    if Register(place.path).forget(model, source=config.source(model) if model in known else ""):
        return
    if model not in known:
        raise UsageError(f"this site has no model {model!r}. {did_you_mean(model, known)}It has {', '.join(known)}")
    raise UsageError(f"nobody has asked for {model!r} without noise yet; there is nothing to forget")


def policy_text(studies: Sequence[str], *, budget: str | None, epsilon_per_study: str | None) -> str:
    """Return a new site's policy with its studies and the caps that were asked for."""
    from confide.federation.policy_template import default_policy

    text = default_policy(studies=studies)
    for rule, value in (("epsilon_in_all", budget), ("epsilon_per_study", epsilon_per_study)):
        if value is not None:
            text = _with_rule(text, rule, value)
    return text


def account_of(place: SiteFolder) -> dict[str, Any] | None:
    """What was spent of the site's budget by whom, and what is left; caps are those of the policy now."""
    from confide.federation.policy import Policy
    from confide.federation.site.private_answer import ACCOUNT
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
    from confide.federation.site_files import toml_value
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
