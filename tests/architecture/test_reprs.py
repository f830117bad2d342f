"""The text of a value shows no private data: a repr ends up in logs, tracebacks and notebooks.

The test walks over every dataclass and named tuple of the package. A field that is shown must be neither an array,
bytes or a table, nor have a name such as `labels` or `key`, unless its class is listed here among those that hold
public values only. `ScoreCounts` and rows show nothing in exact work either: the same objects go into releases.
"""

from __future__ import annotations

import collections
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import numpy as np
import pytest

import confide
from confide.tasks.contest_answer import Answerer

GENERATED = collections.namedtuple("Any", ()).__repr__.__code__.co_filename
PRIVATE_TYPE = re.compile(r"Array|ndarray|\bbytes\b|^Any$|UnitRows|LabelledIds|list\[(list\[)?int|DataFrame")
PRIVATE_NAME = re.compile(r"_?(labels?|keys?|seeds?|secrets?|tokens?|passwords?|distinct|positives|negatives|counts?)")

COLUMN_NAMES = (
    "federation.site.config.SiteModel learning.workflow.Workflow ledger.account_terms.AccountTerms "
    "ledger.payer.FileSubject ledger.reader.Publication ledger.question.PublicQuestion sources.rows.RowColumns "
    "tasks.contest_folder.HolderRecord tasks.federation_demo.DemoData tasks.release_terms.ColumnScores "
    "tasks.requests.release.ReleaseRequest tasks.requests.learning.WorkflowRequest "
    "tasks.requests.contest.ContestRequest tasks.requests.account.AccountRequest "
    "tasks.requests.federation.SiteRequest tasks.requests.federation.ModelRequest "
    "tasks.requests.federation.DemoRequest tasks.requests.attack.CurveAttackRequest "
    "tasks.requests.learning.SelectRequest tasks.requests.learning.TrainRequest "
    "contest.server.home.Settings report.evaluation.plots._Curve "
    "contest.server.chain.Writer contest.server.submissions.Submission"
)
"""`label` is the name of a column, or of a file; `token` is the public id of a token."""

PUBLIC_FACTS = (
    "grid.Grid contest.shaped_final.Strategy contest.bundles.ServerBundle "
    "privacy.mechanisms.average_precision_sensitivity.LocalSensitivity privacy.queries.Noise "
    "privacy.noisy_numbers.PositivesScale privacy.noisy_numbers.GivenScale federation.site.local_models.Scorer "
    "evaluation.settings.Settings provenance.Provenance tasks.contest_demo.ContestDemo "
    "tasks.requests.contest.ContestPlanRequest tasks.requests.attack.AttackRequest "
    "tasks.requests.attack.ContestAttackRequest "
    "attacks.from_auc.labelings.Labelings attacks.from_auc.labeling_count.LabelingCount "
    "attacks.from_auc.posterior._Part "
    "releases.simulation.StandIn sources.paired_sums._Digits"
)
"""Parameters, functions and made-up data."""

SENT = (
    "federation.crypto.agreement.Offer federation.crypto.recovery.Answered federation.crypto.recovery.Vote "
    "federation.crypto.secure_sum.MaskedVector federation.crypto.shares.SealingKey "
    "federation.crypto.certificates.SiteRequest federation.flare.authority.SiteRecord "
    "federation.site.private_answer.Share federation.site.row_sources.HeldRows "
)
"""Public keys, signatures and masked numbers, which are sent to others; a digest's function."""

RELEASED = (
    "contest.labels.MaskedLabels contest.labels.MaskedAnswer contest.shaped_final.FinalEstimates "
    "federation.coordinator.pooling.CalibrationPoints federation.coordinator.performance.Performance "
    "privacy.noisy_numbers.ClassSizes privacy.noisy_counts.NoisyCells privacy.noisy_counts.PlausibleCounts "
    "privacy.noisy_counts.CurveRegion privacy.noisy_counts.Errors privacy.noisy_numbers.Following "
    "privacy.mechanisms.feature_counts.NoisyFeatures releases.curves_release.Calibrator contest.server.boards.Snapshot "
    "contest.board.MatrixCovariance contest.board.IndependentValues contest.server.pages.context.KeptPage "
    "releases.curve_numbers.CalibrationBins contest.server.pages.context.Visit"
)
"""Values that noise was added to, and what follows from them."""

EXACT_RESULTS = (
    "attacks.contest.rehearsal.Rehearsal attacks.contest.rehearsal.Repeated attacks.from_curve.curve_report.CurveReport"
    " attacks.from_curve.points.ClassSizes attacks.from_curve.points.RocPoints attacks.one_row.exposed.ExposedRows "
    "curves.binormal_roc.BinormalRoc curves.calibration_spline.SplineCurve curves.reliability.DecisionCurve "
    "curves.calibration_spline.NaturalSpline curves.roc.OperatingPoints curves.penalised_logistic.PenalisedFit "
    "curves.pr.PrCurve curves.pr.PrPath curves.pr.RecallLevels curves.reliability.ReliabilityBins curves.roc.RocCurve "
    "curves.smoothing.SmoothCalibration evaluation.evaluation.GroupEvaluation intervals.resample.Band "
    "metrics.calibration_samples.SampledErrors tasks.contest_check.SubmissionCheck"
)
"""Exact results that the owner of the data asked for, and that are made to be read."""

NESTED = "sources.rank_tables.RankedTable tasks.contest.ReadyContest"
"""Classes whose shown fields hide themselves."""

PUBLIC = frozenset(" ".join((COLUMN_NAMES, PUBLIC_FACTS, SENT, RELEASED, EXACT_RESULTS, NESTED)).split())

HIDE_THEMSELVES = (
    "attacks.exposure.AttackReport audits.run.Finding counts.ScoreCounts evaluation.evaluation.Evaluation "
    "features.FeatureRows federation.coordinator.validation.Validation federation.tables.DisclosedTable "
    "federation.tables.SiteTable intervals.influence.Linearised ledger.account.Account ledger.receipts.Receipt "
    "releases.confusion.ConfusionRelease releases.curves_release.CurvesRelease releases.plan_result.Plan "
    "releases.release.Release sources.rows.CodedScores sources.rows.Rows tasks.ledger.Accounts "
    "tasks.learning.Prediction"
)
"""Classes with a text of their own, which was read: it shows results for the owner, released values or sizes."""


def classes() -> Iterator[tuple[str, type]]:
    for module in pkgutil.walk_packages(confide.__path__, "confide."):
        if module.name.rpartition(".")[2].startswith("triton_"):
            continue  # needs a package that is installed with a device only
        found = importlib.import_module(module.name)
        for one in vars(found).values():
            if inspect.isclass(one) and one.__module__ == module.name:
                yield f"{module.name}.{one.__qualname__}".removeprefix("confide."), one


def shown_fields(one: type) -> dict[str, str]:
    """Return the fields that the generated text of a class shows, with their types."""
    text: object = one.__repr__
    if text is object.__repr__:
        return {}
    if dataclasses.is_dataclass(one):
        return {part.name: str(part.type) for part in dataclasses.fields(one) if part.repr}
    if issubclass(one, tuple) and hasattr(one, "_fields") and one.__repr__.__code__.co_filename == GENERATED:
        return {name: str(kind) for name, kind in inspect.get_annotations(one).items()}
    return {}


def suspicious(one: type) -> list[str]:
    return [
        f"{name}: {kind}"
        for name, kind in shown_fields(one).items()
        if PRIVATE_TYPE.search(kind) or PRIVATE_NAME.fullmatch(name)
    ]


def writes_its_own(one: type) -> bool:
    parameters = getattr(one, "__dataclass_params__", None)
    return parameters is not None and "__repr__" in vars(one) and not parameters.repr


def test_no_text_of_a_value_shows_private_data() -> None:
    """After a failure: give the dataclass `repr=False`, or list it above if all that it can ever hold is public."""
    every = dict(classes())
    assert len(every) > 400
    shown = {name: suspicious(one) for name, one in every.items() if not writes_its_own(one)}
    assert {name: fields for name, fields in shown.items() if fields and name not in PUBLIC} == {}


def test_no_class_has_a_text_of_its_own_that_nobody_read() -> None:
    assert {name for name, one in classes() if writes_its_own(one)} == set(HIDE_THEMSELVES.split())


def test_the_lists_name_classes_that_exist_and_need_it() -> None:
    every = dict(classes())
    assert {name for name in PUBLIC if name not in every or not suspicious(every[name])} == set()


def test_true_labels_of_a_contest_are_not_shown() -> None:
    labels = np.array([True, False, True])
    answerer = Answerer(bundle=None, payer=None, labels=labels, part=None)  # type: ignore[arg-type]
    assert "True" not in repr(answerer)
    assert "array" not in repr(answerer)


@dataclasses.dataclass(frozen=True)
class _Careless:
    labels: np.ndarray[tuple[int], np.dtype[np.bool_]]
    counts: tuple[int, ...]
    share: float
    hidden: bytes = dataclasses.field(repr=False, default=b"")


def test_a_careless_class_is_found() -> None:
    assert [text.partition(":")[0] for text in suspicious(_Careless)] == ["labels", "counts"]
    assert suspicious(dataclasses.make_dataclass("Careful", [("labels", "FloatArray")], repr=False)) == []


@pytest.mark.parametrize("name", ["counts.ScoreCounts", "sources.rows.Rows"])
def test_counts_and_rows_say_that_they_are_private(name: str) -> None:
    assert "<private>" in inspect.getsource(dict(classes())[name].__repr__)
