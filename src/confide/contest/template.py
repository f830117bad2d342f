"""Template of a submission: the ids that it must score, in order, and the columns of its file. All of it is public."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from confide.contest.terms import ContestTerms
from confide.errors import ParameterError

SCHEMA = "confide.contest-template/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Ids and columns of a submission.

    `probabilities` means that scores must lie in [0, 1].
    """

    contest: str
    ids: tuple[str, ...]
    id_column: str = "id"
    score_column: str = "score"
    probabilities: bool = False

    def __post_init__(self) -> None:
        if len(set(self.ids)) != len(self.ids):
            raise ParameterError("an id occurs twice; give each row an id of its own")
        if not all(isinstance(one, str) and one for one in self.ids):
            raise ParameterError("an id is empty; give each row an id of its own")

    @classmethod
    def of(cls, terms: ContestTerms, ids: tuple[str, ...]) -> Template:
        """Return the template of a contest."""
        return cls(
            contest=terms.name,
            ids=ids,
            id_column=terms.id_column,
            score_column=terms.score_column,
            probabilities=terms.metric.kind.probabilities,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the template, in hex."""
        return sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the text of `template.json`."""
        plain = {
            "schema": SCHEMA,
            "contest": self.contest,
            "id_column": self.id_column,
            "score_column": self.score_column,
            "probabilities": self.probabilities,
            "rows": len(self.ids),
            "ids": list(self.ids),
        }
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Template:
        """Read the text of `template.json`; refuse what is no template."""
        try:
            plain: dict[str, Any] = json.loads(text)
            known = plain.get("schema") == SCHEMA and len(plain["ids"]) == plain["rows"]
            if known:
                return cls(
                    contest=str(plain["contest"]),
                    ids=tuple(plain["ids"]),
                    id_column=str(plain["id_column"]),
                    score_column=str(plain["score_column"]),
                    probabilities=bool(plain["probabilities"]),
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        raise ParameterError("this is not a contest's template; give the organiser's file template.json")
