"""`how-it-works.md` names every room, and the places that it names exist."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PACKAGE = ROOT / "src" / "confide"
PAGE = (ROOT / "docs" / "explanation" / "how-it-works.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([\w./]+)`", PAGE))


def test_every_room_is_on_the_map() -> None:
    rooms = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms - NAMED == set()


def test_every_module_on_the_map_exists() -> None:
    modules = {name for name in NAMED if name.endswith(".py") and not re.search("NAME|VERB", name)}
    assert modules
    for name in modules:
        places = (PACKAGE / name, PACKAGE / "federation" / name, ROOT / name)
        assert any(place.is_file() for place in places), name
