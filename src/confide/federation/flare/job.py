"""A run as FLARE takes it: a folder that names our two classes and carries the question; no code goes with it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from confide.federation.channel import ANSWER, OFFER
from confide.federation.flare.files import make_owned, write_json
from confide.federation.flare.hardening import CONTROLLER, EXECUTOR
from confide.federation.question import Question

_APP = "app"


def write_job(folder: Path, question: Question, *, at: tuple[str, ...], timeout: float) -> Path:
    """Write the folder of a run that is started at some sites.

    FLARE itself asks for one site only. The question says which sites it is for and how many of them are needed; it is
    signed with the folder, so sites refuse whatever a server makes of it. The timeout is the server's own affair.
    """
    text = written(question)
    config = make_owned(folder / _APP / "config")
    write_json(folder / "meta.json", _meta(question, at))
    write_json(config / "config_fed_server.json", _server({"question": text, "timeout": timeout}))
    write_json(config / "config_fed_client.json", _client({"question": text}))
    return folder


def written(question: Question) -> str:
    """A question as one word: FLARE takes braces in its settings for names of variables."""
    return base64.b64encode(json.dumps(question.to_dict(), sort_keys=True).encode()).decode("ascii")


def read_question(word: str) -> dict[str, Any]:
    """The plain data of a question that was written as one word."""
    plain = json.loads(base64.b64decode(word, validate=True))
    if not isinstance(plain, dict):
        raise ValueError("this is no question")
    return plain


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


def _client(args: dict[str, Any]) -> dict[str, Any]:
    executor = {"path": EXECUTOR, "args": args}
    return {"format_version": 2, "executors": [{"tasks": [OFFER, ANSWER], "executor": executor}]}
