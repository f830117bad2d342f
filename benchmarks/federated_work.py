"""What a site does with a question about very many rows, beside pandas and scikit-learn on the same file.

Each line is a process of its own, as a run has one at each site: imports count. Run as a program this module does the
work of one line; so nothing is imported above that takes time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.timing import seconds, table

ROWS = 1_000_000
TARGET = 10.0
PEER = "pandas, scikit-learn"
MODES = ("disclosure-control", "secure-sum", "private")
FEATURES = tuple(f"x{number}" for number in range(10))
LABEL, SCORE = "died", "risk"
SITES = ("north", "south", "west")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A file of rows, who works on it (a mode, or the peer), and the model's file if there is no score column."""

    data: str
    way: str
    model_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Seconds until all is imported, for each round (the peer has one) and of the processors; what was found.

    `reading` is how long the file takes that was read before: for text, to find the types and the values.
    """

    imports: float
    first: float
    second: float
    processors: float
    reading: float
    megabytes: float
    auc: float

    @property
    def all(self) -> float:
        return self.imports + self.first + self.second


def print_work(*, quick: bool) -> int:
    """Print what each mode takes on each file; return how many take too long."""
    rows, repetitions = (500, 1) if quick else (ROWS, 2)
    print(f"a site's work on {rows:,} rows with {len(FEATURES)} features, from request to reply: the best of")
    print(f"{repetitions} processes of its own each, imports included; the peer reads the file, then AUC, ROC curve,")
    print("Brier score and calibration curve. 'reading' is for the file alone, once more, when all is imported")
    lines, slowest, missed = [], {}, 0
    with TemporaryDirectory(prefix="confide-") as folder:
        kinds = write_files(Path(folder), rows)
        for name, data, model_file in (kinds[0], kinds[-1]) if quick else kinds:
            found = _best(data, model_file, repetitions, quick=quick)
            theirs = found.pop(PEER)
            lines.append(_line(f"{name}, {PEER}", theirs, None))
            slowest[name] = max(found.values(), key=lambda taken: taken.all)
            for way, taken in found.items():
                assert abs(taken.auc - theirs.auc) < 1e-9
                missed += taken.all > TARGET
                lines.append(_line(f"{name}, {way}", taken, theirs))
    head = ("file, mode", "imports", "round 1", "round 2", "in all", "CPU", "reading", "memory", "ratio", "target", "")
    table(head, lines)
    shares = [f"{100 * taken.reading / taken.all:.0f} % on {name}" for name, taken in slowest.items()]
    print(f"of the slowest mode's time, reading the file takes {', '.join(shares)}")
    return missed


def _best(data: str, model_file: str | None, repetitions: int, *, quick: bool) -> dict[str, Taken]:
    """The fastest process of each way, all taking turns."""
    ways = {way: Work(data=data, way=way, model_file=model_file) for way in (PEER, *MODES)}
    turns = [
        {way: done(work) if quick else _in_process(work) for way, work in ways.items()} for _ in range(repetitions)
    ]
    return {way: min((turn[way] for turn in turns), key=lambda taken: taken.all) for way in ways}


def _line(name: str, taken: Taken, theirs: Taken | None) -> Sequence[str]:
    times = (taken.imports, taken.first, taken.second, taken.all, taken.processors, taken.reading)
    against = ("", "", "")
    if theirs is not None:
        against = (f"{taken.all / theirs.all:.1f}", f"{TARGET:g} s", "MISS" if taken.all > TARGET else "")
    return (name, *map(seconds, times), f"{taken.megabytes:.0f} MB", *against)


def write_files(folder: Path, rows: int) -> list[tuple[str, str, str | None]]:
    """The same rows as CSV and as Parquet, and a model of them: the name, data and model file of each kind of site."""
    import joblib
    import numpy as np
    import polars as pl
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, len(FEATURES))).round(3)
    weights = rng.normal(0.0, 0.4, len(FEATURES))
    risk = 1.0 / (1.0 + np.exp(1.0 - features @ weights))
    labels = (rng.random(rows) < risk).astype(np.int64)
    named = {name: features[:, place] for place, name in enumerate(FEATURES)}
    frame = pl.DataFrame({LABEL: labels, SCORE: risk**1.2, **named})
    frame.write_csv(folder / "rows.csv")
    frame.write_parquet(folder / "rows.parquet")
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(frame.head(10_000).select(FEATURES).to_pandas(), labels[:10_000])
    joblib.dump(model, folder / "model.joblib")
    kinds = [(ending, str(folder / f"rows.{ending}")) for ending in ("csv", "parquet")]
    scored = str(folder / "model.joblib")
    return [
        *((f"{ending}, score", data, None) for ending, data in kinds),
        *((f"{ending}, model", data, scored) for ending, data in kinds),
    ]


def _in_process(work: Work) -> Taken:
    given = json.dumps(asdict(work))
    finished = subprocess.run(  # noqa: S603
        [sys.executable, "-m", __name__, given], stdout=subprocess.PIPE, text=True, check=True, timeout=600
    )
    return Taken(**json.loads(finished.stdout))


def done(work: Work) -> Taken:
    """Do the work here."""
    return _peer_work(work) if work.way == PEER else _site_work(work)


def _site_work(work: Work) -> Taken:
    clock = _Clock()
    from benchmarks import federated_sites as sites
    from confide.federation.protocol import ANSWER, OFFER
    from confide.federation.question import PROTOCOL, Question
    from confide.federation.site.config import SiteModel
    from confide.metrics.ranking import auc_score
    from confide.sources.tables import as_table

    imports, loaded = clock.lap(), clock.processors()
    ours, *peers = SITES
    given: dict[str, Any] = {"score": SCORE}
    if work.model_file is not None:
        given = {"features": FEATURES, "model_file": work.model_file}
    question = Question.checked(
        study="benchmark",
        model=sites.MODEL,
        mode=work.way,
        sites=SITES,
        epsilon=1 if work.way == "private" else None,
    )
    with TemporaryDirectory(prefix="confide-") as folder:
        site = sites.open_site(
            Path(folder) / "site", sites.identity(ours), SiteModel(data=work.data, label=LABEL, **given)
        )
        asked = {"protocol": PROTOCOL, "session": sites.SESSION}
        offers = [offer.to_dict() for offer in sites.offers_of(peers, question.digest())]
        clock.lap()
        spared = clock.processors() - loaded
        offered = site.reply(OFFER, {**asked, "question": question.to_dict()})
        first = clock.lap()
        answered = site.reply(ANSWER, {**asked, "offers": [offered["offer"], *offers]})
        second = clock.lap()
        processors = clock.processors() - spared
        assert answered["state"] == "answered"
        as_table(work.data)
        reading = clock.lap()
        auc = auc_score(site.config.counts(sites.MODEL))
    return Taken(
        imports=imports,
        first=first,
        second=second,
        processors=processors,
        reading=reading,
        megabytes=_most_megabytes(),
        auc=auc,
    )


def _peer_work(work: Work) -> Taken:
    clock = _Clock()
    import pandas as pd
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve

    imports = clock.lap()
    columns = [LABEL, SCORE] if work.model_file is None else [LABEL, *FEATURES]

    def read() -> Any:
        if work.data.endswith(".csv"):
            return pd.read_csv(work.data, usecols=columns)
        return pd.read_parquet(work.data, columns=columns)

    frame = read()
    labels = frame[LABEL].to_numpy()
    if work.model_file is None:
        scores = frame[SCORE].to_numpy()
    else:
        import joblib

        scores = joblib.load(work.model_file).predict_proba(frame[list(FEATURES)])[:, 1]  # written above
    auc = roc_auc_score(labels, scores)
    roc_curve(labels, scores)
    brier_score_loss(labels, scores)
    calibration_curve(labels, scores, n_bins=10)
    first, processors = clock.lap(), clock.processors()
    read()
    return Taken(
        imports=imports,
        first=first,
        second=0.0,
        processors=processors,
        reading=clock.lap(),
        megabytes=_most_megabytes(),
        auc=float(auc),
    )


class _Clock:
    """Seconds since the last look, and of the processors since the beginning."""

    def __init__(self) -> None:
        self._last, self._began = time.perf_counter(), time.process_time()

    def lap(self) -> float:
        before, self._last = self._last, time.perf_counter()
        return self._last - before

    def processors(self) -> float:
        return time.process_time() - self._began


def _most_megabytes() -> float:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    print(json.dumps(asdict(done(Work(**json.loads(sys.argv[1]))))))
