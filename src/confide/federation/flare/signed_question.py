"""Question with the coordinator's own signature.

FLARE signs the contents of a job's files and the names of its folders, not which file a content belongs to: whoever
carries jobs can rename signed files, or mix those of several jobs. So the coordinator signs the question itself, with a
label of its purpose before it, and a site reads no question without that signature.

The signature has an end, so that whoever keeps signed questions cannot have them asked whenever it suits them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.crypto.agreement import written
from confide.federation.crypto.identity import read_private_key, sign_with, verified_user
from confide.federation.question import Question

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
        raise ValueError("this is no question")
    return plain


def _message(word: str, until: str) -> bytes:
    return written(_PURPOSE, word.encode(), until.encode())
