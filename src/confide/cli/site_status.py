"""A site as its administrator sees it: fingerprint, models, policy in words, budget, and the last requests."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from confide.cli.federation_common import print_rows

if TYPE_CHECKING:
    from confide.federation.site.site_folder import SiteFolder

SCHEMA = "confide.site/1"

_RULES: Mapping[str, str] = {
    "modes": "promises that it makes",
    "minimum_cell": "disclosure-control: least people in a group",
    "secure_sum_minimum_cell": "secure-sum: least people in a group",
    "smallest_class": "without noise: least rows of each class",
    "most_cells": "without noise: most cells of scores",
    "epsilon_per_study": "private: most epsilon of a study",
    "epsilon_in_all": "private: most epsilon in all",
    "least_colluders": "private: least colluders to withstand",
    "fewest_sites": "sums: fewest sites",
    "rows_per_person": "most rows of a person",
    "studies": "studies",
    "coordinators": "coordinators",
    "peers": "sums: sites with pinned keys",
}


def site_document(place: SiteFolder, requests: int) -> dict[str, Any]:
    """Everything that is shown, as plain data; nothing in it was read from the rows."""
    from confide.cli.site_setup import account_of
    from confide.federation.flare.kits import site_home, site_identity
    from confide.federation.flare.processes import find_running
    from confide.federation.policy import Policy
    from confide.federation.site.data import SiteConfig
    from confide.federation.site.register import Register

    identity, home, running = site_identity(place), site_home(place), find_running(place)
    config = SiteConfig.load(place.path)
    models = {
        name: {
            "data": model.data,
            "label": model.label,
            "positive": model.positive,
            "score": model.score,
            "model_file": model.model_file,
            "features": list(model.features),
            "range": list(model.range),
        }
        | ({"same_as": config.aliases[name]} if name in config.aliases else {})
        for name, model in ((name, config.model(name)) for name in config.names)
    }
    register = Register(place.path)
    return {
        "schema": SCHEMA,
        "name": identity.name,
        "folder": str(place.path),
        "federation": home.federation,
        "server": home.server,
        "port": home.port,
        "fingerprint": identity.fingerprint(),
        "running": running is not None,
        "pid": None if running is None else running.pid,
        "connected": running is not None and running.connected(home.port),
        "models": models,
        "policy": Policy.load(place.policy).to_dict(),
        "answered_exactly": sorted(
            name for name in config.names if register.answered_exactly(name, source=config.source(name))
        ),
        "ledger": account_of(place),
        "requests": last_requests(place, requests),
    }


def last_requests(place: SiteFolder, wanted: int) -> list[dict[str, Any]]:
    """The last lines of the site's log, the newest last."""
    if not wanted or not place.log.exists():
        return []
    with place.log.open(encoding="utf-8", errors="replace") as file:
        lines = deque(file, maxlen=wanted)
    return [plain for plain in map(_line, lines) if plain is not None]


def _line(text: str) -> dict[str, Any] | None:
    """A line of the log; one that was cut short is left out."""
    try:
        plain = json.loads(text)
    except ValueError:
        return None
    return plain if isinstance(plain, dict) else None


def print_new_site(document: Mapping[str, Any]) -> None:
    """Print who a site is and what it has."""
    state = f"running (process {document['pid']})" if document["running"] else "not running"
    typer.echo(f"Site {document['name']} in {document['folder']}: {state}")
    where = f"{document['server']}, port {document['port']}"
    typer.echo(f"Federation {document['federation']}, server {where}: {_connection(document)}")
    typer.echo(f"Fingerprint of its own key (SHA-256), for other sites to pin:\n  {document['fingerprint']}\n")
    exact = document["answered_exactly"]
    models = [(name, _scored(model), "yes" if name in exact else "no") for name, model in document["models"].items()]
    print_rows("Models", ("model", "rows and scores", "answered without noise"), models)


def print_site(document: Mapping[str, Any]) -> None:
    """Print everything as tables."""
    print_new_site(document)
    rules = [(_RULES.get(rule, rule), _allowed(rule, value)) for rule, value in document["policy"].items()]
    print_rows("What it allows (policy.toml)", ("rule", "value"), rules)
    ledger = document["ledger"]
    if ledger is not None:
        lines = [("all studies", *(f"{ledger[name]:g}" for name in ("spent", "remaining", "cap")))]
        lines += [(f"study {study}", f"{spent:g}", "", "") for study, spent in ledger["studies"].items()]
        print_rows("Privacy budget (epsilon)", ("", "spent", "left", "cap"), lines)
    if document["requests"]:
        requests = [_request(line) for line in document["requests"]]
        print_rows("Last requests", ("when", "asked", "what came of it"), requests)


def _connection(document: Mapping[str, Any]) -> str:
    if document["connected"]:
        return "connected"
    return "not connected; the site goes on trying" if document["running"] else "not connected"


def _scored(model: Mapping[str, Any]) -> str:
    """Where a model's rows are, and how they are scored."""
    if "same_as" in model:
        return f"the same as {model['same_as']}"
    by = f"score {model['score']}" if model["score"] is not None else f"scored by {model['model_file']}"
    positive = f" ({model['positive']} is positive)" if model["positive"] is not None else ""
    return f"{model['data']}: label {model['label']}{positive}, {by}"


def _allowed(rule: str, value: object) -> str:
    if value is None:
        return "none" if rule == "peers" else "any"
    if isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)


def _request(line: Mapping[str, Any]) -> tuple[str, str, str]:
    when = str(line.get("at", "")).removesuffix("+00:00").replace("T", " ")
    asked = [str(line[key]) for key in ("study", "model", "mode") if line.get(key)]
    who = f"{', '.join(asked) or 'an answer'} (round {line.get('round') or '?'}), by {line.get('coordinator') or '?'}"
    state, message = str(line.get("state")), str(line.get("message"))
    return when, who, message if state == "answered" else f"{state}: {message}"
