"""State of a site: connection, models, policy, budget and the last requests. Nothing in it comes from the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.tasks.federation_folders import open_site

if TYPE_CHECKING:
    from confide.federation.certificate_dates import CertificateDates
    from confide.federation.policy import Policy
    from confide.federation.site.budget import SiteBudget
    from confide.federation.site.data import SiteConfig, SiteModel

SCHEMA = "confide.site/1"

_MODEL_KEYS = ("data", "label", "positive", "score", "model_file", "features", "range", "query", "query_sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """A site as its administrator sees it.

    `fingerprint` is that of the site's own key, `root` that of the federation's root. `pid` is the process of the
    site's engine, None if it does not run. `same_as` gives, for each further name of a model, the name of its entry.
    `answered_exactly` names the models that were asked about without noise, `waiting` is the number of questions that
    wait for a person, and `log_problems` says which logs were changed. `can_confine` is False if the kernel has no
    Landlock, so that the engine can read whatever its user can.
    """

    name: str
    folder: Path
    federation: str
    server: str
    port: int
    fingerprint: str
    root: str
    certificate: CertificateDates
    pid: int | None
    connected: bool
    models: Mapping[str, SiteModel]
    same_as: Mapping[str, str]
    policy: Policy
    answered_exactly: tuple[str, ...]
    budget: SiteBudget | None
    requests: tuple[Mapping[str, Any], ...]
    waiting: int = 0
    log_problems: tuple[str, ...] = ()
    can_confine: bool = True

    @property
    def running(self) -> bool:
        """True if the site's engine runs."""
        return self.pid is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "folder": str(self.folder),
            "federation": self.federation,
            "server": self.server,
            "port": self.port,
            "fingerprint": self.fingerprint,
            "root": self.root,
            "certificate": self.certificate.to_dict(),
            "running": self.running,
            "pid": self.pid,
            "connected": self.connected,
            "models": {name: self._model(name) for name in self.models},
            "policy": self.policy.to_dict(),
            "answered_exactly": list(self.answered_exactly),
            "ledger": None if self.budget is None else self.budget.to_dict(),
            "requests": [dict(request) for request in self.requests],
            "waiting": self.waiting,
            "log_problems": list(self.log_problems),
            "can_confine": self.can_confine,
        }

    def _repr_html_(self) -> str:
        from confide.report.validation.notebook import site_fragment

        return site_fragment(self)

    def _model(self, name: str) -> dict[str, Any]:
        values = {key: getattr(self.models[name], key) for key in _MODEL_KEYS}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        return plain | ({"same_as": self.same_as[name]} if name in self.same_as else {})


def site_status(folder: str | Path, *, requests: int = 5) -> SiteStatus:
    """Read the state of a site, with its last `requests` requests."""
    place = open_site(folder)
    from confide.federation.certificate_dates import CertificateDates
    from confide.federation.flare.confinement import can_confine
    from confide.federation.flare.kits import site_home, site_identity
    from confide.federation.flare.processes import find_running
    from confide.federation.policy import Policy
    from confide.federation.site.approvals import Approvals
    from confide.federation.site.budget import read_budget
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.request_log import last_requests
    from confide.federation.site.sealed_log import SealedLog

    identity, home, running = site_identity(place), site_home(place), find_running(place)
    config = SiteConfig.load(place.path)
    checks = [SealedLog(path).check() for path in (place.log, place.approvals)]
    problems = tuple(check.in_words() for check in checks if check.problem is not None)
    return SiteStatus(
        name=identity.name,
        folder=place.path,
        federation=home.federation,
        server=home.server,
        port=home.port,
        fingerprint=identity.fingerprint(),
        root=identity.root_fingerprint(),
        certificate=CertificateDates.until(identity.ends),
        pid=None if running is None else running.pid,
        connected=running is not None and running.connected(home.port),
        models={name: config.model(name) for name in config.names},
        same_as=dict(config.aliases),
        policy=Policy.load(place.policy),
        answered_exactly=_answered_exactly(config, place.path),
        budget=read_budget(place),
        requests=last_requests(place, requests),
        waiting=0 if problems else len(Approvals(place).waiting()),
        log_problems=problems,
        can_confine=can_confine(),
    )


def _answered_exactly(config: SiteConfig, folder: Path) -> tuple[str, ...]:
    from confide.federation.site.register import Register

    register = Register(folder)
    return tuple(sorted(name for name in config.names if register.answered_exactly(name, source=config.source(name))))
