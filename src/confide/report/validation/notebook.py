"""A validation's plan and a site's status as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confide.report.shared.page import bullets, html_table
from confide.report.validation.guarantee import guarantee_sentences
from confide.report.validation.plan_text import plan_tables
from confide.report.validation.site_text import site_lines, site_tables

if TYPE_CHECKING:
    from confide.tasks.site_status import SiteStatus
    from confide.tasks.validate import ValidationPlan


def plan_fragment(plan: ValidationPlan) -> str:
    """Return question, price, expected accuracy and promise, as a notebook shows them."""
    tables = "".join(html_table(table) for table in plan_tables(plan, rows="rows"))
    promise = guarantee_sentences(plan.question)
    return f"<div>{tables}<p>Promise to the people in the data</p>{bullets(promise)}</div>"


def site_fragment(status: SiteStatus) -> str:
    """Return everything that is known of a site, as a notebook shows it."""
    tables = "".join(html_table(table) for table in site_tables(status))
    return f"<div>{bullets(line.strip() for line in site_lines(status))}{tables}</div>"
