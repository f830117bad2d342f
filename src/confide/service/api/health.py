"""Routes for those who watch the server."""

from __future__ import annotations

from fastapi import APIRouter

from confide.service.api.access import TheOracle
from confide.service.models import HealthModel
from confide.service.problems import LOG, Kind, Refused, refusals

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=refusals(parameters=False))
async def health() -> HealthModel:
    """Report that the process answers."""
    return HealthModel(status="up")


@router.get("/readyz", responses=refusals(Kind.BUSY, parameters=False))
def ready(oracle: TheOracle) -> HealthModel:
    """Report whether the server takes submissions: the database answers, and the server is not stopping."""
    if oracle.draining.is_set():
        raise Refused(Kind.BUSY, "the server is stopping", "ask again in a minute", retry_after=30)
    try:
        with oracle.database.reading() as connection:
            connection.exec_driver_sql("SELECT 1")
    except Exception as error:
        LOG.error("the database does not answer: %s", type(error).__name__)
        raise Refused(Kind.BUSY, "the database does not answer", "ask again in a minute", retry_after=30) from None
    return HealthModel(status="ready")
