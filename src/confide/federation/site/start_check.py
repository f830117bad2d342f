"""Checks of a site's files before its engine starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confide.errors import UsageError
from confide.federation.policy import Policy
from confide.federation.site.data import SiteConfig
from confide.federation.site.same_rows import check_copies, check_rows_apart
from confide.federation.site.site_folder import SiteFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCheck:
    """A site that may start. `seconds` is the time that comparing its models took; None if none were compared."""

    name: str
    seconds: float | None


def check_site(folder: SiteFolder, *, certificate_name: str) -> StartCheck:
    """Check that a site's files can be read, that its name is its certificate's, and that no two models share rows."""
    policy = Policy.load(folder.policy)
    config = SiteConfig.load(folder.path)
    check_copies(config)
    seconds = _compare_models(config, policy)
    if config.name != certificate_name:
        raise UsageError(
            f"{folder.config} is about a site called {config.name!r}, but the certificate is that of "
            f"{certificate_name!r}; write the certificate's name there"
        )
    return StartCheck(name=config.name, seconds=seconds)


def _compare_models(config: SiteConfig, policy: Policy) -> float | None:
    """Refuse two models with the same rows and scores, if the policy allows answers without noise.

    The comparison reads and scores every model's rows. A site with one model, or with noise in all answers, skips it.
    """
    if len(config.models) < 2 or not policy.allows_exact:
        return None
    started = time.perf_counter()
    check_rows_apart(config)
    return time.perf_counter() - started
