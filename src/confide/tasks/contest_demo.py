"""A whole contest on this machine: simulated teams, an attacker, the board and the final.

Labels are fair coins, so that nobody knows anything about one beforehand. The bound on an attacker's success then holds
for the share of labels that are right. Its steps are `plan_demo`, `make_demo_contest`, `team_entries`, `attack_server`
and `compute_final`; whoever runs them starts the server and gives a function that submits to it.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.attacks.contest.ladder import climb, ladder
from confide.attacks.contest.oracle import UNKNOWN, Oracle, Recovered
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.contest.rehearsal import Ask, BestSoFar, repeat_question
from confide.attacks.disclosure import Publication
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import checked_epsilon
from confide.tasks.federation import require_new_folder

if TYPE_CHECKING:
    from confide.contest.client.results import Leaderboard
    from confide.contest.final_result import FinalResult


REPEATED_ROWS, REPEATS = 30, 3
FALSE_ALARM = 1e-6
"""Probability that a sound server is called unsound by one attack's luck."""

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """Labels that an attack got right on the server, and on an oracle that answers exactly.

    `rows` labels were guessed; a label that the attacker does not name counts half. `luck` is the probability that an
    attacker at the bound gets as many right.
    """

    name: str
    rows: int
    submissions: int
    right: float
    luck: float
    exact_right: float
    exact_submissions: int

    @property
    def share(self) -> float:
        """Return the share of labels that are right on the server."""
        return self.right / self.rows

    @property
    def exact_share(self) -> float:
        """Return the share of labels that are right with exact answers."""
        return self.exact_right / self.rows

    @property
    def beyond_bound(self) -> bool:
        """Return whether more labels are right than luck explains; a false alarm has a probability of 1e-6."""
        return self.luck < FALSE_ALARM

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "rows": self.rows,
            "submissions": self.submissions,
            "share": self.share,
            "luck": self.luck,
            "beyond_bound": self.beyond_bound,
            "exact_share": self.exact_share,
            "exact_submissions": self.exact_submissions,
        }


def planned_submissions(rows: int) -> int:
    """Return the submissions that all attacks on the server take."""
    return _orthogonal(rows) + rows + 1 + 2 * min(REPEATED_ROWS, rows) * REPEATS


def attack_server(
    ask: Ask,
    labels: NDArray[np.bool_],
    *,
    metric: str,
    epsilon: Fraction,
    bound: float,
    rng: np.random.Generator,
    begin: Step = lambda name: None,
) -> tuple[AttackResult, ...]:
    """Run all attacks on the labels of the rows that a server answers about.

    `ask` submits scores of these rows and returns the server's answer. `labels` are the true ones; they are used to
    count, and by the oracle with exact answers beside the server. `bound` is the most that one may be sure of a label.
    """
    judge = _Judge(labels, bound)
    begin("reading labels from answers")
    published = Publication(metric=metric, epsilon=epsilon)
    size = _orthogonal(labels.size)
    served = recover_labels(Oracle(ask, rows=labels.size, published=published, limit=size), budget=size, rng=rng)
    exact = recover_labels(Oracle.of_labels(labels, metric, limit=size), budget=size, rng=rng)
    results = [judge.compare("recover_labels", served, exact)]
    begin("climbing the board")
    most = labels.size + 1
    served = climb(BestSoFar(ask, rows=labels.size, limit=most), queries=most, rng=rng)
    exact = climb(ladder(labels, "accuracy", step=f"{0.5 / labels.size:.12f}", limit=most), queries=most, rng=rng)
    results.append(judge.compare("climb", served, exact))
    begin("asking the same question again and again")
    results.append(_repeat_queries(judge, ask, metric, rng))
    return tuple(results)


@dataclass(frozen=True, slots=True, repr=False)
class _Judge:
    """Counter of right labels."""

    labels: NDArray[np.bool_]
    bound: float

    def right(self, recovered: Recovered) -> float:
        given = recovered.labels != UNKNOWN
        return float((recovered.labels == self.labels)[given].sum()) + 0.5 * float((~given).sum())

    def luck(self, right: float, rows: int) -> float:
        """Return the probability that a binomial with the bound's probability is at least as large.

        Given all answers, labels that are fair coins are independent, and no guess of one is right with a probability
        above the bound. So the number of right ones is at most as large as this binomial.
        """
        from scipy.special import bdtrc

        least = int(np.ceil(right))
        return 1.0 if least < 1 else float(bdtrc(least - 1, rows, self.bound))

    def compare(self, name: str, served: Recovered, exact: Recovered) -> AttackResult:
        right, rows = self.right(served), self.labels.size
        return AttackResult(
            name=name,
            rows=rows,
            submissions=served.queries,
            right=right,
            luck=self.luck(right, rows),
            exact_right=self.right(exact),
            exact_submissions=exact.queries,
        )


def _repeat_queries(judge: _Judge, ask: Ask, metric: str, rng: np.random.Generator) -> AttackResult:
    """Ask about some rows many times, in other words each time, and take means."""
    rows = judge.labels.size
    chosen = rng.choice(rows, min(REPEATED_ROWS, rows), replace=False).tolist()
    exact_oracle = Oracle.of_labels(judge.labels, metric)

    def exactly(scores: Any) -> float:
        return float(exact_oracle.ask(scores))

    def right(answer: Ask, times: int) -> float:
        found = [repeat_question(answer, rows=rows, row=row, times=times, rng=rng) for row in chosen]
        return sum(0.5 if one.label is None else float(one.label == int(judge.labels[one.row])) for one in found)

    served = right(ask, REPEATS)
    return AttackResult(
        name="repeat one question",
        rows=len(chosen),
        submissions=2 * REPEATS * len(chosen),
        right=served,
        luck=judge.luck(served, len(chosen)),
        exact_right=right(exactly, 1),
        exact_submissions=2 * len(chosen),
    )


def _orthogonal(rows: int) -> int:
    """Return a whole turn of orthogonal submissions: the least power of two above the rows."""
    return 1 << int(rows).bit_length()


NAME = "demo"
ACCOUNT = "demo-contest"
METRIC = "auc"
PUBLIC = Fraction(2, 5)
FINAL_EPSILON, FINAL_DELTA = Fraction(1), Fraction(1, 10**6)
TEAMS = ("Anning", "Bernoulli", "Curie", "Daly", "Easley", "Franklin", "Germain", "Herschel", "Ibn Sina", "Johnson")
ATTACKER = "Mallory"
FEWEST_ROWS, MOST_ROWS = 200, 20_000

_ATTEMPTS = 6  # submissions of each team
_QUALITY = (0.62, 0.84)  # AUC of the first attempt of the weakest team, and of the last one of the best


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestDemo:
    """A demonstration whose parameters were checked."""

    folder: Path
    rows: int
    epsilon: Fraction
    seed: int
    temporary: bool

    @property
    def labels_file(self) -> Path:
        """Return the holder's file of labels."""
        return self.folder / "labels.csv"

    @property
    def ledger(self) -> Path:
        """Return the holder's ledger."""
        return self.folder / "ledger.sqlite"

    @property
    def home(self) -> Path:
        """Return the server's home folder."""
        return self.folder / "oracle"

    @property
    def bundle(self) -> Path:
        """Return the file that the holder gives to the server."""
        return self.folder / NAME / "server.zip"

    @property
    def holder(self) -> Path:
        """Return the folder that stays with the holder."""
        return self.folder / NAME / "holder"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoContest:
    """The demonstration's contest on disk, with what only the demonstration may see: its labels."""

    demo: ContestDemo
    terms: ContestTerms
    ids: tuple[str, ...]
    labels: NDArray[np.bool_] = field(repr=False)
    public: NDArray[np.int64] = field(repr=False)

    @property
    def public_labels(self) -> NDArray[np.bool_]:
        """Return the labels that the board is computed from, before masking."""
        return np.asarray(self.labels[self.public])

    def submission(self, scores: FloatArray) -> Mapping[str, float]:
        """Return scores of all rows as a submission."""
        return dict(zip(self.ids, scores.tolist(), strict=True))

    def on_all_rows(self, scores: FloatArray) -> FloatArray:
        """Return scores of the public rows as scores of all rows; the others do not count for the board."""
        every = np.full(len(self.ids), 0.5)
        every[self.public] = scores
        return every


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOutcome:
    """Result of a demonstration: the board, the attacks, the final as plain data, and the time taken."""

    made: DemoContest
    board: Leaderboard
    attacks: tuple[AttackResult, ...]
    final: Mapping[str, Any]
    true_auc: Mapping[str, float]
    submissions: int
    seconds: float

    @property
    def bound(self) -> float:
        """Return the most that anyone can become sure of one public label."""
        return success_bound(float(self.made.demo.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data in the published schema."""
        return {
            "schema": "confide.contest-demo/1",
            "folder": str(self.made.demo.folder),
            "terms": self.made.terms.to_dict(),
            "bound": self.bound,
            "board": self.board.to_dict(),
            "attacks": [one.to_dict() for one in self.attacks],
            "final": dict(self.final),
            "true_auc": dict(self.true_auc),
            "submissions": self.submissions,
            "seconds": round(self.seconds, 1),
        }


def plan_demo(
    folder: str | Path | None = None, *, rows: int = 2000, epsilon: object = "2", seed: int | None = None
) -> ContestDemo:
    """Check the parameters. The folder, a temporary one unless given, is all that is made."""
    if isinstance(rows, bool) or not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise ParameterError(f"`rows` must lie between {FEWEST_ROWS} and {MOST_ROWS:,}; got {rows}")
    price = checked_epsilon(epsilon)
    if folder is not None:
        require_new_folder(Path(folder))
    place = Path(tempfile.mkdtemp(prefix="confide-contest-") if folder is None else folder)
    drawn = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    return ContestDemo(folder=place, rows=rows, epsilon=price, seed=drawn, temporary=folder is None)


def make_demo_contest(demo: ContestDemo) -> DemoContest:
    """Draw labels, open an account at the holder's ledger, and make the contest."""
    from confide.contest.bundles import ServerBundle
    from confide.tasks.contest import make_contest
    from confide.tasks.ledger import open_account

    demo.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    labels = np.random.default_rng([demo.seed, 0]).random(demo.rows) < 0.5
    width = len(str(demo.rows))
    ids = tuple(f"p{row:0{width}}" for row in range(1, demo.rows + 1))
    with demo.labels_file.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "died"), *zip(ids, labels.astype(int).tolist(), strict=True)])
    demo.labels_file.chmod(0o600)
    open_account(
        ACCOUNT,
        epsilon=max(demo.epsilon, FINAL_EPSILON),  # board and final read different rows
        delta=FINAL_DELTA,
        neighbours="label-only",
        label="died",
        data=demo.labels_file,
        ledger=demo.ledger,
    )
    most = submission_limit(demo.rows)
    make_contest(
        NAME,
        demo.labels_file,
        id="id",
        label="died",
        metric=METRIC,
        public=PUBLIC,
        epsilon=demo.epsilon,
        final_epsilon=FINAL_EPSILON,
        final_delta=FINAL_DELTA,
        title="Demonstration: who predicts best?",
        daily_limit=most,
        total_limit=most,
        account=ACCOUNT,
        ledger=demo.ledger,
        out=demo.folder,
    )
    bundle = ServerBundle.from_bytes(demo.bundle.read_bytes())
    by_id = dict(zip(ids, labels.tolist(), strict=True))
    return DemoContest(
        demo=demo,
        terms=bundle.terms,
        ids=bundle.template.ids,
        labels=np.array([by_id[one] for one in bundle.template.ids]),
        public=bundle.public,
    )


def team_entries(made: DemoContest) -> Mapping[str, tuple[FloatArray, ...]]:
    """Return the scores of each team's attempts, which get better.

    A team's score is normal with mean `d` for positives and 0 for negatives, so its AUC is `Phi(d / sqrt(2))`; teams
    share half of the noise, as models of the same data do.
    """
    from scipy.special import expit, ndtri

    rng = np.random.default_rng([made.demo.seed, 1])
    shared = rng.normal(size=made.labels.size)
    best = np.linspace(_QUALITY[0] + 0.04, _QUALITY[1], len(TEAMS))
    entries: dict[str, tuple[FloatArray, ...]] = {}
    for team, quality in zip(rng.permutation(TEAMS).tolist(), best, strict=True):
        attempts = np.linspace(quality - 0.04, quality, _ATTEMPTS)
        own = rng.normal(size=made.labels.size)
        entries[team] = tuple(
            np.asarray(
                expit(
                    np.sqrt(2.0) * ndtri(auc) * (made.labels - 0.5)
                    + np.sqrt(0.5) * shared
                    + np.sqrt(0.4) * own
                    + np.sqrt(0.1) * rng.normal(size=made.labels.size)
                )
            )
            for auc in attempts
        )
    return entries


def true_auc(made: DemoContest, scores: FloatArray) -> float:
    """Return the exact AUC on all rows, which only the demonstration can see."""
    from confide.metrics.ranking import auc_score

    return float(auc_score(made.labels, scores))


def compute_final(made: DemoContest, finalists: Path) -> FinalResult:
    """Compute the final where the labels are, and charge the holder's ledger."""
    from confide.tasks.contest import publish_final

    done = publish_final(made.demo.holder, made.demo.labels_file, finalists, account=ACCOUNT, ledger=made.demo.ledger)
    return done.result


def submission_limit(rows: int) -> int:
    """Return a limit that stops none of the attacks."""
    return 8 * rows + 1000
