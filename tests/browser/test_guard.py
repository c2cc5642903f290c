"""The guard of the browser tests detects what it should detect."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .conftest import Guard

pytestmark = pytest.mark.browser


def test_a_request_to_another_machine_is_seen(page: Page, guard: Guard) -> None:
    page.route("**/*", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.evaluate("() => { fetch('http://192.0.2.1/font.woff').catch(() => {}) }")
    assert guard.outside == ["http://192.0.2.1/font.woff"]


def test_a_console_error_is_seen(page: Page, guard: Guard) -> None:
    with page.expect_console_message():
        page.evaluate("() => console.error('broken')")
    with pytest.raises(AssertionError, match="errors to the console"):
        guard.check()


def test_a_quiet_page_passes(open_page: Callable[..., Page], guard: Guard) -> None:
    page = open_page("data:text/html,<p>quiet</p>", width=390, height=800, dark=True)
    assert page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("() => innerWidth") == 390
    guard.check()
