"""Bounded queue of score files: few are read at once, some wait, and one more is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from confide.service.problems import Kind, Refused

_Result = TypeVar("_Result")
RETRY_SECONDS = 2


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
