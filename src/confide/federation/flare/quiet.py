"""Suppression of FLARE's output on the terminal."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


class NoLogger:
    """Silent logger for FLARE's provisioner, which prints if it has none."""

    def debug(self, message: str) -> None:
        """Do nothing."""

    info = warning = error = debug


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress all output and warnings inside the block; for short calls, in one thread."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def no_engine_log() -> Iterator[None]:
    """Keep the log messages of FLARE's threads from the caller's handlers."""
    logger = logging.getLogger("nvflare")
    silent, passed_on = logging.NullHandler(), logger.propagate
    logger.addHandler(silent)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = passed_on
        logger.removeHandler(silent)
