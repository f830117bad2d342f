"""Declare the parameters of a task once: options in the fields of a request, and verbs that take these fields.

Options that several requests share stand here, with one wording each, and names that the Tab key completes. These names
stand in the registries a second time, so that pressing Tab loads nothing heavy. A test compares them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from confide.errors import did_you_mean
from confide.metrics.names import Face, names_of

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

OPTION = "option"
"""Key of the option in a field's metadata."""


class Repeat(Enum):
    """How an option that is given several times is read."""

    NEVER = "the last value counts"
    REFUSED = "a second value is refused, as it would silently replace the first"
    LISTED = "values make a list"
    COMMAS = "values make a list, and one may hold several names with commas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Option of a command, in words of the command line.

    Without a long name among `flags`, the name of the field makes one. `kind` is the type of its value, `least` and
    `most` bound a number, `choices` are names that the Tab key completes, `panel` is the group in the help. `read`
    turns what was typed, and the name of the field, into the value of the field. A field without a default is required;
    with `required` so is one that has a default for Python alone.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    kind: type = str
    choices: tuple[str, ...] = ()
    repeat: Repeat = Repeat.NEVER
    panel: str | None = None
    least: float | None = None
    most: float | None = None
    required: bool = False
    read: Callable[[Any, str], Any] | None = None


def option(*flags: str, **described: Any) -> Mapping[str, Option]:
    """Return the metadata of a field that is an option of a command; see `Option`."""
    return {OPTION: Option(flags=flags, **described)}


def optional(default: Any, *flags: str, **described: Any) -> Any:
    """Return a field with a default that is an option of a command; see `Option`."""
    return field(default=default, metadata=option(*flags, **described))


def verb_of(request: Callable[P, R], *, by_position: str = "") -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Make a function of a request take the parameters from which the request is made.

    `by_position` is the advice for a call with too many arguments without a name.

    >>> @dataclass
    ... class Request:
    ...     number: int
    >>> @verb_of(Request)
    ... def digits(request: Request) -> int:
    ...     return len(str(request.number))
    >>> digits(number=100)
    3
    """
    signature = inspect.signature(request)

    def decorate(perform: Callable[[R], T]) -> Callable[P, T]:
        @wraps(perform)
        def verb(*args: P.args, **kwargs: P.kwargs) -> T:
            _check_names(perform.__name__, signature, len(args), kwargs, by_position)
            return perform(request(*args, **kwargs))

        returned: Any = perform.__annotations__["return"]
        verb.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
        return verb

    return decorate


def _check_names(
    verb: str, signature: inspect.Signature, positions: int, named: Mapping[str, object], by_position: str
) -> None:
    """Refuse arguments that a verb does not have, in the words of the verb. Python would name the request."""
    parameters = signature.parameters
    for name in named:
        if name not in parameters:
            hint = did_you_mean(name, parameters) or f"See help(confide.{verb}). "
            raise TypeError(f"{verb}() has no parameter {name!r}. {hint}".rstrip())
    unnamed = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    if positions > len(unnamed):
        taken = " and ".join(unnamed)
        raise TypeError(f"{verb}() takes {taken} alone by position; name the others. {by_position}".rstrip())
    for name, one in parameters.items():
        if name not in (*named, *unnamed[:positions]) and one.default is one.empty:
            raise TypeError(f"{verb}() needs {name}. See help(confide.{verb})")


NEIGHBOURS = ("replace-one", "add-remove-one", "label-only")
UNITS = ("row", "person")
COMPOSITIONS = ("addition", "zcdp")
NOISES = ("laplace", "gaussian")
MODES = ("disclosure-control", "secure-sum", "private", "noisy-scores")
METRICS = names_of(Face.RELEASE)
STRATEGIES = ("auto", "flat", "tree", "haar")
SHAPES = ("concave", "isotonic", "counts", "binormal", "roc-glm")
METHODS = ("score-perturbation", "sparse-vector", "peeling", "permute-and-flip", "clusters")
FEATURE_SCORES = ("total-count", "difference-count", "purity-index", "information-gain")
MODELS = ("naive-bayes", "logistic-regression")

LABEL = option("-l", metavar="COL", help="Column of labels; it has two values.")
POSITIVE = option(
    metavar="VALUE",
    help="The positive label of two, unless they are 0/1, -1/1 or false/true. A third label is an error.",
)
PRIVATE_POSITIVE = option(
    metavar="VALUE",
    help="The positive label, unless labels are 0/1, -1/1 or false/true. All others are negative: an error about a "
    "third one would tell that a row has it.",
)
LEVEL = option(metavar="P", kind=float, help="Confidence level of intervals.")
DELTA = option(metavar="D", help="For mechanisms that need one; far below 1 / rows.")
ROWS_PER_PERSON = option(metavar="K", kind=int, help="With --unit person: nobody has more than K rows. [default: 1]")
LEDGER = option(metavar="URL", help="A path or postgresql://...; [default: $CONFIDE_LEDGER, or your own ledger]")
ACCOUNT = option(
    metavar="NAME",
    help="Account to charge; open it with `confide ledger new`. [default: the only one that knows the file]",
)
ANALYST = option(metavar="NAME", help="The analyst who asks, if the account has caps for analysts.")
ALSO_CHARGE = option(
    kind=bool, help="Charge this account although another one knows the same file; their budgets then add up."
)
