"""Pages fit narrow screens, dark screens and paper; tables align numbers; warnings share a box."""

from __future__ import annotations

import re

import pytest
from matplotlib.axes import Axes

from confide.report.style import as_svg
from confide.report.writers.html import figure, figures, folded, html_table, warnings, whole_page
from confide.report.writers.terminal import Table

PAGE = whole_page("A title", ["<p>text</p>"], footer="The end")
STYLE = PAGE[PAGE.index("<style>") : PAGE.index("</style>")]


def block(start: str) -> str:
    """The rules of a media query."""
    at = STYLE.index(start)
    depth = 0
    for place in range(at, len(STYLE)):
        depth += {"{": 1, "}": -1}.get(STYLE[place], 0)
        if STYLE[place] == "}" and depth == 0:
            return STYLE[at : place + 1]
    raise AssertionError("not closed")


def luminance(colour: str) -> float:
    """Relative luminance of a colour such as #1a1a1a, as WCAG 2 defines it."""
    digits = colour.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def colours(rules: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", rules))


def contrast(first: str, second: str) -> float:
    bright, dim = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_braces_are_balanced() -> None:
    assert STYLE.count("{") == STYLE.count("}")


def test_figures_are_never_wider_than_the_screen() -> None:
    assert "minmax(min(24rem, 100%), 1fr)" in STYLE


@pytest.mark.parametrize("rules", [block(":root"), block("@media screen and (prefers-color-scheme: dark)")])
def test_text_is_legible_in_light_and_in_dark(rules: str) -> None:
    found = colours(rules)
    assert contrast(found["ink"], found["paper"]) >= 7.0
    assert contrast(found["soft"], found["paper"]) >= 7.0
    assert contrast(found["ink"], found["mark-paper"]) >= 7.0
    assert contrast(found["stop-ink"], found["stop-paper"]) >= 7.0
    assert contrast(found["link"], found["paper"]) >= 4.5


def test_dark_colours_are_for_screens_alone_and_set_every_variable() -> None:
    assert STYLE.count("prefers-color-scheme") == 1
    dark = block("@media screen and (prefers-color-scheme: dark)")
    assert set(colours(dark)) == set(colours(block(":root")))
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) == set(colours(dark))


def test_white_figures_become_the_colour_of_the_dark_page() -> None:
    dark = block("@media screen and (prefers-color-scheme: dark)")
    share = re.search(r"invert\((\.\d+)\)", dark)
    assert share is not None
    white = round(255 * (1.0 - float(share[1])) + 1e-9)
    assert colours(dark)["paper"] == f"#{white:02x}{white:02x}{white:02x}"


def test_folded_parts_are_open_on_paper_and_need_no_script() -> None:
    part = folded("More <b>", "<p>inside</p>")
    assert part == "<details><summary>More &lt;b&gt;</summary><p>inside</p></details>"
    assert "details::details-content { content-visibility: visible;" in block("@media print")


def test_warnings_share_a_box() -> None:
    assert warnings([]) == ""
    assert warnings(["a < b"]) == '<p class="warning">a &lt; b</p>'
    several = warnings(["first", "second"])
    assert several.count("warning") == 1
    assert several.count("<li>") == 2


def test_wide_figures_take_a_line_of_their_own_and_scroll() -> None:
    def draw(ax: Axes, _: object) -> None:
        ax.plot([0, 1])

    narrow, wide = (figure(as_svg(draw, None, size=size), "a", "words") for size in ((5.4, 3), (10.3, 3)))
    assert 'class="wide"' not in narrow
    assert '<figure class="wide"><div class="scroll"><svg' in wide
    assert wide.index("</div>") < wide.index("<figcaption>")
    assert figures([wide]).startswith('<div class="figures single">')


def cells(html: str, column: int) -> list[str]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)[column] for row in rows]


def test_decimal_points_stand_below_each_other() -> None:
    table = Table(title="", head=("name", "value"), body=(("a", "0.5"), ("b", "0.2492*"), ("c", "12"), ("d", "–")))
    _, *shown = cells(html_table(table), 1)
    assert shown == ["0.5\u2007\u2007\u2007\u2007", "0.2492*", "12\u2008" + "\u2007" * 5, "–"]


def test_text_columns_are_left_as_they_are_and_numbers_get_a_minus_sign() -> None:
    table = Table(title="", head=("name", "value"), body=(("model -1", "-0.041 to -0.003"), ("2024-01-02", "5-7")))
    html = html_table(table)
    assert cells(html, 0)[1:] == ["model -1", "2024-01-02"]
    assert cells(html, 1)[1] == "−0.041 to −0.003"
    assert cells(html, 1)[2].startswith("5-7")


def test_a_table_without_rows_is_shown() -> None:
    assert "<tbody></tbody>" in html_table(Table(title="", head=("name", "value"), body=()))


def test_prose_breaks_into_lines() -> None:
    table = Table(title="", head=("item", "words"), body=(("a", "long"),), text_columns=("words",))
    assert '<table class="prose">' in html_table(table, prose=True)
    assert "<table>" in html_table(table)
    assert "table.prose td { white-space: normal;" in STYLE
