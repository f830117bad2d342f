"""Bounds of score files: few are read at once, some wait, and files that are not scored are few in each time."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from confide.service.problems import Kind, Refused

_Result = TypeVar("_Result")
RETRY_SECONDS = 2
UNCOUNTED_SECONDS = 600.0
"""Time in which the files of a token that were not scored are counted."""


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
