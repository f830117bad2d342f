"""Fixtures of the tests of tasks: the sites that the commands' tests use."""

from __future__ import annotations

from tests.cli.conftest import hospitals, provisioned

__all__ = ["hospitals", "provisioned"]
