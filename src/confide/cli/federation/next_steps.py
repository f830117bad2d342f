"""Commands that the verbs of `confide federation` name as next steps."""

from __future__ import annotations

from pathlib import Path


def validate_example(folder: Path) -> str:
    """Return an example of `confide validate`."""
    return f"confide validate --federation {folder} --model-name NAME --mode private --epsilon 1 --report out.html"


def request_command(site: str) -> str:
    """Return the command with which a site makes its keys and its request."""
    return f"confide site request SITE --name {site}"


def site_commands(site: str) -> tuple[str, ...]:
    """Return the commands with which a site sets itself up and starts."""
    return (
        f"confide site init {site}.zip SITE --model-name NAME --data FILE --label COL --score COL",
        "confide site start SITE",
    )
