"""`confide federation`: the coordinator's side of a federation."""

from confide.cli.federation.group import app as app

__all__ = ["app"]
