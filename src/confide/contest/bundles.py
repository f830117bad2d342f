"""Archives that travel: the bundle for the server, which never holds a true label, and the finalists."""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.labels import MaskedLabels
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, Mode
from confide.counts import FloatArray
from confide.errors import ParameterError, UnreadableError

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that an archive can hold
_MODE = 0o644 << 16


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """Write files into an archive, in the given order.

    >>> read_archive(write_archive({"a": b"1"}), what="an archive", most_members=1)
    {'a': b'1'}
    """
    content = io.BytesIO()
    _write_members(content, members.items())
    return content.getvalue()


def _write_members(file: IO[bytes], members: Iterable[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members:
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.create_system = 3  # the same bytes on every system
            entry.external_attr = _MODE
            archive.writestr(entry, data)


def read_archive(content: bytes, *, what: str, most_members: int) -> dict[str, bytes]:
    """Read the files of an archive; refuse compressed files, names that occur twice, and damage."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            plain = all(
                entry.compress_type == zipfile.ZIP_STORED
                and entry.file_size == entry.compress_size <= len(content)
                and not entry.flag_bits & 1
                for entry in entries
            )
            names = {entry.filename for entry in entries}
            total = sum(entry.file_size for entry in entries)
            if plain and len(names) == len(entries) <= most_members and total <= len(content):
                return {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, OSError):
        pass
    raise damaged(what)


def damaged(what: str) -> UnreadableError:
    """Return the error for a file that is not what it should be."""
    return UnreadableError(f"this is not {what}, or it is damaged; give the file as it was written")


BUNDLE_SCHEMA = "confide.contest-server/1"

_BUNDLE = "the server's part of a contest (server.zip)"
_MANIFEST, _TERMS, _TEMPLATE, _PUBLIC, _MASKED = (
    "manifest.json",
    "terms.json",
    "template.json",
    "public.i8",
    "masked.bits",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerBundle:
    """Everything that a server needs to score submissions.

    Parameters
    ----------
    terms, template
        The public terms, and the ids in the order of every file of scores that the server keeps.
    public
        Places in the template of the rows that the board is computed from, ascending.
    masked
        Masked labels of these rows, in the same order. None in a contest that charges each answer.
    """

    terms: ContestTerms
    template: Template
    public: NDArray[np.int64]
    masked: MaskedLabels | None = None

    def __post_init__(self) -> None:
        public = np.array(self.public, dtype=np.int64)
        public.flags.writeable = False
        object.__setattr__(self, "public", public)
        terms = self.terms
        if len(self.template) != terms.rows or public.shape != (terms.public_rows,):
            raise ParameterError("the terms of the contest have another number of rows than its template")
        if Template.of(terms, self.template.ids) != self.template:
            raise ParameterError("the template is that of another contest")
        if (np.diff(public) <= 0).any() or public[0] < 0 or public[-1] >= terms.rows:
            raise ParameterError("the public rows must be places in the template, ascending")
        if (self.masked is None) != (terms.mode == Mode.PER_ANSWER):
            raise ParameterError("a masked contest has masked labels, and no other contest has them")
        if self.masked is not None and (len(self.masked) != public.size or self.masked.flip != terms.flip):
            raise ParameterError("the masked labels are those of another contest")

    @property
    def final_rows(self) -> NDArray[np.int64]:
        """Return the places in the template of the rows that the board is not computed from, ascending."""
        return np.setdiff1d(np.arange(self.terms.rows, dtype=np.int64), self.public, assume_unique=True)

    def to_bytes(self) -> bytes:
        """Return the content of `server.zip`. The same contest gives the same bytes."""
        members = {
            _TERMS: (json.dumps(self.terms.to_dict(), indent=2) + "\n").encode(),
            _TEMPLATE: self.template.to_json().encode(),
            _PUBLIC: self.public.astype("<i8").tobytes(),
        }
        if self.masked is not None:
            members[_MASKED] = np.packbits(self.masked.bits).tobytes()
        manifest = {
            "schema": BUNDLE_SCHEMA,
            "files": {name: sha256(data).hexdigest() for name, data in members.items()},
        }
        return write_archive({_MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode(), **members})

    @classmethod
    def from_bytes(cls, content: bytes) -> ServerBundle:
        """Read `server.zip`; refuse a file whose digests, sizes or schema do not fit."""
        members = read_archive(content, what=_BUNDLE, most_members=5)
        try:
            manifest: dict[str, Any] = json.loads(members.pop(_MANIFEST))
            digests = {name: sha256(data).hexdigest() for name, data in members.items()}
            if manifest["schema"] != BUNDLE_SCHEMA or manifest["files"] != digests:
                raise damaged(_BUNDLE)
            terms = ContestTerms.from_dict(json.loads(members.pop(_TERMS)))
            template = Template.from_json(members.pop(_TEMPLATE))
            public = np.frombuffer(members.pop(_PUBLIC), dtype="<i8").astype(np.int64)
            masked = _masked(members.pop(_MASKED), terms) if terms.mode == Mode.MASKED else None
            if members:
                raise damaged(_BUNDLE)
            return cls(terms=terms, template=template, public=public, masked=masked)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError):
            raise damaged(_BUNDLE) from None


def _masked(packed: bytes, terms: ContestTerms) -> MaskedLabels:
    """Unpack masked labels. The bits that fill the last byte must be zero, so that every bundle has one form."""
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))
    if bits.size - terms.public_rows not in range(8) or bits[terms.public_rows :].any() or terms.flip is None:
        raise damaged(_BUNDLE)
    return MaskedLabels(bits[: terms.public_rows].astype(np.bool_), terms.flip)


FINALISTS_SCHEMA = "confide.contest-finalists/1"

_FINALISTS = "an archive of finalists (finalists.zip)"
_LIST = "manifest.json"
_MOST = 100_000


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
        scores = np.asarray(self.scores, dtype=np.float64)
        if scores.flags.writeable:  # what nobody can change, such as a mapped file, is not copied
            scores = scores.copy()
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
        content = io.BytesIO()
        self.write(content)
        return content.getvalue()

    def write(self, file: IO[bytes]) -> None:
        """Write `finalists.zip`, one finalist after the other."""
        files = {f"{place:03d}.f8": entry for place, entry in enumerate(self.entries)}
        manifest = {
            "schema": FINALISTS_SCHEMA,
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
        listed = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
        scores = ((name, entry.scores.astype("<f8").tobytes()) for name, entry in files.items())
        _write_members(file, chain([(_LIST, listed)], scores))

    @classmethod
    def from_bytes(cls, content: bytes) -> Finalists:
        """Read `finalists.zip`; refuse a file whose digests, sizes or schema do not fit."""
        members = read_archive(content, what=_FINALISTS, most_members=_MOST)
        try:
            plain: dict[str, Any] = json.loads(members.pop(_LIST))
            if plain["schema"] != FINALISTS_SCHEMA:
                raise damaged(_FINALISTS)
            entries = tuple(_finalist(one, members) for one in plain["entries"])
            if members:
                raise damaged(_FINALISTS)
            return cls(contest=_text(plain["contest"]), template=_text(plain["template"]), entries=entries)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
            raise damaged(_FINALISTS) from None


def choose(entries: Sequence[Finalist], *, contest: str, template: str) -> Finalists:
    """Return the finalists of a contest in an order that depends on no score: by participant, then submission."""
    ordered = tuple(sorted(entries, key=lambda entry: (entry.participant, entry.submission)))
    return Finalists(contest=contest, template=template, entries=ordered)


def _finalist(plain: dict[str, Any], members: dict[str, bytes]) -> Finalist:
    scores = np.frombuffer(members.pop(plain["file"]), dtype="<f8").astype(np.float64, copy=False)
    entry = Finalist(participant=_text(plain["participant"]), submission=_text(plain["submission"]), scores=scores)
    if entry.digest != plain["digest"]:
        raise damaged(_FINALISTS)
    return entry


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise damaged(_FINALISTS)
    return value
