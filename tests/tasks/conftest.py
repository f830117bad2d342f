"""Tasks are tested on the desk of the command line, so that both can be compared."""

from __future__ import annotations

from tests.cli.conftest import desk as desk
