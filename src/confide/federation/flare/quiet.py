"""Keeping FLARE's own words off the terminal."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


class NoLogger:
    """A logger to be handed to FLARE's provisioner: it prints where it has none."""

    def debug(self, message: str) -> None:
        """Say nothing."""

    info = warning = error = debug


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing that is printed or warned of inside reach the caller; for short calls, in one thread."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def no_engine_log() -> Iterator[None]:
    """Keep what FLARE's threads log in this process from the handlers of whoever called."""
    logger = logging.getLogger("nvflare")
    silent, passed_on = logging.NullHandler(), logger.propagate
    logger.addHandler(silent)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = passed_on
        logger.removeHandler(silent)
