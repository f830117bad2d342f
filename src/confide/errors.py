"""Every exception and warning that confide raises.

    ConfideError
    ├── UsageError              what was asked for cannot be done: exit code 2
    │   ├── ParameterError      a parameter breaks its rule
    │   └── ColumnError         a column is not in the table
    ├── DataError               the data cannot be evaluated: exit code 1
    │   ├── UnreadableError     a file is missing, empty or not what its name says
    │   ├── ScoreError          scores that are missing, NaN or infinite
    │   ├── LabelError          labels that are missing or not two values
    │   ├── WeightError         weights that are not positive finite numbers
    │   └── OneClassError       all rows belong to one class
    └── MissingPackageError     an optional part is not installed: exit code 1

    ConfideWarning
    ├── SmallSampleWarning      an interval is known to cover less than it says
    ├── SkewWarning             areas under PR curves are averaged over different skews
    └── DegenerateWarning       a quantity is at the edge of its range or undefined

Messages name the parameter, the rule and the next step. They never hold a score, a label, a count
or any other value read from the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class ConfideError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class UsageError(ConfideError, ValueError):
    """What was asked for cannot be done as asked."""

    exit_code = 2


class ParameterError(UsageError):
    """A parameter breaks its rule."""


class ColumnError(UsageError):
    """A column is not in the table."""

    @classmethod
    def unknown(cls, name: str, known: Sequence[str]) -> ColumnError:
        """Say that `name` is not a column, and which column was perhaps meant."""
        if any(isinstance(column, str) and _is_number(column) for column in known):
            return cls(
                f"no column {name!r}. The first line seems to hold data instead of names; "
                "add a line of column names to the file"
            )
        columns = list(known)
        lowered = {str(column).lower(): column for column in columns}
        close = get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.6)
        hint = f"Did you mean {lowered[close[0]]!r}?" if close else "Check the name."
        listed = ", ".join(repr(column) for column in columns[:20])
        more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
        return cls(f"no column {name!r}. {hint} The columns are {listed}{more}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class DataError(ConfideError, ValueError):
    """The data cannot be evaluated."""


class UnreadableError(DataError):
    """A file is missing, empty or not what its name says."""


class ScoreError(DataError):
    """Scores are missing, NaN or infinite."""


class LabelError(DataError):
    """Labels are missing or not two values."""


class WeightError(DataError):
    """Weights are not positive finite numbers."""


class OneClassError(DataError):
    """All rows belong to one class."""


class MissingPackageError(ConfideError, ImportError):
    """An optional part is not installed."""


class ConfideWarning(UserWarning):
    """Base of all warnings."""


class SmallSampleWarning(ConfideWarning):
    """An interval is known to cover less than it says at this sample size."""


class SkewWarning(ConfideWarning):
    """Areas under precision-recall curves are averaged over different skews."""


class DegenerateWarning(ConfideWarning):
    """A quantity is at the edge of its range, or undefined."""
