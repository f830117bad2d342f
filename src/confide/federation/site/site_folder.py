"""Folder of a site: its configuration, policy, ledger, register and log, and the workspace of its engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """Paths in a site's folder; everything in it is the site's own and never leaves."""

    path: Path

    @property
    def config(self) -> Path:
        """Configuration: the data of each model."""
        return self.path / "site.toml"

    @property
    def policy(self) -> Path:
        """Policy: the questions that the site answers."""
        return self.path / "policy.toml"

    @property
    def ledger(self) -> Path:
        """Ledger of the privacy budget."""
        return self.path / "ledger.db"

    @property
    def secret(self) -> Path:
        """Secret with which stored answers are encrypted."""
        return self.path / "site.secret"

    @property
    def key(self) -> Path:
        """Signing key that the site made for itself: other sites know this one by it."""
        return self.path / "site.key"

    @property
    def revoked(self) -> Path:
        """Last list of revoked certificates that came with a question."""
        return self.path / "revoked.json"

    @property
    def new_key(self) -> Path:
        """Private key for TLS of a request whose certificate has not come yet."""
        return self.path / "request.key"

    def request(self, name: str) -> Path:
        """Return the file of the site's request for a certificate."""
        return self.path / f"{name}.request"

    @property
    def log(self) -> Path:
        """Log of all requests and their results."""
        return self.path / "requests.jsonl"

    @property
    def approvals(self) -> Path:
        """Log of questions that a person must approve, and of decisions."""
        return self.path / "approvals.jsonl"

    @property
    def kit(self) -> Path:
        """Workspace of the engine: certificates, the key for TLS and settings."""
        return self.path / "kit"
