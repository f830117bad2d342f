"""Leaderboards: entries scored, the best of each participant, compared in pairs.

A board is computed in a thread, from influence files, and kept. Readers get the kept board. It is computed again when
there is a new submission, so that nobody sees a board that lacks what was scored more than `seconds` ago; a board that
takes long is computed for a third of the time at most. If it cannot be computed, readers get the last board, which says
that it is old, and it is tried again after a pause that doubles.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, func, select

from confide.contest.board import (
    Board,
    Covariance,
    IndependentValues,
    InfluenceCovariance,
    MatrixCovariance,
    Standing,
    influence_covariance,
    make_board,
)
from confide.contest.bundles import ServerBundle
from confide.contest.estimators import calibration_bins, score_entry
from confide.contest.ranks import ranges
from confide.contest.server.clock import now
from confide.contest.server.contests import LoadedContest
from confide.contest.server.database import MEMBERS, SUBMISSIONS, Database
from confide.contest.server.home import Home, load_scores, map_influences, store
from confide.contest.server.models import BoardModel
from confide.contest.server.problems import LOG, Kind, Refused, place_of
from confide.counts import FloatArray
from confide.intervals.interval import Interval


@dataclass(frozen=True, kw_only=True, repr=False)
class Scored:
    """Score of an entry.

    `influence` is that of each public row on the value, from which entries are compared in pairs; None if entries
    are answered one by one.
    """

    value: float
    goodness: float
    standard_error: float
    detail: dict[str, Any]
    influence: NDArray[np.float32] | None


Scorer = Callable[[FloatArray], Scored]
"""Function from the scores of all rows of the template to the score of an entry."""


def masked_scorer(bundle: ServerBundle) -> Scorer:
    """Return the scorer of a masked contest. What it computes is post-processing of the masked labels."""
    terms, labels, public = bundle.terms, bundle.masked, bundle.public
    assert labels is not None  # noqa: S101  # a bundle of a masked contest has them

    def score(scores: FloatArray) -> Scored:
        own = scores[public]
        found = score_entry(terms.metric, own, labels, level=terms.level)
        detail: dict[str, Any] = {"sample": found.sample.to_dict(), "population": found.population.to_dict()}
        if terms.metric.kind.probabilities:
            detail["calibration"] = [one.to_dict() for one in calibration_bins(own, labels, level=terms.level)]
        return Scored(
            value=found.value,
            goodness=terms.metric.goodness(found.value),
            standard_error=found.standard_error,
            detail=detail,
            influence=found.influence.astype("<f4"),
        )

    return score


_MATRIX = 4_096
"""Submissions up to which the covariance is kept from one board to the next: 128 MiB. That of more is not kept."""

_SHARE = 3
"""A board is at least so many times as old as it took to compute, before it is computed again."""

_LONGEST_PAUSE = 60.0
"""Seconds between attempts to compute a board that fails again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """Best submission of a participant, and how many the participant has."""

    member: int
    participant: str
    submission: str
    digest: str
    value: float
    goodness: float
    standard_error: float
    detail: str
    submissions: int

    def standing(self) -> Standing:
        """Return the submission as a line of a board that has no ranks yet."""
        detail = json.loads(self.detail)
        return Standing(
            name=self.participant,
            submission=self.submission,
            value=self.value,
            sample=Interval(**detail["sample"]),
            population=Interval(**detail["population"]),
            submissions=self.submissions,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A computed board, also as the bytes of its JSON.

    `late` marks the last board where a newer one could not be computed. `seconds` is the time that it took.
    """

    board: Board
    json: bytes
    etag: str
    version: int
    started: float
    seconds: float
    late: bool = False


@dataclass(repr=False)
class _Kept:
    """What is kept of a contest: the newest board, the covariance of its entries, and failures to make a newer one."""

    version: int = 0
    snapshot: Snapshot | None = None
    digests: tuple[str, ...] = ()
    covariance: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    failures: int = 0
    retry_at: float = 0.0

    def fresh(self, oldest: float) -> Snapshot | None:
        """Return the newest board if it lacks nothing, or is young enough; None if it must be computed."""
        snapshot = self.snapshot
        if snapshot is None:
            return None
        young = time.monotonic() - snapshot.started < max(oldest, _SHARE * snapshot.seconds)
        return snapshot if snapshot.version == self.version or young else None


class Boards:
    """Leaderboards of all contests."""

    def __init__(
        self,
        *,
        home: Home,
        database: Database,
        contests: Mapping[str, LoadedContest],
        scorers: Mapping[str, Scorer],
        seconds: float,
    ) -> None:
        self._home = home
        self._database = database
        self._contests = contests
        self._scorers = scorers
        self._seconds = seconds
        self._kept = {name: _Kept() for name in contests}
        self._threads = anyio.CapacityLimiter(1)

    def mark(self, contest: str) -> None:
        """Note that a contest has a new submission. Called by worker threads."""
        self._kept[contest].version += 1

    async def current(self, contest: str) -> Snapshot:
        """Return a board that lacks nothing scored more than `seconds` ago, or else the last one, marked as late."""
        fresh = self._kept[contest].fresh(self._seconds)
        return await self._refreshed(contest, self._seconds) if fresh is None else fresh

    async def refresh(self) -> None:
        """Compute boards again, as long as the server runs, before a reader has to wait for one."""
        while True:
            await anyio.sleep(self._seconds / 2.0)
            for name, kept in self._kept.items():
                if kept.snapshot is not None:
                    await self._refreshed(name, self._seconds / 2.0)

    async def _refreshed(self, contest: str, oldest: float) -> Snapshot:
        """Compute a board, unless a fresh one is there or the last attempt failed a moment ago."""
        kept = self._kept[contest]
        async with kept.lock:
            if (fresh := kept.fresh(oldest)) is not None:
                return fresh
            if time.monotonic() >= kept.retry_at:
                try:
                    kept.snapshot = await anyio.to_thread.run_sync(self._compute, contest, limiter=self._threads)
                except Exception as error:
                    self._note_failure(contest, error)
                else:
                    kept.failures = 0
                    return kept.snapshot
            if kept.snapshot is None:
                raise Refused(
                    Kind.BUSY,
                    "the board cannot be computed now",
                    "ask again in a minute; the server keeps trying",
                    retry_after=math.ceil(kept.retry_at - time.monotonic()),
                )
            return kept.snapshot

    def _note_failure(self, contest: str, error: Exception) -> None:
        """Log a failure, without the error's text, and put the next attempt off."""
        kept = self._kept[contest]
        pause = min(self._seconds * 2.0 ** min(kept.failures, 16), _LONGEST_PAUSE)
        kept.failures += 1
        kept.retry_at = time.monotonic() + pause
        if kept.snapshot is not None:
            kept.snapshot = replace(kept.snapshot, late=True)
        where = (type(error).__name__, place_of(error), pause)
        LOG.error("the board of %s cannot be computed: %s at %s; next attempt in %.0f s", contest, *where)

    def _compute(self, contest: str) -> Snapshot:
        started, kept, at = time.monotonic(), self._kept[contest], now()
        version = kept.version  # read before the submissions: what comes in between is computed again
        with self._database.reading() as connection:
            best = best_submissions(connection, contest)
        scored = sum(one.submissions for one in best)
        standings = [one.standing() for one in best]
        covariance = self._covariance(contest, best)
        board = make_board(self._contests[contest].terms, standings, covariance, scored=scored, as_of=at)
        text = BoardModel.model_validate(board.to_dict()).model_dump_json().encode()
        return Snapshot(
            board=board,
            json=text,
            etag=f'"{sha256(text).hexdigest()}"',
            version=version,
            started=started,
            seconds=time.monotonic() - started,
        )

    def _covariance(self, contest: str, best: Sequence[Best]) -> Covariance:
        """Return the covariance of the entries' values. Answers that were paid one by one have independent noise."""
        if self._contests[contest].bundle.masked is None:
            return IndependentValues(np.array([one.standard_error**2 for one in best]))
        kept, digests = self._kept[contest], tuple(dict.fromkeys(one.digest for one in best))
        if len(digests) > _MATRIX:
            kept.digests, kept.covariance = (), np.empty((0, 0))
            files = {digest: self._influence(contest, digest) for digest in digests}
            return InfluenceCovariance([files[one.digest] for one in best])
        kept.covariance = self._extended(contest, digests, kept)
        kept.digests = digests
        place = {digest: position for position, digest in enumerate(digests)}
        return MatrixCovariance(kept.covariance, np.array([place[one.digest] for one in best], dtype=np.int64))

    def _extended(self, contest: str, digests: tuple[str, ...], kept: _Kept) -> FloatArray:
        """Return the covariance of submissions. What is known from the last board is not computed again."""
        known = {digest: position for position, digest in enumerate(kept.digests)}
        old = [position for position, digest in enumerate(digests) if digest in known]
        new = [position for position, digest in enumerate(digests) if digest not in known]
        before = [known[digests[position]] for position in old]
        covariance = np.empty((len(digests), len(digests)))
        covariance[np.ix_(old, old)] = kept.covariance[np.ix_(before, before)]
        files = {digest: self._influence(contest, digest) for digest in digests} if new else {}
        for rows in ranges(len(new)):
            block = new[rows]
            left = [files[digests[position]] for position in block]
            partners = old + new[: rows.stop]
            for columns in ranges(len(partners)):
                others = partners[columns]
                part = influence_covariance(left, [files[digests[position]] for position in others])
                covariance[np.ix_(block, others)] = part
                covariance[np.ix_(others, block)] = part.T
        return covariance

    def _influence(self, contest: str, digest: str) -> NDArray[np.float32]:
        """Return the influences of a submission, mapped to memory. They are computed again if the file is missing."""
        terms = self._contests[contest].terms
        path = self._home.influences(contest, digest)
        found = map_influences(path, terms.public_rows)
        if found is not None:
            return found
        computed = self._scorers[contest](load_scores(self._home.scores(contest, digest), terms.rows)).influence
        assert computed is not None  # noqa: S101  # the contest is masked
        path.unlink(missing_ok=True)
        store(path, computed.tobytes(), self._home.temporary)
        return computed


def best_submissions(connection: Connection, contest: str, *, member: int | None = None) -> list[Best]:
    """Return the best submission of each participant, or of one, the best first; equal ones in order of names."""
    place = func.row_number().over(
        partition_by=SUBMISSIONS.c.member, order_by=(SUBMISSIONS.c.goodness.desc(), SUBMISSIONS.c.id)
    )
    number = func.count().over(partition_by=SUBMISSIONS.c.member)
    ranked = (
        select(SUBMISSIONS, place.label("place"), number.label("submissions"))
        .where(SUBMISSIONS.c.contest == contest, *(() if member is None else (SUBMISSIONS.c.member == member,)))
        .subquery()
    )
    rows = connection.execute(
        select(ranked, MEMBERS.c.name.label("participant"))
        .join(MEMBERS, ranked.c.member == MEMBERS.c.id)
        .where(ranked.c.place == 1)
    )
    return sorted((_best(row) for row in rows), key=lambda one: (-one.goodness, one.participant))


def _best(row: Row[tuple[object, ...]]) -> Best:
    return Best(
        member=row.member,
        participant=row.participant,
        submission=row.id,
        digest=row.digest,
        value=row.value,
        goodness=row.goodness,
        standard_error=row.standard_error,
        detail=row.detail,
        submissions=row.submissions,
    )
