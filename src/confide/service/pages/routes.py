"""All pages of a server."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Response

from confide.service.pages import organisers, participants, public, signing
from confide.service.pages.context import PageRoute, unknown_page
from confide.service.pages.rendering import KeptPages

_rest = APIRouter(route_class=PageRoute, include_in_schema=False)


@_rest.get("/contests/{rest:path}")
async def show_nothing(rest: str) -> Response:
    """Say that there is no such page."""
    raise unknown_page()


def include_pages(app: FastAPI) -> None:
    """Add all pages to the application. None of them is part of the API that OpenAPI describes."""
    app.state.pages = KeptPages()
    for router in (public.router, signing.router, participants.router, organisers.router, _rest):
        app.include_router(router)
