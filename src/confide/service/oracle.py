"""Everything that a running server shares: settings, home, database, contests and leaderboards."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import anyio

from confide.contest.terms import Mode
from confide.errors import HomeError, ParameterError
from confide.service.boards import Boards
from confide.service.contests import LoadedContest, import_bundle, load_contests
from confide.service.database import Database
from confide.service.home import Home
from confide.service.metrics import Metrics
from confide.service.problems import LOG, Kind, Refused, place_of
from confide.service.queue import Queue, Uncounted
from confide.service.records import Records
from confide.service.scoring import Scorer, masked_scorer
from confide.service.settings import Settings
from confide.service.storage import probe
from confide.service.submissions import Recorder
from confide.sources.score_process import ScoreReader

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
    from confide.service.answers import answer_scorer

    return answer_scorer(contest.bundle, labels=settings.labels, ledger=settings.ledger, account=settings.account)
