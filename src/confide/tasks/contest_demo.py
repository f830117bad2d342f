"""A whole contest on this machine: simulated teams, an attacker, the board and the final.

Labels are fair coins, so that nobody knows anything about one beforehand. The bound on an attacker's success then holds
for the share of labels that are right. Its steps are `plan_demo`, `make_demo_contest`, `team_entries`, `attack_server`
and `compute_final`; whoever runs them starts the server and gives a function that submits to it.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.errors import ParameterError
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import checked_epsilon
from confide.tasks.contest_demo_attacks import AttackResult
from confide.tasks.federation_folders import require_new_folder

if TYPE_CHECKING:
    from confide.client.results import Leaderboard
    from confide.contest.final_result import FinalResult

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
    from confide.contest.bundle import ServerBundle
    from confide.tasks.contest_new import make_contest
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
    from confide.tasks.contest_publish import publish_final

    done = publish_final(made.demo.holder, made.demo.labels_file, finalists, account=ACCOUNT, ledger=made.demo.ledger)
    return done.result


def submission_limit(rows: int) -> int:
    """Return a limit that stops none of the attacks."""
    return 8 * rows + 1000
