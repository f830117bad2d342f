"""Exceptions and warnings that confide raises::

    ConfideError
    ├── UsageError              a request cannot be carried out: exit code 2
    │   ├── ParameterError      a parameter breaks its rule
    │   ├── ColumnError         a column is not in the table
    │   └── NotComparedError    a fingerprint must be compared before a request is signed
    ├── BudgetError             the account has less left than the request costs: exit code 3
    ├── RecordsError            sealed records are damaged, locked or not ours to write: exit code 1
    │   ├── LedgerError         those of a ledger
    │   └── HomeError           the home or the database of a contest server
    ├── FederationError         a site or a coordinator did not do what was agreed: exit code 1
    │   ├── OwnFilesError       its own files cannot be read or written; no other party may hear of them
    │   ├── PortError           another program uses the port of a server
    │   └── RefusedError        a site's policy does not allow the request
    │       └── UnpayableError  a site's ledger cannot pay for it: exit code 3 for the coordinator
    ├── OracleError             an evaluation server refused a request or cannot be reached: exit code 1
    │   ├── TokenError          the token is missing, wrong or not allowed to do it
    │   └── LimitError          no submission is left for now: exit code 3
    └── DataError               the data cannot be evaluated: exit code 1
        ├── UnreadableError     a file is empty, damaged or not what its name says
        │   └── NoRowsError     a file or table has no rows
        ├── ScoreError          scores that are missing, NaN or infinite
        ├── LabelError          labels that are missing or not two values
        ├── SubmissionError     a submitted file of scores cannot be scored
        ├── WeightError         weights that are not positive finite numbers
        └── OneClassError       all rows belong to one class

    ConfideWarning
    ├── SmallSampleWarning      an interval is known to cover less than it says
    └── SkewWarning             areas under PR curves are averaged over different skews

Messages name the parameter, the rule and the next step. They never hold a score, a label, a count
or any other value read from the data. The only exception is SubmissionError, which shows a participant
what is wrong in the participant's own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction


class ConfideError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class UsageError(ConfideError, ValueError):
    """A request cannot be carried out as given."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter breaks its rule."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question that names what was perhaps meant, to be put into a message; empty if nothing is near.

    >>> did_you_mean("recal", ["recall", "precision"])
    "Did you mean 'recall'? "
    """
    close = get_close_matches(str(name), list(known), n=1)
    return f"Did you mean {close[0]!r}? " if close else ""


class ColumnError(UsageError):
    """A column is not in the table."""

    @classmethod
    def require(cls, asked: Sequence[str], known: Sequence[str]) -> None:
        """Refuse a column that is not there, naming the one that was perhaps meant.

        The other columns are listed only if something asked for is among them, or nearly: a file
        without a header has somebody's data for names.
        """
        for name in asked:
            if name in known:
                continue
            lowered = {str(column).lower(): column for column in known}
            close = get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.6)
            if not close and not any(column in known for column in asked):
                raise cls(
                    f"no column {name!r}, nor any other requested one. Check the names; the first line of a file must "
                    "hold names instead of data"
                )
            hint = f"Did you mean {lowered[close[0]]!r}?" if close else "Check the name."
            listed = ", ".join(repr(column) for column in known[:20])
            more = f" and {len(known) - 20} more" if len(known) > 20 else ""
            raise cls(f"no column {name!r}. {hint} The columns are {listed}{more}.")


class NotComparedError(UsageError):
    """A site's request was not signed, as nobody has compared its fingerprint yet.

    `known` is the fingerprint that the site had before, if it was signed for with another key.
    """

    def __init__(self, message: str, *, site: str = "", fingerprint: str = "", known: str | None = None) -> None:
        super().__init__(message)
        self.site = site
        self.fingerprint = fingerprint
        self.known = known


class BudgetError(ConfideError):
    """An account has less left than a request costs; nothing was charged and no noise was drawn.

    `parameter` says what is short, "epsilon" or "delta"; `requested`, `remaining` and `missing` how much of it.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        parameter: str = "epsilon",
        requested: Fraction | None = None,
        remaining: Fraction | None = None,
        missing: Fraction | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.requested = requested
        self.remaining = remaining
        self.missing = missing


class RecordsError(ConfideError):
    """Sealed records are damaged, cannot be reached or do not match their key; nothing is released."""


class LedgerError(RecordsError):
    """A ledger is damaged, cannot be reached or does not match its key; nothing is released."""


class FederationError(ConfideError):
    """A site or a coordinator did not do what was agreed; nothing is released."""


class OwnFilesError(FederationError):
    """A file of a site or a coordinator cannot be read or written; no other party may hear of it."""


class PortError(FederationError):
    """Another program uses the port of a server."""


class RefusedError(FederationError):
    """A site's policy does not allow what was asked of it."""


class UnpayableError(RefusedError):
    """A site's ledger has less left than what was asked of it costs."""


class OracleError(ConfideError):
    """An evaluation server refused a request, or cannot be reached.

    `status` is the HTTP status, None if there was no answer. `kind` is the type of the problem, `next_step` the
    server's advice, `retry_after` the seconds after which the server wants to be asked again, where it says so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str = "",
        next_step: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.next_step = next_step
        self.retry_after = retry_after


class TokenError(OracleError):
    """A token is missing, wrong or not allowed to do what was asked."""


class LimitError(OracleError):
    """A participant has no submission left for now, or the contest's budget is spent."""

    exit_code = 3


class HomeError(RecordsError):
    """The home folder or the database of a contest server is damaged, in use or cannot be reached."""


class StoreUnavailableError(HomeError):
    """The database or the disk of a contest server takes no reads or writes at present; nothing is confirmed."""


class DataError(ConfideError, ValueError):
    """Data cannot be evaluated."""


class UnreadableError(DataError):
    """A file is empty, damaged or not what its name says."""


class NoRowsError(UnreadableError):
    """A file or table has no rows."""


class ScoreError(DataError):
    """Scores are missing, NaN or infinite."""


class LabelError(DataError):
    """Labels are missing or not two values."""


@dataclass(frozen=True, slots=True)
class SubmissionProblem:
    """One thing that is wrong in a submitted file, and what to do next. `code` names the kind of problem."""

    code: str
    text: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.text}; {self.next_step}"

    def to_dict(self) -> dict[str, str]:
        """Return plain data."""
        return {"code": self.code, "text": self.text, "next_step": self.next_step}


class SubmissionError(DataError):
    """A submitted file of scores cannot be scored. `problems` lists everything that is wrong."""

    def __init__(self, problems: Sequence[SubmissionProblem]) -> None:
        super().__init__(". ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[SubmissionError], tuple[tuple[SubmissionProblem, ...]]]:
        return type(self), (self.problems,)


class WeightError(DataError):
    """Weights are not positive finite numbers."""


class OneClassError(DataError):
    """All rows belong to one class."""


class ConfideWarning(UserWarning):
    """Base of all warnings."""


class SmallSampleWarning(ConfideWarning):
    """An interval is known to cover less than it says at this sample size."""


class SkewWarning(ConfideWarning):
    """Areas under precision-recall curves are averaged over different skews."""
