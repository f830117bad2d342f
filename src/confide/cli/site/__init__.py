"""`confide site`: the administrator's side of a site."""

from confide.cli.site.group import app as app

__all__ = ["app"]
