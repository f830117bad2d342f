"""Commands of `confide attack`."""

from confide.cli.attack.group import app as app
