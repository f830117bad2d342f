"""FLARE job of a run: a folder that names our two classes and carries the question, without code."""

from __future__ import annotations

import base64
from dataclasses import asdict
from pathlib import Path
from typing import Any

from confide.federation.channel import ANSWER, OFFER, SHARES, UNMASK, VOTE
from confide.federation.crypto.revocation import Revocations
from confide.federation.flare.files import make_owned, write_json
from confide.federation.flare.hardening import CONTROLLER, EXECUTOR
from confide.federation.flare.signed_question import SignedQuestion
from confide.federation.question import Question

_APP = "app"


FOLDER = "config/"
FILES = frozenset(
    {f"{folder}{name}" for folder in ("", FOLDER) for name in (".__nvfl_sig.json", ".__nvfl_submitter.crt")}
    | {f"{FOLDER}config_fed_client.json", f"{FOLDER}config_fed_server.json"}
)
"""Files of a run that reach a site: two of ours, and those in which FLARE keeps signatures.

FLARE reads files by other names too, and signs contents only: so a site refuses a run with any other file.
"""


def write_job(
    folder: Path,
    question: Question,
    signed: SignedQuestion,
    *,
    at: tuple[str, ...],
    timeout: float,
    drop_after: float = 5.0,
    session: str | None = None,
    revoked: Revocations | None = None,
) -> Path:
    """Write the folder of a run that is started at some sites.

    FLARE itself asks for one site only. The question says which sites it is for and how many of them are needed, and
    is signed, so sites refuse whatever a server makes of it. Both times are the server's own affair.
    The coordinator draws the name of the `session`, and takes no result of another one. With `revoked`, sites get the
    list of revoked certificates, which the root signed.
    """
    config = make_owned(folder / _APP / "config")
    asked = {"question": signed.question, "timeout": timeout, "drop_after": drop_after, "session": session}
    write_json(folder / "meta.json", _meta(question, at))
    write_json(config / "config_fed_server.json", _server(asked))
    write_json(config / "config_fed_client.json", _client(asdict(signed) | _list(revoked)))
    return folder


def job_files(app: Path) -> frozenset[str]:
    """List the files of a run as it came to a site."""
    return frozenset(path.relative_to(app).as_posix() for path in app.rglob("*") if not path.is_dir())


def _meta(question: Question, at: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": f"confide-{question.mode}",
        "resource_spec": {},
        "min_clients": 1,
        "mandatory_clients": [],
        "deploy_map": {_APP: ["server", *at]},
    }


def _server(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "format_version": 2,
        "server": {"task_request_interval": 0.1, "heart_beat_timeout": 15},
        "dead_client_grace_period": 1.0,
        "dead_client_check_lead_time": 1.0,
        "workflows": [{"id": "confide", "path": CONTROLLER, "args": asked}],
    }


def _list(revoked: Revocations | None) -> dict[str, str]:
    """Write a list as one word, as a question is."""
    if revoked is None or not revoked.number:
        return {}
    return {"revoked": base64.b64encode(revoked.to_text().encode()).decode("ascii")}


def _client(args: dict[str, Any]) -> dict[str, Any]:
    executor = {"path": EXECUTOR, "args": args}
    return {"format_version": 2, "executors": [{"tasks": [OFFER, SHARES, ANSWER, VOTE, UNMASK], "executor": executor}]}
