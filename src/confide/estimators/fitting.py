"""Shared steps of fitting private estimators: find the two labels, charge the ledger, draw the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from confide.errors import LabelError, ParameterError
from confide.ledger.payer import DeclaredSubject, Payer
from confide.ledger.question import PublicQuestion
from confide.ledger.receipts import Receipt
from confide.privacy.prepared import A, Prepared


def two_classes(labels: NDArray[Any], classes: Sequence[Any] | None) -> NDArray[Any]:
    """Return the two labels, the positive one last: `classes`, or the two that `labels` hold."""
    check_classification_targets(labels)
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if classes is not None and (known.ndim != 1 or known.size != 2 or known[0] == known[1]):
        raise ParameterError("`classes` must be two different labels, the positive one last, for example (0, 1)")
    if known.size > 2:
        raise LabelError(
            f"Only binary classification is supported. The type of the target is {type_of_target(labels)}. Make two "
            "labels of them first"
        )
    if known.size < 2 or not np.isin(labels, known).all():
        raise LabelError(
            "`y` must hold two labels, one for each class; where it may hold one class alone, name both "
            "(classes=(negative, positive))"
        )
    return known


def check_payer(ledger: str | Path | None, account: str | None, question: PublicQuestion | None) -> None:
    """Refuse an account without a ledger, a ledger without an account, and a question without a ledger."""
    if (account is None) != (ledger is None):
        raise ParameterError("give `ledger`, a path or URL, and `account` together")
    if question is not None and ledger is None:
        raise ParameterError("`question` needs a ledger; give `ledger` and `account` as well")


def charge_and_draw(
    prepared: Prepared[A],
    ledger: str | Path | None,
    account: str | None,
    question: PublicQuestion | None,
    **public: Any,
) -> tuple[A, Receipt[A] | None]:
    """Draw the answer. With a ledger, charge it first and return the receipt as well.

    `public` holds the parameters of the estimator that decide how rows are read. They are part of the question.
    """
    if ledger is None or account is None:
        return prepared.draw()[0], None
    if question is not None:
        read = {name: None if value is None else repr(value) for name, value in public.items()}
        question = replace(question, details={**question.details, "read": read})
    receipt = Payer(subject=DeclaredSubject(stated=question), ledger=ledger, account=account).pay(prepared)
    return receipt.answers[0][0], receipt
