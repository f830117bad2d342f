"""Options that several requests share, with one wording each, and the names that the Tab key completes.

These names stand here a second time, so that pressing Tab loads nothing heavy. A test compares them with registries.
"""

from __future__ import annotations

from confide.metrics.names import Face, names_of
from confide.tasks.requests.request import option

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
