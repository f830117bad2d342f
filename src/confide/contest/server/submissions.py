"""Submissions: one transaction each, after the score file is on the disk, within the limits of a day.

A submission is its scores, in the template's order: the same scores of the same participant are the same submission,
whatever the file looks like, and count once.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, case, func, insert, select

from confide.contest.bundles import scores_digest
from confide.contest.server.boards import Scored, Scorer
from confide.contest.server.chain import History, Writer
from confide.contest.server.clock import new_id, next_day, now, written
from confide.contest.server.contests import LoadedContest, State, state_of
from confide.contest.server.database import KEYS, MEMBERS, SUBMISSIONS
from confide.contest.server.home import Home, store
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.records import Records
from confide.contest.server.tokens import Caller, require_valid
from confide.contest.terms import ContestTerms, Mode
from confide.counts import FloatArray
from confide.errors import HomeError, SubmissionError
from confide.records.chain import canonical_json, same_seal, seal
from confide.sources.score_process import ReadingStoppedError, ScoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Submissions that a participant has left."""

    daily_limit: int
    daily_left: int
    total_limit: int
    total_left: int
    resets_at: str


def limits_of(connection: Connection, terms: ContestTerms, member: int, at: datetime) -> Limits:
    """Count what a participant has left."""
    today = case((SUBMISSIONS.c.day == at.date().isoformat(), 1), else_=0)
    used, in_all = connection.execute(
        select(func.coalesce(func.sum(today), 0), func.count()).where(SUBMISSIONS.c.member == member)
    ).one()
    total_left = max(0, terms.total_limit - in_all)
    return Limits(
        daily_limit=terms.daily_limit,
        daily_left=max(0, min(terms.daily_limit - used, total_left)),
        total_limit=terms.total_limit,
        total_left=total_left,
        resets_at=written(next_day(at)),
    )


def require_counted(connection: Connection, history: History | None, member: int, participant: str) -> None:
    """Refuse to count by rows that are fewer or more than the sealed submissions of a participant."""
    rows = connection.execute(select(func.count()).where(SUBMISSIONS.c.member == member)).scalar_one()
    if history is None or rows != history.sent[participant]:
        raise HomeError(
            "submissions of a participant were added or removed; check the records with `confide serve --verify`"
        )


def require_left(limits: Limits, at: datetime) -> None:
    """Refuse a submission if none is left. The caller holds the lock of the contest's row."""
    seconds = int((next_day(at) - at).total_seconds()) + 1
    if limits.total_left == 0:
        raise Refused(
            Kind.LIMIT,
            f"all {limits.total_limit} submissions of this contest are used",
            "choose your finalists among what you sent",
            retry_after=seconds,
        )
    if limits.daily_left == 0:
        raise Refused(
            Kind.LIMIT,
            f"all {limits.daily_limit} submissions of today (UTC) are used",
            f"send the file again after {limits.resets_at}",
            retry_after=seconds,
        )


FileKind = Literal["csv", "parquet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A scored submission."""

    id: str
    contest: str
    participant: str
    received_at: str
    digest: str
    day: str
    value: float
    goodness: float
    standard_error: float
    detail: dict[str, Any]
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of sending a file: the submission, what is left, and whether the submission was there before."""

    submission: Submission
    limits: Limits
    replayed: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Recorder:
    """Scores files and records submissions. Its methods run in worker threads."""

    home: Home
    records: Records
    reader: ScoreReader
    scorers: Mapping[str, Scorer]
    changed: Callable[[str], None]
    _answering: dict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def accept(
        self, contest: LoadedContest, caller: Caller, path: Path, kind: FileKind, idempotency_key: str | None = None
    ) -> Outcome:
        """Read, score and record a file. A file that cannot be scored is refused and counts nothing."""
        scores = read_file(self.reader, contest, path, kind)
        digest = scores_digest(scores)
        if contest.terms.mode == Mode.MASKED:
            return self._accept(contest, caller, scores, digest, idempotency_key)
        with self._answering[contest.name]:  # limits are checked before an answer is paid for
            return self._accept(contest, caller, scores, digest, idempotency_key)

    def _accept(
        self, contest: LoadedContest, caller: Caller, scores: FloatArray, digest: str, idempotency_key: str | None
    ) -> Outcome:
        entry = _Entry(contest=contest.name, caller=caller, digest=digest, key=idempotency_key)
        with self.records.database.reading() as connection:
            require_valid(connection, self.records.histories, caller, now())  # before an answer is paid for
            entry.require_same_file(connection, self.records.key)
            earlier = entry.earlier(connection)
            if earlier is None:
                _require_open(connection, contest.name)
                if contest.terms.mode != Mode.MASKED:  # one file at a time, so that nobody else adds rows
                    history = self.records.histories.of(connection, contest.name)
                    require_counted(connection, history, caller.member, caller.participant)
                require_left(limits_of(connection, contest.terms, caller.member, at := now()), at)
        scored = None
        if earlier is None:
            scored = self.scorers[contest.name](scores)
            self._store(contest.name, digest, scores, scored)
        with self.records.writing(caller) as writer:
            outcome = self._record(writer, contest.terms, entry, scored)
        if not outcome.replayed:
            self.changed(contest.name)
        return outcome

    def _store(self, contest: str, digest: str, scores: FloatArray, scored: Scored) -> None:
        store(self.home.scores(contest, digest), scores.astype("<f8").tobytes(), self.home.temporary)
        if scored.influence is not None:
            store(self.home.influences(contest, digest), scored.influence.tobytes(), self.home.temporary)

    def _record(self, writer: Writer, terms: ContestTerms, entry: _Entry, scored: Scored | None) -> Outcome:
        connection, at = writer.connection, writer.at
        entry.require_same_file(connection, writer.key)
        require_counted(connection, writer.history, entry.caller.member, entry.caller.participant)
        earlier = entry.earlier(connection)
        if earlier is not None:
            entry.remember_key(writer, earlier.id)
            limits = limits_of(connection, terms, entry.caller.member, at)
            return Outcome(submission=earlier, limits=limits, replayed=True)
        assert scored is not None  # noqa: S101  # submissions are never removed
        _require_open(connection, entry.contest)
        require_left(limits_of(connection, terms, entry.caller.member, at), at)
        submission = entry.insert(writer, scored)
        entry.remember_key(writer, submission.id)
        writer.append(chain_entry(submission))
        limits = limits_of(connection, terms, entry.caller.member, at)
        return Outcome(submission=submission, limits=limits, replayed=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Entry:
    """A file on its way into the database."""

    contest: str
    caller: Caller
    digest: str
    key: str | None

    def require_same_file(self, connection: Connection, key: bytes) -> None:
        """Refuse a key that was used for other scores."""
        if self.key is None:
            return
        known = connection.execute(
            select(KEYS, SUBMISSIONS.c.digest)
            .join(SUBMISSIONS, KEYS.c.submission == SUBMISSIONS.c.id)
            .where(KEYS.c.member == self.caller.member, KEYS.c.key == self.key)
        ).first()
        if known is not None and not is_sealed_key(key, known):
            raise HomeError("an idempotency key was changed; check the records with `confide serve --verify`")
        if known is not None and known.digest != self.digest:
            raise Refused(
                Kind.KEY_REUSED,
                "this Idempotency-Key was used for a file with other scores",
                "send this file with a new key",
            )

    def earlier(self, connection: Connection) -> Submission | None:
        """Return the participant's submission of the same scores, if there is one."""
        row = connection.execute(
            _JOINED.where(SUBMISSIONS.c.member == self.caller.member, SUBMISSIONS.c.digest == self.digest)
        ).first()
        return None if row is None else _submission(row)

    def remember_key(self, writer: Writer, submission: str) -> None:
        if self.key is None:
            return
        connection = writer.connection
        mine = (KEYS.c.member == self.caller.member, KEYS.c.key == self.key)
        if connection.execute(select(KEYS.c.key).where(*mine)).first() is None:
            sealed = seal(writer.key, "oracle idempotency", self.caller.member, self.key, submission)
            row = {"member": self.caller.member, "key": self.key, "submission": submission, "seal": sealed}
            connection.execute(insert(KEYS), row)

    def insert(self, writer: Writer, scored: Scored) -> Submission:
        at = writer.at
        submission = Submission(
            id=new_id(at),
            contest=self.contest,
            participant=self.caller.participant,
            received_at=written(at),
            digest=self.digest,
            day=at.date().isoformat(),
            value=scored.value,
            goodness=scored.goodness,
            standard_error=scored.standard_error,
            detail=scored.detail,
            token=self.caller.token,
        )
        writer.connection.execute(
            insert(SUBMISSIONS),
            {
                "id": submission.id,
                "contest": self.contest,
                "member": self.caller.member,
                "received_at": submission.received_at,
                "day": submission.day,
                "digest": self.digest,
                "value": scored.value,
                "goodness": scored.goodness,
                "standard_error": scored.standard_error,
                "detail": json.dumps(scored.detail),
                "token": submission.token,
            },
        )
        return submission


def is_sealed_key(key: bytes, row: Row[Any]) -> bool:
    """Return whether the row of an idempotency key is as the server wrote it."""
    return same_seal(row.seal, seal(key, "oracle idempotency", row.member, row.key, row.submission))


def chain_entry(submission: Submission) -> dict[str, Any]:
    """Return what the audit chain says of a submission."""
    return {
        "kind": "submission",
        "id": submission.id,
        "participant": submission.participant,
        "digest": submission.digest,
        "day": submission.day,
        "value": submission.value,
        "goodness": submission.goodness,
        "standard_error": submission.standard_error,
        "detail": sha256(canonical_json(submission.detail, "a detail").encode()).hexdigest(),
    }


def read_file(reader: ScoreReader, contest: LoadedContest, path: Path, kind: FileKind) -> FloatArray:
    """Read a score file, in the order of the template; refuse one that does not fit, and say why."""
    try:
        return reader.read(contest.name, path, kind)
    except ReadingStoppedError as error:
        detail, _, step = str(error).partition("; ")
        raise Refused(Kind.BUSY, detail, step, retry_after=30) from None
    except SubmissionError as error:
        raise Refused(
            Kind.BAD_FILE,
            "the file cannot be scored; it does not count",
            "correct what `errors` names, check the file with `confide contest check`, and send it again",
            errors=tuple(str(problem) for problem in error.problems),
        ) from None


def find_submission(connection: Connection, caller: Caller, identity: str) -> Submission | None:
    """Return a submission that the caller may see: an own one, or for an organiser any of the contest."""
    row = connection.execute(_visible(caller).where(SUBMISSIONS.c.id == identity)).first()
    return None if row is None else _submission(row)


def list_submissions(
    connection: Connection, caller: Caller, *, limit: int, before: str | None = None
) -> list[Submission]:
    """Return the submissions that the caller may see, the newest first."""
    query = _visible(caller).order_by(SUBMISSIONS.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(SUBMISSIONS.c.id < before)
    return [_submission(row) for row in connection.execute(query)]


def all_submissions(connection: Connection, contest: str) -> Iterable[Submission]:
    """Yield all submissions of a contest, in the order in which they were recorded."""
    rows = connection.execute(_JOINED.where(SUBMISSIONS.c.contest == contest).order_by(SUBMISSIONS.c.id))
    return (_submission(row) for row in rows)


_JOINED = select(SUBMISSIONS, MEMBERS.c.name.label("participant")).join(MEMBERS, SUBMISSIONS.c.member == MEMBERS.c.id)


def _visible(caller: Caller) -> Any:
    query = _JOINED.where(SUBMISSIONS.c.contest == caller.contest)
    return query if caller.role == "organiser" else query.where(SUBMISSIONS.c.member == caller.member)


def _submission(row: Row[Any]) -> Submission:
    return Submission(
        id=row.id,
        contest=row.contest,
        participant=row.participant,
        received_at=row.received_at,
        digest=row.digest,
        day=row.day,
        value=row.value,
        goodness=row.goodness,
        standard_error=row.standard_error,
        detail=json.loads(row.detail),
        token=row.token,
    )


def _require_open(connection: Connection, contest: str) -> None:
    state = state_of(connection, contest)
    if state != State.OPEN:
        raise not_open(state)


def not_open(state: State) -> Refused:
    """Return the refusal of a submission to a contest that takes none."""
    step = "wait until the organiser opens it" if state in (State.DRAFT, State.PAUSED) else "look at the final"
    return Refused(Kind.WRONG_STATE, f"the contest is {state} and takes no submissions", step)
