"""Files of a new site, written so that a killed process loses nothing and the same call finishes its work.

`site.toml` is written last: a folder that has it is a site. Before it come the kit, the policy and the ledger. After a
crash each of them is there whole or not at all, and is kept or made again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import FederationError, UsageError

if TYPE_CHECKING:
    from confide.federation.site.data import SiteModel
    from confide.federation.site.site_folder import SiteFolder

_USED = (
    *("register.db", "register.key", "requests.jsonl", "approvals.jsonl"),
    *("logs.key", "logs.heads", "site.secret", "run"),
)
"""Files that only a site has that was started, or was asked something."""

_LEFTOVERS = (".policy.toml-*", ".site.toml-*", ".ledger.db*-*")
"""Names under which a killed process leaves unfinished files of these kinds."""


def require_new_site(place: SiteFolder, policy: str | None = None) -> None:
    """Refuse a folder without the keys of a request, a site, and files that `make_site` would have to replace.

    Without a policy, one that is there is not looked at yet.
    """
    from confide.federation.site_files import read_text

    if place.config.exists():
        raise UsageError(f"{place.path} is a site already; renew its certificate with `confide site renew`")
    if any((place.path / name).exists() for name in _USED):
        raise FederationError(
            f"{place.path} is a site whose {place.config.name} is missing; put that file back from a backup"
        )
    if not place.kit.exists() and not place.new_key.is_file():
        raise UsageError(
            f"{place.path} has no keys of a site; make them, and a request to the coordinator, with `confide site "
            "request`"
        )
    if policy is not None and place.policy.exists() and read_text(place.policy, "policy") != policy:
        raise UsageError(
            f"{place.policy} is there already, with other rules than these options give; repeat the command that was "
            "interrupted, or delete the file"
        )


def make_site(kit: Path, place: SiteFolder, model_name: str, model: SiteModel, policy: str) -> None:
    """Take a kit in, and write the policy, the ledger and, in the end, the configuration."""
    from confide.federation.flare.kits import renew_site, unpack_site_kit
    from confide.federation.policy import Policy
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.site_account import account_by_policy
    from confide.federation.site_files import write_whole
    from confide.files import flush
    from confide.ledger.ledger import Ledger

    require_new_site(place, policy)
    _remove_leftovers(place)
    # The kit of an interrupted call was never used: one of another root may replace it, as it could have come first.
    name = renew_site(kit, place, compared=True) if place.kit.exists() else unpack_site_kit(kit, place)
    write_whole(place.policy, policy)
    with Ledger(place.ledger) as ledger:
        account_by_policy(ledger, Policy.from_toml(policy))
    flush(place.path)
    SiteConfig(name=name, models={model_name: model}, folder=place.path).write(place.path)
    flush(place.path)


def _remove_leftovers(place: SiteFolder) -> None:
    """Remove unfinished files, and the key of a ledger that was not made: a ledger refuses to begin with one."""
    left = [path for pattern in _LEFTOVERS for path in place.path.glob(pattern)]
    if not place.ledger.exists() and not (place.path / f"{place.ledger.name}.made").exists():
        left.append(place.path / f"{place.ledger.name}.key")
    for path in left:
        path.unlink(missing_ok=True)
