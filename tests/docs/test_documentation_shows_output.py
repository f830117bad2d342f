"""The README shows output, and output that is stale is noticed; the test that runs the commands compares it."""

from __future__ import annotations

from tests.docs.pages import ROOT, commands
from tests.docs.shown_output import LEFT_OUT, shows
from tests.docs.test_documentation_runs import TO_RUN


def test_the_readme_shows_output() -> None:
    readme = ROOT / "README.md"
    assert readme in TO_RUN
    assert any(command.output for command in commands(readme))


def test_stale_output_is_noticed() -> None:
    assert shows("a\n\nb \nc\n", ("a", LEFT_OUT, "c"))
    assert not shows("a\nb\n", ("b", LEFT_OUT, "a"))
    assert not shows("a\nb\nc\n", ("a", "c"))
