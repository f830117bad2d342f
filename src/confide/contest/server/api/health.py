"""Routes for those who watch the server."""

from __future__ import annotations

from fastapi import APIRouter

from confide.contest.server.api.access import TheOracle
from confide.contest.server.models import HealthModel
from confide.contest.server.problems import Kind, Refused, refusals, unavailable

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=refusals(parameters=False))
async def health() -> HealthModel:
    """Report that the process answers."""
    return HealthModel(status="up")


@router.get("/readyz", responses=refusals(Kind.BUSY, parameters=False))
def ready(oracle: TheOracle) -> HealthModel:
    """Report whether the server takes submissions: database and disk can be written to, and it is not stopping."""
    if oracle.draining.is_set():
        raise Refused(Kind.BUSY, "the server is stopping", "ask again in a minute", retry_after=30)
    if not oracle.store.is_writable():
        raise unavailable()
    return HealthModel(status="ready")
