"""Table of what each site released and what it was charged.

Receipts come from the sites and may hold anything, so every value is checked before it is displayed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeGuard

from confide.federation.gaussian_noise import GaussianNoise
from confide.federation.modes.registry import mode_of
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.privacy.guarantee import three_digits
from confide.report.shared.names import cut
from confide.report.shared.numbers import DASH
from confide.report.shared.tables import Table
from confide.report.validation.tables import table_of_sites, took_part

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation

NOTHING = "nothing that is used here"
_RECEIPT_LETTERS = 60
_ROUNDING = 1e-9
_LEAST, _MOST = 1e-6, 1e6  # an epsilon beyond is written as a site sent it


def released_table(validation: Validation) -> Table:
    """Return what every site released, what it was charged and what is left."""
    question = validation.question
    receipts = [site.report.receipt if took_part(site) else None for site in validation.sites]
    released = mode_of(question).released(question)
    columns = {
        "what it released": [released if took_part(site) else NOTHING for site in validation.sites],
        "what it was charged": [_charged(receipt, question) for receipt in receipts],
        "left to the study": [
            DASH if receipt is None else _budget(receipt.get("remaining"), down=True) for receipt in receipts
        ],
    }
    return table_of_sites(
        f"What each site released{', and what it cost' if mode_of(question).private else ''}",
        validation,
        columns,
        text_columns=tuple(columns),
        keep=("what it released",),
    )


def was_stored(receipt: Mapping[str, Any] | None) -> bool:
    """Return whether a site's receipt states that it sent a stored answer."""
    return receipt is not None and receipt.get("reused") is True


def was_partly_paid(receipt: Mapping[str, Any] | None, question: Question) -> bool:
    """Return whether a receipt states a charge below the price for an answer that was not stored."""
    if receipt is None or was_stored(receipt) or not mode_of(question).private:
        return False
    stated = receipt.get("charged")
    if not isinstance(stated, Mapping):
        return False
    noise = noise_of(question)
    if isinstance(noise, GaussianNoise):
        return stated.get("epsilon") == 0 or _is_less(stated.get("rho"), noise.rho)
    # A ledger that adds up rho charges epsilon for its conversion, too: such a charge tells nothing of parts.
    return "rho" not in stated and _is_less(stated.get("epsilon"), question.exact_epsilon)


def _is_less(charged: object, price: Fraction) -> bool:
    if not isinstance(charged, int | float) or not _is_number(charged):
        return False
    return float(charged) < float(price) * (1.0 - _ROUNDING)


def _charged(receipt: Mapping[str, Any] | None, question: Question) -> str:
    """Write the charge that a receipt states."""
    if receipt is None:
        return DASH
    if was_stored(receipt):
        return "nothing: answered before"
    stated = receipt.get("charged")
    charged = f"rho {_figure(stated['rho'])}: {_budget(stated)} more" if _has_rho(stated) else _budget(stated)
    return f"{charged}: the rest was paid before" if was_partly_paid(receipt, question) else charged


def _budget(value: object, *, down: bool = False) -> str:
    """Write a budget as a site sent it: epsilon with three digits, rounded up, or `down` if it is what is left."""
    if isinstance(value, Mapping):
        delta = value.get("delta")
        more = f", delta {_figure(delta)}" if delta not in (None, 0, 0.0, "0") else ""
        return f"epsilon {_epsilon(value.get('epsilon'), down=down)}{more}"
    if isinstance(value, str) and not _is_number(value):
        return cut(value, _RECEIPT_LETTERS) or DASH
    figure = _epsilon(value, down=down)
    return DASH if figure == DASH else f"epsilon {figure}"


def _epsilon(value: object, *, down: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not _is_number(value):
        return _figure(value)
    number = float(value)
    return three_digits(Fraction(number), down=down) if _LEAST <= number <= _MOST else _figure(value)


def _has_rho(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a site's ledger adds up rho; its epsilon is then what the rho adds to the total spent."""
    return isinstance(value, Mapping) and "rho" in value


def _figure(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return DASH
    if _is_number(value):
        return f"{float(value):.6g}"
    return cut(value, _RECEIPT_LETTERS) if isinstance(value, str) else DASH


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(str(value)))
    except (ValueError, OverflowError):
        return False
