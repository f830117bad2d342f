"""A private workflow as JSON: the price of a step and the budget by steps."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from confide.learning.budget import together
from confide.learning.workflow import Workflow
from confide.ledger.receipts import Quote

PRICE_SCHEMA = "confide.quote/1"


def price_document(quote: Quote, workflow: Workflow, costs: Mapping[str, Fraction]) -> dict[str, Any]:
    """Return the price of a step."""
    return {"schema": PRICE_SCHEMA, **quote.to_dict(), "workflow": costs_document(workflow, costs)}


def costs_document(workflow: Workflow, costs: Mapping[str, Fraction]) -> dict[str, Any]:
    """Return the budget by steps."""
    return {
        "budget": float(workflow.budget),
        "steps": {step: float(cost) for step, cost in costs.items()},
        "parallel": workflow.parallel,
        "together": float(together(costs, parallel=workflow.parallel)),
    }
