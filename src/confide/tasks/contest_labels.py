"""Labels of a contest, read by id and divided into the rows of the board and those of the final."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.contest.split import FINAL, PUBLIC, PURPOSE, Split, ids_digest
from confide.ledger.payer import FileSubject, LedgerPlace, Payer, open_ledger
from confide.sources.labelled_ids import LabelledIds, read_labelled_ids


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SplitLabels:
    """Labels of a contest, by id, and the rule that divides its rows."""

    rows: LabelledIds
    split: Split
    public: NDArray[np.bool_]

    def places(self, part: str) -> NDArray[np.int64]:
        """Return the places of a part's rows among all ids, ascending."""
        inside = self.public if part == PUBLIC else ~self.public
        return np.flatnonzero(inside).astype(np.int64)

    def labels(self, part: str) -> NDArray[np.bool_]:
        """Return the labels of a part's rows, in the order of their ids."""
        chosen: NDArray[np.bool_] = self.rows.labels[self.places(part)]
        return chosen


def read_split(subject: FileSubject, ledger: LedgerPlace, *, id_column: str, share: Fraction) -> SplitLabels:
    """Read ids and labels, and divide the rows by a key that the ledger derives.

    The key depends on the ledger, the name of the id column and its ids alone. So the same contest, made again, has the
    same parts, and a file in which one label differs has them too. Another column is another partition, also if it
    holds the same ids in another order: a row then lies in other parts, and the costs of both add up.
    """
    rows = read_labelled_ids(subject.file, id_column=id_column, label=subject.label, positive=subject.positive)
    with open_ledger(ledger) as book:
        split = Split(share=share, key=book.derive_key(PURPOSE, id_column, ids_digest(rows.ids)))
    return SplitLabels(rows, split, split.public(rows.ids))


def identified(payer: Payer) -> tuple[Payer, str, str]:
    """Return a payer that is bound to its file as it is now, the name of its account, and the file's identity."""
    checked = payer.checked()
    with open_ledger(payer.ledger) as book:
        identity = str(checked.subject.identify(book))
        account = book.find_account(payer.account, data=identity)
    return checked, account.name, identity


__all__ = ["FINAL", "PUBLIC", "SplitLabels", "identified", "read_split"]
