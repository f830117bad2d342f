"""Chromium for tests, and a watch over what pages load and break."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

PATIENCE = 120_000
"""Milliseconds for what a page should do at once: machines that run tests may be overloaded."""

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a Chromium that is installed; skip the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed: apt install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What pages of a context did: hosts that they asked, and messages of the console."""

    hosts: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)

    def note(self, message: ConsoleMessage) -> None:
        # Pages with an error status are noted too; they are meant.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.messages.append(message.text)

    def require_quiet(self, address: str) -> None:
        """Assert that nothing was asked elsewhere, and that no script failed and nothing broke the policy."""
        assert self.hosts == {urlsplit(address).netloc}
        assert self.messages == []


@contextmanager
def window(
    browser: Browser, *, javascript: bool = True, width: int = 1200, scheme: str = "light"
) -> Iterator[tuple[Page, Watch]]:
    """Open a window without history, and watch it."""
    context: BrowserContext = browser.new_context(
        java_script_enabled=javascript,
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    context.set_default_timeout(PATIENCE)
    watch = Watch()
    context.on("request", lambda request: _note_host(watch, request.url))
    context.on("console", watch.note)
    context.on("weberror", lambda error: watch.messages.append(str(error.error)))
    try:
        yield context.new_page(), watch
    finally:
        context.close()


def _note_host(watch: Watch, url: str) -> None:
    if not url.startswith("data:"):
        watch.hosts.add(urlsplit(url).netloc)
