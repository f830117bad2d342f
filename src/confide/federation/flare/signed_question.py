"""Question with the coordinator's own signature.

FLARE signs the contents of a job's files and the names of its folders, not which file a content belongs to: whoever
carries jobs can rename signed files, or mix those of several jobs. So the coordinator signs the question itself, with a
label of its purpose before it, and a site reads no question without that signature.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from confide.errors import FederationError
from confide.federation.crypto.agreement import written
from confide.federation.crypto.identity import read_private_key, sign_with, verified_user
from confide.federation.question import Question

COORDINATOR_ROLE = "project_admin"
"""Role in a coordinator's certificate, as FLARE provisions it."""

_PURPOSE = b"question of a coordinator"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedQuestion:
    """Question as one word, its signature in base64, and the signer's certificate in PEM, as they are sent."""

    question: str
    signature: str
    certificate: str

    @classmethod
    def sign(cls, question: Question, startup: Path) -> SignedQuestion:
        """Sign a question with the key in a coordinator's kit."""
        word = write_question(question)
        signature = sign_with(read_private_key(startup / "client.key"), _message(word))
        certificate = (startup / "client.crt").read_text(encoding="ascii")
        return cls(question=word, signature=base64.b64encode(signature).decode("ascii"), certificate=certificate)

    def signer(self, root: str, *, at: datetime) -> str:
        """Return the name of the coordinator who signed this question, by a certificate of a federation's root.

        The root issued the server's and the sites' certificates too. These have no role, and sign no questions.
        """
        coordinator = verified_user(self.certificate, root, role=COORDINATOR_ROLE, at=at)
        try:
            signature = base64.b64decode(self.signature, validate=True)
        except ValueError:
            raise FederationError("the signature of the question cannot be read; ask with `confide validate`") from None
        coordinator.check(signature, _message(self.question), "the question")
        return coordinator.name


def write_question(question: Question) -> str:
    """Write a question as one word: FLARE takes braces in its settings for names of variables."""
    return base64.b64encode(json.dumps(question.to_dict(), sort_keys=True).encode()).decode("ascii")


def read_question(word: str) -> dict[str, Any]:
    """Read the plain data of a question that was written as one word."""
    plain = json.loads(base64.b64decode(word, validate=True))
    if not isinstance(plain, dict):
        raise ValueError("this is no question")
    return plain


def _message(word: str) -> bytes:
    return written(_PURPOSE, word.encode())
