"""What travels to the sites of a run: the job and the signed question.

FLARE signs the contents of a job's files and the names of its folders, not which file a content belongs to: whoever
carries jobs can rename signed files, or mix those of several jobs. So the coordinator signs the question itself, with a
label of its purpose before it, and a site reads no question without that signature.

The signature has an end, so that whoever keeps signed questions cannot have them asked whenever it suits them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.crypto.agreement import written
from confide.federation.crypto.certificates import Revocations
from confide.federation.crypto.identity import read_private_key, sign_with, verified_user
from confide.federation.flare.hardening import CONTROLLER, EXECUTOR
from confide.federation.protocol import ANSWER, OFFER, SHARES, UNMASK, VOTE
from confide.federation.question import Question
from confide.federation.site_files import make_owned, write_json

_ASK_AGAIN = (
    "ask it again with `confide validate`, which signs it anew: what was answered before is answered again at no cost. "
    "If it was signed today, compare the clocks of both machines"
)

COORDINATOR_ROLE = "project_admin"
"""Role in a coordinator's certificate, as FLARE provisions it."""

VALID_DAYS, MOST_VALID_DAYS = 30, 366
"""Days for which a question is signed by default, and at most."""

CLOCK_SKEW = timedelta(hours=1)
"""Difference that clocks of a coordinator and a site may have."""

_PURPOSE = b"question of a coordinator"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedQuestion:
    """Question as one word, its end, the signature in base64, and the signer's certificate in PEM, as they are sent.

    `until` is the time, as ISO 8601 in UTC, after which no site answers; it is signed with the question.
    """

    question: str
    until: str
    signature: str
    certificate: str

    @classmethod
    def sign(cls, question: Question, startup: Path, *, days: int = VALID_DAYS) -> SignedQuestion:
        """Sign a question with the key in a coordinator's kit, for so many days."""
        word = write_question(question)
        until = (datetime.now(UTC) + timedelta(days=checked_valid_days(days))).isoformat(timespec="seconds")
        signature = sign_with(read_private_key(startup / "client.key"), _message(word, until))
        certificate = (startup / "client.crt").read_text(encoding="ascii")
        encoded = base64.b64encode(signature).decode("ascii")
        return cls(question=word, until=until, signature=encoded, certificate=certificate)

    def signer(self, root: str, *, at: datetime) -> str:
        """Return the name of the coordinator who signed this question, by a certificate of a federation's root.

        The root issued the server's and the sites' certificates too. These have no role, and sign no questions.
        """
        coordinator = verified_user(self.certificate, root, role=COORDINATOR_ROLE, at=at)
        try:
            signature = base64.b64decode(self.signature, validate=True)
        except ValueError:
            raise FederationError("the signature of the question cannot be read; ask with `confide validate`") from None
        coordinator.check(signature, _message(self.question, self.until), "the question")
        return coordinator.name

    def check_end(self, *, at: datetime) -> None:
        """Refuse a question after its end, one without an end, and one with an end too far ahead."""
        try:
            until = datetime.fromisoformat(self.until)
            left = until - at
        except (ValueError, TypeError):  # what an earlier version signed has no end
            raise RefusedError(f"the question was signed without an end; {_ASK_AGAIN}") from None
        if left < -CLOCK_SKEW:
            raise RefusedError(
                f"the coordinator signed this question until {until:%Y-%m-%d %H:%M} UTC, and that is over; {_ASK_AGAIN}"
            )
        if left > timedelta(days=MOST_VALID_DAYS) + CLOCK_SKEW:
            raise RefusedError(f"the question was signed for more than {MOST_VALID_DAYS} days; {_ASK_AGAIN}")


def checked_valid_days(days: object) -> int:
    """Return the days for which a question is signed."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_VALID_DAYS:
        raise ParameterError(f"`valid_days` must be a whole number from 1 to {MOST_VALID_DAYS}; got {days!r}")
    return days


def write_question(question: Question) -> str:
    """Write a question as one word: FLARE takes braces in its settings for names of variables."""
    return base64.b64encode(json.dumps(question.to_dict(), sort_keys=True).encode()).decode("ascii")


def read_question(word: str) -> dict[str, Any]:
    """Read the plain data of a question that was written as one word."""
    plain = json.loads(base64.b64decode(word, validate=True))
    if not isinstance(plain, dict):
        raise ValueError("this is not a question")
    return plain


def _message(word: str, until: str) -> bytes:
    return written(_PURPOSE, word.encode(), until.encode())


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
