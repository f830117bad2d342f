"""Everything that a running server shares: its queue, its metrics, and answers that are paid one by one."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from wsgiref.simple_server import WSGIServer

import anyio
import anyio.to_thread
import prometheus_client

from confide.contest.bundles import ServerBundle
from confide.contest.server.boards import Boards, Scored, Scorer, masked_scorer
from confide.contest.server.contests import LoadedContest, import_bundle, load_contests
from confide.contest.server.database import Database
from confide.contest.server.home import Home, Settings, probe
from confide.contest.server.problems import LOG, Kind, Refused, place_of
from confide.contest.server.records import Records
from confide.contest.server.submissions import Recorder
from confide.contest.terms import Mode
from confide.counts import FloatArray
from confide.errors import BudgetError, HomeError, LedgerError, ParameterError
from confide.intervals.interval import Interval, normal_quantile
from confide.sources.score_process import ScoreReader
from confide.tasks.contest_answer import answerer

_Result = TypeVar("_Result")
RETRY_SECONDS = 2
UNCOUNTED_SECONDS = 600.0
"""Time in which the files of a token that were not scored are counted."""


_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Numbers for operators, in the format of Prometheus. None of them is labelled by a participant."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        self.requests = prometheus_client.Counter(
            "confide_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = prometheus_client.Histogram(
            "confide_request_seconds",
            "Duration of requests by route.",
            ["route"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.submissions = prometheus_client.Counter(
            "confide_submissions", "Files by contest and result.", ["contest", "result"], registry=self.registry
        )
        self.waiting = prometheus_client.Gauge(
            "confide_files_waiting", "Files that are read or wait.", registry=self.registry
        )

    def serve(self, port: int) -> WSGIServer:
        """Answer on a port of the loopback interface, in a thread."""
        server, _thread = prometheus_client.start_http_server(port, addr="127.0.0.1", registry=self.registry)
        return server


class Queue:
    """Places for uploads and for work in threads. All methods run in the event loop."""

    def __init__(self, *, workers: int, waiting: int, each: int) -> None:
        self._workers = anyio.CapacityLimiter(workers)
        self._most = workers + waiting
        self._each = each
        self._uploads: Counter[int] = Counter()
        self._inside = 0

    @property
    def length(self) -> int:
        """Return how many files are read or wait."""
        return self._inside

    def require_room(self) -> None:
        """Refuse a file if the queue is full."""
        if self._inside >= self._most:
            raise Refused(
                Kind.BUSY,
                "many files are waiting to be scored",
                "send the file again in a few seconds, with the same Idempotency-Key",
                retry_after=RETRY_SECONDS,
            )

    @asynccontextmanager
    async def upload(self, member: int) -> AsyncIterator[None]:
        """Hold a place for an upload of a participant."""
        if self._uploads[member] >= self._each:
            raise Refused(
                Kind.UPLOADS,
                f"you send more than {self._each} files at once",
                "wait until an upload has ended",
                retry_after=RETRY_SECONDS,
            )
        self.require_room()
        self._uploads[member] += 1
        try:
            yield
        finally:
            self._uploads[member] -= 1
            if not self._uploads[member]:
                del self._uploads[member]

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run work in a thread once a worker is free. A client that goes away does not stop work that has begun."""
        self.require_room()
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._workers)
        finally:
            self._inside -= 1


class Uncounted:
    """Files of each token that were read in the last minutes without being scored. All methods run in the event loop.

    Reading a file costs time even if it is refused, or if its scores were sent before. No limit of submissions counts
    these, so they have a limit of their own.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._times: defaultdict[str, deque[float]] = defaultdict(deque)

    def require_left(self, token: str) -> None:
        """Refuse a file of a token that sent too many that were not scored."""
        times = self._recent(token)
        if len(times) >= self._most:
            seconds = math.ceil(times[0] + UNCOUNTED_SECONDS - self._clock())
            raise Refused(
                Kind.UNCOUNTED,
                f"{self._most} of your files in the last {UNCOUNTED_SECONDS / 60:g} minutes were not scored; this one "
                "was not read, and no submission was used",
                f"check files with `confide contest check`, and send this one again in {seconds:,} seconds",
                retry_after=seconds,
            )

    def add(self, token: str) -> None:
        """Count a file that was not scored."""
        self._recent(token)
        self._times[token].append(self._clock())

    def _recent(self, token: str) -> deque[float]:
        """Return the times of a token's files; forget those that are too old."""
        times = self._times.get(token, deque())
        while times and times[0] <= self._clock() - UNCOUNTED_SECONDS:
            times.popleft()
        if not times:
            self._times.pop(token, None)
        return times


def answer_scorer(bundle: ServerBundle, *, labels: Path, ledger: str | None, account: str | None) -> Scorer:
    """Return the scorer of a contest that charges each answer. The same question again costs nothing."""
    answer = answerer(bundle, labels, ledger=ledger, account=account)
    metric = bundle.terms.metric

    def score(scores: FloatArray) -> Scored:
        try:
            found = answer(scores)
        except BudgetError:
            raise Refused(
                Kind.BUDGET_SPENT,
                "the budget for answers is spent; nothing was charged or counted",
                "ask the organiser whether the contest will get a larger budget",
            ) from None
        except LedgerError as error:
            LOG.error("the ledger cannot be charged: %s", error)
            raise Refused(
                Kind.BUSY, "the ledger cannot be charged now", "send the file again in a minute", retry_after=30
            ) from None
        return Scored(
            value=found.value,
            goodness=metric.goodness(found.value),
            standard_error=_standard_error(found.population),
            detail={"sample": found.sample.to_dict(), "population": found.population.to_dict()},
            influence=None,
        )

    return score


def _standard_error(interval: Interval) -> float:
    return interval.width / (2.0 * normal_quantile(interval.level))


PROBE_SECONDS = 2.0
"""Age up to which a result of writing for a trial is told again: anybody may ask, and each trial waits for the disk."""


class Store:
    """Trial of the database and of the home folder: whether both can be written to, and agree."""

    def __init__(self, home: Home, records: Records, room: int) -> None:
        self._home, self._records, self._room = home, records, room
        self._lock = threading.Lock()
        self._result, self._until = False, 0.0

    def is_writable(self) -> bool:
        """Write for a trial, through to the disk, unless that was done a moment ago or is being done."""
        if time.monotonic() >= self._until and self._lock.acquire(blocking=False):
            try:
                self._result = self._try()
                self._until = time.monotonic() + PROBE_SECONDS
            finally:
                self._lock.release()
        return self._result

    def _try(self) -> bool:
        try:
            probe(self._home.temporary, self._room)
            self._records.database.probe()
            self._records.check()
        except Exception as error:
            LOG.error("the store cannot be written to: %s at %s", type(error).__name__, place_of(error))
            return False
        return True


@dataclass(frozen=True, kw_only=True, repr=False)
class Oracle:
    """State of a running server, `request.app.state.oracle`."""

    settings: Settings
    home: Home
    database: Database
    records: Records
    contests: dict[str, LoadedContest]
    recorder: Recorder
    reader: ScoreReader
    boards: Boards
    queue: Queue
    uncounted: Uncounted
    store: Store
    metrics: Metrics
    draining: anyio.Event = field(default_factory=anyio.Event)

    @classmethod
    def start(cls, settings: Settings) -> Oracle:
        """Import bundles, bring the database to the newest version, and load all contests."""
        home = Home(settings.home)
        home.make()
        home.clear_temporary()
        database = Database.at(home.database, settings.database)
        try:
            return cls._on(home, database, settings)
        except BaseException:
            database.close()
            raise

    @classmethod
    def _on(cls, home: Home, database: Database, settings: Settings) -> Oracle:
        records = Records.start(home, database)
        for path in settings.bundles:
            import_bundle(home, path)
        contests = load_contests(home, records)
        if not contests:
            raise ParameterError("there is no contest to serve; give a server.zip that `confide contest new` wrote")
        scorers = {name: _scorer(contest, settings) for name, contest in contests.items()}
        reader = ScoreReader(
            {name: contest.expected for name, contest in contests.items()}, most_bytes=settings.largest_body
        )
        boards = Boards(
            home=home, database=database, contests=contests, scorers=scorers, seconds=settings.board_seconds
        )
        recorder = Recorder(home=home, records=records, reader=reader, scorers=scorers, changed=boards.mark)
        return cls(
            settings=settings,
            home=home,
            database=database,
            records=records,
            contests=contests,
            recorder=recorder,
            reader=reader,
            boards=boards,
            queue=Queue(workers=settings.workers, waiting=settings.queue, each=settings.uploads_each),
            uncounted=Uncounted(settings.uncounted_files),
            store=Store(home, records, settings.largest_body),
            metrics=Metrics(),
        )

    def contest(self, name: str) -> LoadedContest:
        """Return a contest, or refuse a name that nobody knows."""
        found = self.contests.get(name)
        if found is None:
            raise no_contest()
        return found

    def stop(self) -> None:
        """Take no more submissions, and let those that have begun end soon."""
        self.draining.set()
        self.reader.stop()

    def close(self) -> None:
        """End the processes that read files, and close the database."""
        self.reader.close()
        self.database.close()


def no_contest() -> Refused:
    """Return the refusal of an unknown contest; it is the same for one that the caller may not see."""
    return Refused(Kind.NOT_FOUND, "there is no such contest here", "GET /v1/contests lists the contests")


def _scorer(contest: LoadedContest, settings: Settings) -> Scorer:
    if contest.terms.mode == Mode.MASKED:
        return masked_scorer(contest.bundle)
    if settings.labels is None:
        raise HomeError(
            f"the contest {contest.name!r} charges each answer, and needs the labels: give --labels, --ledger and "
            "--account at the holder"
        )

    return answer_scorer(contest.bundle, labels=settings.labels, ledger=settings.ledger, account=settings.account)
