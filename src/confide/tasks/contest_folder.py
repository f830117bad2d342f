"""Folder of a contest: what may leave the data holder, and what stays.

`NAME/server.zip` and `NAME/template.json` are public. `NAME/holder/contest.json` says how the contest was made, so that
its final can be computed; it holds no label.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from confide.contest.bundle import ServerBundle
from confide.contest.terms import ContestTerms
from confide.errors import ParameterError, UnreadableError, UsageError
from confide.files import replace_file, replacement

SCHEMA = "confide.contest-holder/1"

_RECORD = "contest.json"
_DAMAGED = "is not the record of a contest, or it is damaged; make the contest again with `confide contest new`"


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderRecord:
    """Record of how a contest was made.

    Parameters
    ----------
    terms, template
        The terms, and the digest of the template.
    data
        The identity of the file of labels in the holder's ledger: a keyed hash of its bytes.
    label, positive
        The column of labels, and the positive one where the holder named it.
    account
        The account that pays.
    split
        The digest of the key that divides the rows.
    """

    terms: ContestTerms
    template: str
    data: str
    label: str
    positive: str | None
    account: str
    split: str

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps({"schema": SCHEMA, **asdict(self), "terms": self.terms.to_dict()}, indent=2) + "\n"

    @classmethod
    def load(cls, folder: Path) -> HolderRecord:
        """Read the record in the holder's folder of a contest."""
        path = folder / _RECORD
        try:
            plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if plain.pop("schema") == SCHEMA:
                return cls(**{**plain, "terms": ContestTerms.from_dict(plain["terms"])})
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read ({error.strerror}); give the folder `holder` that `confide contest new` made"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise UnreadableError(f"{path} {_DAMAGED}")


@dataclass(frozen=True, slots=True)
class ContestFolder:
    """Places of a contest's files."""

    path: Path

    @property
    def server(self) -> Path:
        """Return the place of the server's part."""
        return self.path / "server.zip"

    @property
    def template(self) -> Path:
        """Return the place of the template."""
        return self.path / "template.json"

    @property
    def holder(self) -> Path:
        """Return the folder that stays with the holder."""
        return self.path / "holder"

    def check_place(self) -> None:
        """Refuse a folder that cannot be made, or that is no contest's."""
        if not self.path.exists():
            above = next(parent for parent in self.path.absolute().parents if parent.exists())
            if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
                raise UsageError(f"{self.path} cannot be made; choose another folder (`out`)")
            return
        if not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; choose another name or folder (`out`)")
        if any(self.path.iterdir()) and not (self.holder / _RECORD).is_file():
            raise UsageError(f"{self.path} holds other files; choose another name or folder (`out`)")
        for folder in (self.path, self.holder):
            if folder.exists() and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                raise UsageError(f"{folder} cannot be written to; choose another folder (`out`)")

    def check_contest(self, record: HolderRecord) -> None:
        """Refuse a folder that holds another contest; the same one is written again."""
        if (self.holder / _RECORD).exists() and HolderRecord.load(self.holder) != record:
            raise ParameterError(
                f"{self.path} holds a contest with other terms, labels or account; choose another name or folder "
                "(`out`)"
            )

    def write(self, bundle: ServerBundle, record: HolderRecord) -> None:
        """Write all files, each whole or not at all. The record comes first: with it the folder can be completed."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.holder.mkdir(mode=0o700, exist_ok=True)
        replace_file(self.holder / _RECORD, record.to_json(), owner_only=True)
        replace_file(self.template, bundle.template.to_json())
        with replacement(self.server) as unfinished:
            unfinished.write_bytes(bundle.to_bytes())

    def to_dict(self) -> Mapping[str, str]:
        """Return the places as plain data."""
        return {"server": str(self.server), "template": str(self.template), "holder": str(self.holder)}
