"""Finalists of a closed contest, `finalists.zip`: the chosen submissions and their scores. All of it is public."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from confide.contest.archive import damaged, read_archive, write_archive
from confide.counts import FloatArray
from confide.errors import ParameterError

SCHEMA = "confide.contest-finalists/1"

_WHAT = "an archive of finalists (finalists.zip)"
_MANIFEST = "manifest.json"
_MOST = 10_000


def scores_digest(scores: FloatArray) -> str:
    """Return the SHA-256 of scores as little-endian numbers of 64 bits: the identity of a submission."""
    return sha256(np.asarray(scores, dtype="<f8").tobytes()).hexdigest()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Finalist:
    """A submission in the final: who sent it, its id on the server, and its scores in the template's order."""

    participant: str
    submission: str
    scores: FloatArray

    def __post_init__(self) -> None:
        scores = np.array(self.scores, dtype=np.float64)
        if scores.ndim != 1 or not np.isfinite(scores).all():
            raise ParameterError("the scores of a finalist must be finite numbers, one for each row")
        scores.flags.writeable = False
        object.__setattr__(self, "scores", scores)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the scores."""
        return scores_digest(self.scores)


@dataclass(frozen=True, eq=False, kw_only=True)
class Finalists:
    """Finalists of a contest; `template` is the digest of the template that all of them scored."""

    contest: str
    template: str
    entries: tuple[Finalist, ...]

    def __post_init__(self) -> None:
        if not self.entries:
            raise ParameterError("a final needs at least one finalist")
        if len({entry.scores.size for entry in self.entries}) > 1:
            raise ParameterError("the finalists have scored different numbers of rows")
        submissions = [entry.submission for entry in self.entries]
        if len(set(submissions)) < len(submissions):
            raise ParameterError("a submission is named twice among the finalists")

    def by_name(self) -> dict[str, Finalist]:
        """Return the finalists by their names in the final.

        The name is that of the participant, followed by the id of the submission where a participant has several, or
        where a participant is called like that.
        """
        several = Counter(entry.participant for entry in self.entries)
        names = [
            entry.participant if several[entry.participant] == 1 else f"{entry.participant} ({entry.submission})"
            for entry in self.entries
        ]
        if len(set(names)) < len(names):
            names = [f"{entry.participant} ({entry.submission})" for entry in self.entries]
        return dict(zip(names, self.entries, strict=True))

    def to_bytes(self) -> bytes:
        """Return the content of `finalists.zip`. The same finalists give the same bytes."""
        files = {f"{place:03d}.f8": entry for place, entry in enumerate(self.entries)}
        manifest = {
            "schema": SCHEMA,
            "contest": self.contest,
            "template": self.template,
            "entries": [
                {
                    "participant": entry.participant,
                    "submission": entry.submission,
                    "digest": entry.digest,
                    "file": name,
                }
                for name, entry in files.items()
            ],
        }
        written = {_MANIFEST: (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()}
        return write_archive(
            {**written, **{name: entry.scores.astype("<f8").tobytes() for name, entry in files.items()}}
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Finalists:
        """Read `finalists.zip`; refuse a file whose digests, sizes or schema do not fit."""
        members = read_archive(content, what=_WHAT, most_members=_MOST)
        try:
            plain: dict[str, Any] = json.loads(members.pop(_MANIFEST))
            if plain["schema"] != SCHEMA:
                raise damaged(_WHAT)
            entries = tuple(_finalist(one, members) for one in plain["entries"])
            if members:
                raise damaged(_WHAT)
            return cls(contest=_text(plain["contest"]), template=_text(plain["template"]), entries=entries)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise damaged(_WHAT) from None


def choose(entries: Sequence[Finalist], *, contest: str, template: str) -> Finalists:
    """Return the finalists of a contest in an order that depends on no score: by participant, then submission."""
    ordered = tuple(sorted(entries, key=lambda entry: (entry.participant, entry.submission)))
    return Finalists(contest=contest, template=template, entries=ordered)


def _finalist(plain: dict[str, Any], members: dict[str, bytes]) -> Finalist:
    scores = np.frombuffer(members.pop(plain["file"]), dtype="<f8").astype(np.float64)
    entry = Finalist(participant=_text(plain["participant"]), submission=_text(plain["submission"]), scores=scores)
    if entry.digest != plain["digest"]:
        raise damaged(_WHAT)
    return entry


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise damaged(_WHAT)
    return value
