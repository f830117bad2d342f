"""Fixtures of the tests of tasks: the files, ledgers and sites that the commands' tests use."""

from __future__ import annotations

from tests.cli.conftest import desk, hospitals, provisioned

__all__ = ["desk", "hospitals", "provisioned"]
