"""A site's folder: its configuration, policy, ledger, register and log, and where its engine keeps its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """Where a site keeps things; everything in it is the site's own and never leaves."""

    path: Path

    @property
    def config(self) -> Path:
        """Which data each model is validated with."""
        return self.path / "site.toml"

    @property
    def policy(self) -> Path:
        """What the site allows."""
        return self.path / "policy.toml"

    @property
    def ledger(self) -> Path:
        """What was spent of the privacy budget."""
        return self.path / "ledger.db"

    @property
    def secret(self) -> Path:
        """The secret with which stored answers are sealed."""
        return self.path / "site.secret"

    @property
    def key(self) -> Path:
        """The site's own signing key, made here: unlike those in the kit, nobody else has had it."""
        return self.path / "site.key"

    @property
    def log(self) -> Path:
        """Every request, and what came of it."""
        return self.path / "requests.jsonl"

    @property
    def kit(self) -> Path:
        """The engine's workspace: certificates and settings that the coordinator provisioned."""
        return self.path / "kit"
