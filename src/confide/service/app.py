"""The application: routes, errors, middleware and OpenAPI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from confide.service import problems
from confide.service.api import contests, health, organiser, submissions
from confide.service.middleware import Guard
from confide.service.oracle import Oracle
from confide.service.pages.routes import include_pages
from confide.service.problems import Problem
from confide.service.settings import Settings

TITLE = "confide evaluation oracle"


def create_app(settings: Settings) -> FastAPI:
    """Return the application of a server. Bundles are imported and the database is upgraded."""
    oracle = Oracle.start(settings)

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        refreshing = asyncio.create_task(oracle.boards.refresh())
        yield
        refreshing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await refreshing
        oracle.close()

    app = FastAPI(
        title=TITLE,
        version=version("confide"),
        description="Scores of submissions to contests whose labels stay secret. Errors are problems (RFC 9457).",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.oracle = oracle
    problems.install(app)
    for router in (contests.router, submissions.router, organiser.router, health.router):
        app.include_router(router)
    include_pages(app)
    app.add_middleware(Guard, oracle=oracle)
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change it
    return app


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the description of the API, with problems and tokens."""
    if app.openapi_schema is None:
        plain = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = plain.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = plain
    return app.openapi_schema
