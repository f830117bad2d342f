"""A whole evaluation against R: pROC 1.18, rms 6.5, mgcv 1.8, survey 4.1, and base R.

The rows are those of `confide.examples.HEART_ATTACK`. In R, `d <- read.csv("heart_attack.csv")`, `i <- 0:499` numbers
the rows, and GLMs are fitted with `glm.control(epsilon = 1e-14)`.

Definitions that differ:

- AUC: pROC's interval is on the plain scale, which is `interval="plain"` here; the default is on the log-odds scale.
- E50, E90, Emax and ICI measure the distance to a curve, and R's packages draw different ones. Here it is mgcv's
  penalised spline in the log-odds. rms::val.prob takes a local line (Eavg 0.0127, E90 0.0281, Emax 0.0628 for
  `logistic`), CalibrationCurves R's loess.
- rms::val.prob rounds scores before it ranks them (C 0.80488 in place of 0.80489).
- R's `coords` puts Youden's threshold midway between two scores; here it is the upper of the two.
- The variance of one model's Brier score, log loss and net benefit divides by n, R's `sd` by n - 1: `PLUG_IN` is the
  ratio of the standard errors. Differences between models, clusters and sampling weights divide as R does.
- `svyglm` and `svymean` multiply the robust variance by G/(G-1) for G clusters, as is done here.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import confide
from confide.evaluation.evaluation import Evaluation, ModelEvaluation
from confide.examples import HEART_ATTACK
from confide.intervals.comparison import Comparison
from confide.intervals.interval import Estimate

LABEL: dict[str, Any] = {"label": "died", "replicates": 0}
Z = 1.959963984540054
PLUG_IN = (499 / 500) ** 0.5


@pytest.fixture(scope="module")
def heart() -> Evaluation:
    return confide.evaluate(
        HEART_ATTACK,
        score=["logistic", "age_only"],
        group="sex",
        thresholds=[0.1, 0.3, 0.5],
        interval="plain",
        specificity=[(0.9, 1.0), (0.8, 1.0)],
        sensitivity=(0.8, 1.0),
        **LABEL,
    )


@pytest.fixture(scope="module")
def columns() -> dict[str, NDArray[np.float64]]:
    with HEART_ATTACK.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("died", "logistic", "age_only")}


@pytest.fixture(scope="module")
def clustered(columns: dict[str, NDArray[np.float64]]) -> Evaluation:
    scores = {name: columns[name] for name in ("logistic", "age_only")}
    return confide.evaluate(
        columns["died"], scores, clusters=np.arange(500) % 100, thresholds=0.3, replicates=0
    )  # fmt: skip


def ends(estimate: Estimate | Comparison | None) -> tuple[float, float]:
    assert estimate is not None
    assert estimate.interval is not None
    return estimate.interval.lower, estimate.interval.upper


def with_error(estimate: Estimate | None) -> tuple[float, float | None]:
    assert estimate is not None
    return estimate.value, estimate.standard_error


def difference(evaluation: Evaluation, metric: str, threshold: float | None = None) -> Comparison:
    (found,) = (each for each in evaluation.comparisons if (each.metric, each.threshold) == (metric, threshold))
    return found


# r <- roc(d$died, d$logistic, direction = "<"); c(auc(r), sqrt(var(r)), ci.auc(r))
@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (0, (0.8048883017055, 0.0216875166589, 0.7623815501399, 0.8473950532711)),
        (1, (0.7635118904636, 0.0232566583514, 0.7179296776941, 0.8090941032331)),
    ],
)
def test_auc_and_delongs_interval(heart: Evaluation, place: int, expected: tuple[float, ...]) -> None:
    auc = heart.models[place].auc
    assert (auc.value, auc.standard_error, *ends(auc)) == pytest.approx(expected, abs=1e-12)


def test_the_level_of_intervals(columns: dict[str, NDArray[np.float64]]) -> None:
    # ci.auc(r, conf.level = 0.9)
    (model,) = confide.evaluate(
        columns["died"], columns["logistic"], interval="plain", level=0.9, replicates=0
    ).models  # fmt: skip
    assert ends(model.auc) == pytest.approx((0.769215511269, 0.840561092142), abs=1e-12)


def test_paired_difference_of_auc(heart: Evaluation) -> None:
    # roc.test(r1, r2, method = "delong", paired = TRUE); sqrt(var(r1) + var(r2) - 2 * cov(r1, r2))
    found = difference(heart, "auc")
    assert (found.z, found.p_value) == pytest.approx((2.24159784984504, 0.02498737507397), abs=1e-12)
    assert ends(found) == pytest.approx((0.00519852329057, 0.07755429919322), abs=1e-12)
    assert found.standard_error == pytest.approx(0.0184584452759, abs=1e-12)


# auc(r, partial.auc = c(1, 0.9)), partial.auc.correct = TRUE; partial.auc.focus = "sensitivity"
@pytest.mark.parametrize(
    ("place", "area", "corrected"),
    [
        (0, 0.0310913604, 0.637322949),
        (1, 0.0854592041, 0.681831122),
        (2, 0.0886940508, 0.690816808),
    ],
)
def test_partial_auc(heart: Evaluation, place: int, area: float, corrected: float) -> None:
    found = heart.models[0].partial_auc[place]
    assert (found.area.value, found.corrected.value) == pytest.approx((area, corrected), abs=1e-9)


# b <- (d$logistic - d$died)^2; c(mean(b), sd(b) / sqrt(500)); l <- -(y log(p) + (1 - y) log(1 - p)); the same of l
# sum(d$died) / sum(d$logistic); 1 - mean(b) / (0.276 * 0.724)
@pytest.mark.parametrize(
    ("place", "brier", "loss", "ratio", "scaled"),
    [
        (
            0, (0.15135977484438, 0.00967461147918), (0.4673244344062, 0.0263543568388), 1.001167913155, 0.242534556188,
        ),
        (
            1, (0.16589127829828, 0.00868970664328), (0.5009440718200, 0.0223697799758), 0.999452466624, 0.169813043987,
        ),
    ],
)  # fmt: skip
def test_proper_scores_and_observed_to_expected(
    heart: Evaluation,
    place: int,
    brier: tuple[float, float],
    loss: tuple[float, float],
    ratio: float,
    scaled: float,
) -> None:
    model = heart.models[place]
    assert with_error(model.brier) == pytest.approx((brier[0], brier[1] * PLUG_IN), abs=1e-12)
    assert with_error(model.log_loss) == pytest.approx((loss[0], loss[1] * PLUG_IN), abs=1e-12)
    assert model.observed_expected is not None
    assert model.scaled_brier is not None
    assert (model.observed_expected.value, model.scaled_brier.value) == pytest.approx((ratio, scaled), abs=1e-11)
    reach = Z * PLUG_IN * brier[1]
    assert ends(model.brier) == pytest.approx((brier[0] - reach, brier[0] + reach), abs=1e-11)


def test_paired_differences_of_brier_score_and_net_benefit(heart: Evaluation) -> None:
    # b <- (d$logistic - d$died)^2 - (d$age_only - d$died)^2; c(mean(b), sd(b) / sqrt(500))
    found = difference(heart, "brier")
    assert (found.difference, found.standard_error) == pytest.approx((-0.01453150345390, 0.00616044190411), abs=1e-12)
    # The same of d$died * q - (1 - d$died) * q * 0.3 / 0.7, with q the rows called positive
    found = difference(heart, "net_benefit", 0.3)
    assert (found.difference, found.standard_error) == pytest.approx(
        (0.0157142857142857, 0.0131838132566576), abs=1e-12
    )


def robust_errors(score: str, sex: str | None = None) -> tuple[float, float, float]:
    """Return the sandwich standard errors of joint intercept, slope and intercept: HC0 of statsmodels, n/(n-k)."""
    import pandas as pd
    import statsmodels.api as sm

    rows = pd.read_csv(HEART_ATTACK)
    rows = rows if sex is None else rows[rows["sex"] == sex]
    died = rows["died"].to_numpy(dtype=float)
    risk, n = rows[score].to_numpy(), len(rows)
    odds, family = np.log(risk / (1.0 - risk)), sm.families.Binomial()
    line = sm.GLM(died, sm.add_constant(odds), family=family).fit(cov_type="HC0", tol=1e-14).bse * (n / (n - 2)) ** 0.5
    large = (
        sm.GLM(died, np.ones(n), offset=odds, family=family).fit(cov_type="HC0", tol=1e-14).bse * (n / (n - 1)) ** 0.5
    )
    return float(line[0]), float(line[1]), float(large[0])


# lo <- qlogis(d$logistic); g <- glm(died ~ lo, binomial, d); coef(g)
# glm(died ~ 1, binomial, d, offset = lo). rms::val.prob(d$logistic, d$died) has the same Intercept and Slope.
@pytest.mark.parametrize(
    ("place", "score", "values"),
    [
        (0, "logistic", (-0.0777815284231, 0.8904435281002, 0.00223106661572)),
        (1, "age_only", (0.0375215363586, 1.0514891927709, -0.000894528242686)),
    ],
)
def test_calibration_lines_and_robust_intervals(
    heart: Evaluation, place: int, score: str, values: tuple[float, ...]
) -> None:
    found = heart.models[place].calibration
    assert found is not None
    estimates = (found.joint_intercept, found.slope, found.intercept)
    for estimate, value, error in zip(estimates, values, robust_errors(score), strict=True):
        expected = (value, error, value - Z * error, value + Z * error)
        assert (*with_error(estimate), *ends(estimate)) == pytest.approx(expected, abs=1e-7)


# d$lo <- qlogis(p); k <- quantile(sort(unique(d$lo)), seq(0, 1, len = 10), type = 7)
# g <- gam(died ~ s(lo, bs = "cr", k = 10), binomial, d, method = "REML", knots = list(lo = k),
#          control = gam.control(epsilon = 1e-12))
# e <- abs(fitted(g) - p); c(mean(e), quantile(e, c(0.5, 0.9), type = 2), max(e))
@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (0, (0.0151125790503, 0.0139998020037, 0.0315423824712, 0.0392934599798)),
        (1, (0.00582331911888, 0.00574512878484, 0.01030059125099, 0.01719667577512)),
    ],
)
def test_calibration_errors_of_the_penalised_spline(heart: Evaluation, place: int, expected: tuple[float, ...]) -> None:
    """mgcv stops its search for the penalty a little earlier, hence the tolerance."""
    found = heart.models[place].calibration
    assert found is not None
    errors = (found.integrated_calibration_index, found.e50, found.e90, found.emax)
    assert [each.value for each in errors] == pytest.approx(expected, rel=1e-3)


# s <- predict(loess(died ~ p, degree = 2, control = loess.control(surface = "direct"))); e <- abs(p - s)
# CalibrationCurves: Eavg <- mean(e), Emax <- max(e)
@pytest.mark.parametrize(
    ("score", "expected"),
    [("logistic", (0.0172202465210, 0.1085414467528)), ("age_only", (0.0147605958500, 0.0446623228430))],
)
def test_calibration_errors_of_loess(
    columns: dict[str, NDArray[np.float64]], score: str, expected: tuple[float, float]
) -> None:
    found = confide.metrics.calibration_errors(columns["died"], columns[score], smoother="loess")
    assert (found.ici, found.emax) == pytest.approx(expected, rel=1e-6)


# q <- p >= t; prop.test(tp, tp + fn, correct = FALSE) and so on for recall, specificity, precision, negative predictive
# value and accuracy; nb <- d$died * q - (1 - d$died) * q * t / (1 - t); c(mean(nb), sd(nb) / sqrt(500)).
# dcurves::dca has the same net benefit: tp / n - fp / n * t / (1 - t).
AT_THRESHOLDS: list[tuple[int, int, tuple[int, ...], list[tuple[float, float, float]], tuple[float, float]]] = [
    (
        0, 0, (127, 227, 11, 135),
        [
            (0.920289855072, 0.862904429207, 0.954910058633), (0.372928176796, 0.324691179851, 0.423833767823),
            (0.358757062147, 0.310555008750, 0.409991625702), (0.924657534247, 0.870129649141, 0.957411680047),
            (0.524000000000, 0.480208221091, 0.567425810567),
        ],
        (0.2035555555556, 0.0209096766427),
    ),
    (
        0, 1, (94, 87, 44, 275),
        [
            (0.681159420290, 0.599403003379, 0.753103241380), (0.759668508287, 0.713072722923, 0.800811079656),
            (0.519337016575, 0.446907348379, 0.590962943517), (0.862068965517, 0.819900309678, 0.895621175214),
            (0.738000000000, 0.697747083358, 0.774623730583),
        ],
        (0.1134285714286, 0.0203719493017),
    ),
    (
        1, 2, (40, 21, 98, 341),
        [
            (0.289855072464, 0.220665919456, 0.370426836623), (0.941988950276, 0.912948363836, 0.961747470342),
            (0.655737704918, 0.530497491406, 0.762524910397), (0.776765375854, 0.735506580065, 0.813222530906),
            (0.762000000000, 0.722763864779, 0.797240980819),
        ],
        (0.0380000000000, 0.0155433326665),
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def by_default() -> tuple[ModelEvaluation, ...]:
    return confide.evaluate(HEART_ATTACK, score=["logistic", "age_only"], thresholds=[0.1, 0.3, 0.5], **LABEL).models


@pytest.mark.parametrize(("model", "place", "cells", "shares", "benefit"), AT_THRESHOLDS)
def test_measures_at_thresholds(
    by_default: tuple[ModelEvaluation, ...],
    model: int,
    place: int,
    cells: tuple[int, ...],
    shares: list[tuple[float, float, float]],
    benefit: tuple[float, float],
) -> None:
    at = by_default[model].thresholds[place]
    kinds = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    assert tuple(getattr(at.matrix, kind) for kind in kinds) == cells
    names = ("recall", "specificity", "precision", "negative_predictive_value", "accuracy")
    for name, expected in zip(names, shares, strict=True):
        share = at.measures[name]
        assert (share.value, *ends(share)) == pytest.approx(expected, abs=1e-11), name
        assert share.known_interval.method == "Wilson"
    assert with_error(at.measures["net_benefit"]) == pytest.approx((benefit[0], benefit[1] * PLUG_IN), abs=1e-12)


def test_youdens_threshold(heart: Evaluation) -> None:
    # coords(r, "best", best.method = "youden", ret = c("threshold", "specificity", "sensitivity"))
    for_r = {"specificity": 0.701657458563536, "recall": 0.782608695652174}
    at = heart.models[0].youden.at
    assert {name: at.measures[name].value for name in for_r} == pytest.approx(for_r, abs=1e-12)
    assert at.threshold == pytest.approx(0.249036, abs=1e-3)


# d$cl <- i %% 100; s <- svydesign(ids = ~cl, data = d, weights = ~1); b, q and nb as above, at 0.3
# m <- svymean(~b, s); c(coef(m), SE(m), confint(m, df = 99)), and of nb
# p <- svyciprop(~q, subset(s, died == 1), method = "logit", df = 99); c(p, SE(p), confint(p))
# svyciprop(~I(1 - q), subset(s, died == 0)); svyciprop(~died, subset(s, q == 1))
# g <- svyglm(died ~ lo, s, family = quasibinomial()); confint(g, ddf = 99); svyglm(died ~ 1 + offset(lo), ...)
# svyratio(~died, ~logistic, s)
def test_cluster_robust_intervals(clustered: Evaluation) -> None:
    model = clustered.models[0]
    calibration, measures = model.calibration, model.thresholds[0].measures
    assert calibration is not None
    expected = {
        "brier": (model.brier, (0.1513597748, 0.00880906596544, 0.13388067682811, 0.16883887286065)),
        "net benefit": (
            measures["net_benefit"],
            (0.1134285714285714, 0.0203917720198633, 0.0729668717138730, 0.1538902711432698),
        ),
        "recall": (measures["recall"], (0.68115942029, 0.0391514328547, 0.5990261017115, 0.7533949378188)),
        "specificity": (
            measures["specificity"],
            (0.7596685082868132, 0.0199194329195358, 0.7179622834451646, 0.7969516249308501),
        ),
        "precision": (
            measures["precision"],
            (0.5193370165744036, 0.0361188677213921, 0.4477629511576879, 0.5901261146760076),
        ),
        "slope": (calibration.slope, (0.8904435281002, 0.104955930167, 0.682188192293, 1.098698863907)),
        "joint intercept": (
            calibration.joint_intercept,
            (-0.0777815284231, 0.143566484012, -0.362648579680, 0.207085522834),
        ),
    }
    for name, (estimate, numbers) in expected.items():
        assert (*with_error(estimate), *ends(estimate)) == pytest.approx(numbers, abs=1e-8), name
    assert with_error(calibration.intercept) == pytest.approx((0.00223106661572, 0.114733411908), abs=1e-8)
    assert with_error(model.observed_expected) == pytest.approx((1.0011679131546, 0.0600820058477), abs=1e-10)


def test_cluster_robust_differences(clustered: Evaluation) -> None:
    # svymean of the difference in squared errors, and of that in net benefit
    for metric, threshold, expected in (
        ("brier", None, (-0.01453150345390200, 0.00660299258921526)),
        ("net_benefit", 0.3, (0.0157142857142857, 0.0135685802433657)),
    ):
        found = difference(clustered, metric, threshold)
        assert (found.difference, found.standard_error) == pytest.approx(expected, abs=1e-12)


def test_sampling_weights(columns: dict[str, NDArray[np.float64]]) -> None:
    # d$w <- 1 + i %% 7; s <- svydesign(ids = ~1, data = d, weights = ~w); m <- svymean(~b, s)
    # c(coef(m), SE(m), confint(m, df = 499)); summary(svyglm(died ~ lo, s, family = quasibinomial()))$coefficients
    weights = 1.0 + np.arange(500) % 7
    (model,) = confide.evaluate(columns["died"], columns["logistic"], survey_weights=weights, replicates=0).models
    brier = (0.1585091433190782, 0.0112616804277051, 0.1363829887908552, 0.1806352978473012)
    assert (*with_error(model.brier), *ends(model.brier)) == pytest.approx(brier, abs=1e-12)
    assert model.calibration is not None
    assert with_error(model.calibration.slope) == pytest.approx((0.822711363480325, 0.101938960527101), abs=1e-8)
    assert with_error(model.calibration.joint_intercept) == pytest.approx(
        (-0.118622845040301, 0.151935346361044), abs=1e-8
    )


def test_groups_by_sex(heart: Evaluation) -> None:
    """AUC by `roc.test(a, b, paired = FALSE)`: its statistic, difference over standard error. R takes Student's t."""
    female, male = (group.models[0] for group in heart.groups)
    assert with_error(female.auc) == pytest.approx((0.7265670258371, 0.0383568862535), abs=1e-12)
    assert with_error(male.auc) == pytest.approx((0.8528, 0.0253640171829), abs=1e-12)
    entries = {(each.metric, each.threshold): each for each in heart.groups[0].differences if each.first == "logistic"}
    auc = entries["auc", None]
    assert auc.difference == pytest.approx(0.7265670258371 - 0.8528, abs=1e-12)
    assert ends(auc) == pytest.approx((auc.difference - Z * 0.0459846071063, auc.difference + Z * 0.0459846071063))
    assert auc.z == pytest.approx(-2.7451136827417, abs=1e-9)
    # mean(b), sd(b) / sqrt(n), and glm(died ~ lo, binomial) of each sex
    brier = entries["brier", None]
    assert brier.difference == pytest.approx(0.1916100094353800 - 0.1245262851170467, abs=1e-12)
    errors = (0.0162794437265678 * (199 / 200) ** 0.5, 0.0116932615361542 * (299 / 300) ** 0.5)
    assert brier.standard_error == pytest.approx(np.hypot(*errors), abs=1e-12)
    slope = entries["calibration_slope", None]
    assert slope.difference == pytest.approx(0.618091555754895 - 1.11536331633854, abs=1e-8)
    of_slopes = [robust_errors("logistic", sex)[1] for sex in ("female", "male")]
    assert slope.standard_error == pytest.approx(math.hypot(*of_slopes), abs=1e-7)


def test_shares_by_sex_have_newcombes_interval() -> None:
    """`prop.test(x, n, correct = FALSE)$conf.int` of each sex, and Newcombe's formula for their difference."""
    evaluation = confide.evaluate(HEART_ATTACK, score="logistic", group="sex", thresholds=0.3, **LABEL)
    entries = {each.metric: each for each in evaluation.groups[0].differences}
    for metric, female, male in (
        ("recall", (44 / 63, 0.576396276864404, 0.797623088378115), (50 / 75, 0.554174261141486, 0.762917791364245)),
        (
            "specificity",
            (88 / 137, 0.559199164609019, 0.717707935946159),
            (187 / 225, 0.776694477367816, 0.874411317744017),
        ),
    ):
        centre = female[0] - male[0]
        below = np.hypot(female[0] - female[1], male[2] - male[0])
        above = np.hypot(female[2] - female[0], male[0] - male[1])
        assert entries[metric].difference == pytest.approx(centre, abs=1e-12)
        assert ends(entries[metric]) == pytest.approx((centre - below, centre + above), abs=1e-11)


def test_subarachnoid_haemorrhage(shared_data: Path) -> None:
    """Scores that are no probabilities, with labels in words: pROC's aSAH."""
    import gzip
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "asah.csv")
        with gzip.open(shared_data / "aSAH.csv.gz", "rb") as packed, file.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        found = confide.evaluate(
            file,
            score=["s100b", "ndka", "wfns"],
            positive="Poor",
            interval="plain",
            specificity=(0.9, 1.0),
            label="outcome",
            replicates=0,
        )
    # r <- roc(aSAH$outcome, aSAH$s100b); c(auc(r), sqrt(var(r)), ci.auc(r)); auc(r, partial.auc = c(1, 0.9))
    s100b, _, wfns = found.models
    expected = (0.7313685636856369, 0.0516592920699891, 0.6301182117616226, 0.8326189156096511)
    assert (*with_error(s100b.auc), *ends(s100b.auc)) == pytest.approx(expected, abs=1e-12)
    assert s100b.partial_auc[0].area.value == pytest.approx(0.0327574525745, abs=1e-12)
    assert wfns.partial_auc[0].corrected.value == pytest.approx(0.649693339039, abs=1e-11)
    # roc.test(s100b, ndka), roc.test(wfns, s100b)
    aucs = {(each.first, each.second): each for each in found.comparisons if each.metric == "auc"}
    ndka = aucs["s100b", "ndka"]
    assert (ndka.z, ndka.p_value) == pytest.approx((1.390770025735577, 0.164295175223054), abs=1e-12)
    assert -aucs["s100b", "wfns"].z == pytest.approx(2.2089835914409077, abs=1e-12)
    assert s100b.brier is None
    assert s100b.calibration is None
