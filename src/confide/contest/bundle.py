"""Bundle for the server, `server.zip`: terms, template and masked labels. It never holds a true label."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.archive import damaged, read_archive, write_archive
from confide.contest.masked import MaskedLabels
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, Mode
from confide.errors import ParameterError

SCHEMA = "confide.contest-server/1"

_WHAT = "the server's part of a contest (server.zip)"
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
        manifest = {"schema": SCHEMA, "files": {name: sha256(data).hexdigest() for name, data in members.items()}}
        return write_archive({_MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode(), **members})

    @classmethod
    def from_bytes(cls, content: bytes) -> ServerBundle:
        """Read `server.zip`; refuse a file whose digests, sizes or schema do not fit."""
        members = read_archive(content, what=_WHAT, most_members=5)
        try:
            manifest: dict[str, Any] = json.loads(members.pop(_MANIFEST))
            digests = {name: sha256(data).hexdigest() for name, data in members.items()}
            if manifest["schema"] != SCHEMA or manifest["files"] != digests:
                raise damaged(_WHAT)
            terms = ContestTerms.from_dict(json.loads(members.pop(_TERMS)))
            template = Template.from_json(members.pop(_TEMPLATE))
            public = np.frombuffer(members.pop(_PUBLIC), dtype="<i8").astype(np.int64)
            masked = _masked(members.pop(_MASKED), terms) if terms.mode == Mode.MASKED else None
            if members:
                raise damaged(_WHAT)
            return cls(terms=terms, template=template, public=public, masked=masked)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError):
            raise damaged(_WHAT) from None


def _masked(packed: bytes, terms: ContestTerms) -> MaskedLabels:
    """Unpack masked labels. The bits that fill the last byte must be zero, so that every bundle has one form."""
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))
    if bits.size - terms.public_rows not in range(8) or bits[terms.public_rows :].any() or terms.flip is None:
        raise damaged(_WHAT)
    return MaskedLabels(bits[: terms.public_rows].astype(np.bool_), terms.flip)
