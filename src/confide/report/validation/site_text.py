"""A site's status on its administrator's terminal: fingerprint, models, policy, budget and the last requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from confide.federation.fingerprints import readable_fingerprint
from confide.federation.site_state import SiteState
from confide.privacy.guarantee import shown, three_digits
from confide.report.shared.names import plain
from confide.report.shared.tables import Table
from confide.report.validation.site_notes import unconfined_caution
from confide.report.validation.word_table import print_word_table, word_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.federation.site.budget import SiteBudget
    from confide.federation.site.data import SiteModel
    from confide.tasks.site_certificates import NewRequest
    from confide.tasks.site_status import SiteStatus

_RULES: Mapping[str, str] = {
    "modes": "allowed modes",
    "minimum_cell": "disclosure-control: least people in a group",
    "secure_sum_minimum_cell": "secure-sum: least people in a group",
    "smallest_class": "without noise: least rows of each class",
    "most_cells": "without noise: most cells of scores",
    "epsilon_per_study": "private: most epsilon of a study",
    "epsilon_in_all": "private: most epsilon in all",
    "noise": "private: noise of answers",
    "composition": "private: how prices add up",
    "delta_in_all": "private: most delta in all",
    "least_colluders": "private: least colluders to withstand",
    "fewest_sites": "sums: fewest sites",
    "rows_per_person": "most rows of a person",
    "studies": "studies",
    "coordinators": "coordinators",
    "peers": "sums: sites with pinned keys",
    "approval": "approval of each question",
    "require_confinement": "only with a confined engine",
    "allowance": "private: most epsilon in a period",
}


def request_lines(request: NewRequest) -> tuple[str, ...]:
    """Return the file of a site's request, and the fingerprint to be compared."""
    what = f"Request of site {request.site}"
    if request.federation is not None:
        what = f"Request for a new key of site {request.site}, which is a site of federation {request.federation}"
    return (
        f"{what}: {request.file}",
        "Fingerprint of the site's own key (SHA-256), to read out to the coordinator:",
        f"  {readable_fingerprint(request.fingerprint)}",
    )


def print_new_site(status: SiteStatus, console: Console) -> None:
    """Print the site's name, federation, fingerprint and models."""
    for line in site_lines(status):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print()
    print_word_table(_models(status), console)


def print_site(status: SiteStatus, console: Console) -> None:
    """Print everything that is known of a site."""
    print_new_site(status, console)
    for table in site_tables(status)[1:]:
        print_word_table(table, console)


def site_lines(status: SiteStatus) -> tuple[str, ...]:
    """Return the site's name, federation and fingerprint, a line each."""
    state = f"running (process {status.pid})" if status.running else "not running"
    return (
        f"Site {status.name} in {status.folder}: {state}",
        f"Federation {status.federation}, server {status.server}, port {status.port}: {_connection(status)}",
        f"Certificate: valid until {status.certificate.in_words()}",
        "Fingerprint of its own key (SHA-256), for other sites to pin:",
        f"  {readable_fingerprint(status.fingerprint)}",
        "Fingerprint of the federation's root (SHA-256), to compare with the coordinator's:",
        f"  {readable_fingerprint(status.root)}",
    )


def status_notes(status: SiteStatus) -> Iterator[str]:
    """Yield what the administrator must do: decide on questions, renew the certificate, look into changed logs."""
    if status.waiting:
        many = f"{status.waiting} question{'s wait' if status.waiting > 1 else ' waits'}"
        yield f"{many} for a decision: confide site pending {status.folder}"
    if not status.can_confine:
        yield unconfined_caution()
    if status.certificate.ends_soon:
        yield (
            f"warning: the certificate of this site ends soon ({status.certificate.in_words()}). Ask the coordinator "
            f"for a new kit, and renew it: confide site renew {status.folder} KIT.zip"
        )
    for problem in status.log_problems:
        yield f"warning: {problem}. Check all records: confide site verify {status.folder}"


def place_of_logs(status: SiteStatus) -> str:
    """Return the logs of a site's engine."""
    return f"{status.folder / 'run' / 'engine.txt'} and {status.folder / 'kit' / 'log.txt'}"


def site_tables(status: SiteStatus) -> list[Table]:
    """Return models, policy, budget and the last requests."""
    rules = [(_RULES.get(rule, rule), _value(rule, value)) for rule, value in status.policy.to_dict().items()]
    tables = [_models(status), word_table("Policy (policy.toml)", ("rule", "value"), rules)]
    if status.budget is not None:
        head, note = ("", "spent", "left", "limit"), _count_words(status.budget)
        tables.append(word_table("Privacy budget (epsilon)", head, _budget(status.budget), note=note))
    if status.requests:
        tables.append(word_table("Last requests", ("when", "request", "result"), map(_request, status.requests)))
    return tables


def _models(status: SiteStatus) -> Table:
    models = [
        (name, _described(status, name, model), "yes" if name in status.answered_exactly else "no")
        for name, model in status.models.items()
    ]
    return word_table("Models", ("model", "rows and scores", "answered without noise"), models)


def _connection(status: SiteStatus) -> str:
    if status.connected:
        return "connected"
    return "not connected; the site keeps trying" if status.running else "not connected"


def _described(status: SiteStatus, name: str, model: SiteModel) -> str:
    """Return where a model's rows are, and how they are scored."""
    if name in status.same_as:
        return f"the same as {status.same_as[name]}"
    scored = f"score {model.score}" if model.score is not None else f"scored by {model.model_file}"
    positive = f" ({model.positive} is positive)" if model.positive is not None else ""
    query = "" if model.query is None else f", query {model.query} (SHA-256 {str(model.query_sha256)[:12]}...)"
    return f"{model.data}{query}: label {model.label}{positive}, {scored}"


def _value(rule: str, value: object) -> str:
    if value is None:
        return "none" if rule in ("peers", "allowance") else "any"
    if rule == "allowance" and isinstance(value, Mapping):
        return f"{value['epsilon']} a {value['period']}"
    if isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)


def _budget(budget: SiteBudget) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("all studies", *_amounts(budget.spent, budget.remaining, budget.cap))]
    if budget.total.rho:
        rho, delta = (f"{float(amount):.4g}" for amount in (budget.total.rho, budget.total.delta))
        lines.append((f"that is rho {rho} in all, converted at delta {delta}", "", "", ""))
    for study, one in budget.studies.items():
        name = f"study {study}" if one.listed else f"study {study}, not in the policy"
        lines.append((name, *_amounts(one.spent.epsilon, one.remaining, one.cap)))
    return lines


def _amounts(spent: Fraction, left: Fraction, limit: Fraction) -> tuple[str, str, str]:
    return three_digits(spent), three_digits(left, down=True), shown(limit)


def _count_words(budget: SiteBudget) -> str:
    """Return how the epsilon of a study is counted."""
    both = "A study has left what its own limit and that of all studies leave."
    if not budget.concentrated:
        return f"The epsilons of a study's questions add up. {both}"
    return (
        "A study is counted by its own answers alone, and all studies by the rho of all answers together: the lines do "
        f"not add up. {both}"
    )


def _request(line: Mapping[str, Any]) -> tuple[str, str, str]:
    when = str(line.get("at", "")).removesuffix("+00:00").replace("T", " ")
    terms = [str(line[key]) for key in ("study", "model", "mode") if line.get(key)]
    who = f"{', '.join(terms) or 'an answer'} (round {line.get('round') or '?'}), by {line.get('coordinator') or '?'}"
    state, message = str(line.get("state")), str(line.get("message"))
    said = message if state == SiteState.ANSWERED else f"{state}: {message}"
    return plain(when), plain(who), plain(said)
