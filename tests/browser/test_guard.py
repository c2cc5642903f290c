"""The guard sees what it should see, and no browser test leaves anything to the next."""

import pytest

from .conftest import forget


def test_requests_to_other_machines_and_console_errors_are_seen(open_page, guard):
    page = open_page("data:text/html,<p>quiet</p>", width=390, height=800, dark=True)
    assert page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("() => innerWidth") == 390
    guard.check()
    with page.expect_console_message():
        page.evaluate("() => console.error('broken')")
    with pytest.raises(AssertionError, match="errors to the console"):
        guard.check()
    page.route("**/*", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.evaluate("() => { fetch('http://192.0.2.1/font.woff').catch(() => {}) }")
    assert guard.outside == ["http://192.0.2.1/font.woff"]
    guard.excuse()


def kept(route):
    route.fulfill(content_type="text/html", body="<p>kept</p>")


def test_nothing_of_a_visitor_is_left_to_another_or_to_the_next_test(
    page, open_page, first_visitor
):
    left = "() => [document.cookie, localStorage.getItem('name')]"
    page.route("http://localhost/", kept)
    page.goto("http://localhost/")
    page.evaluate("() => { document.cookie = 'a=1'; localStorage.setItem('name', 'value') }")
    assert page.evaluate(left) == ["a=1", "value"]
    assert page.context is first_visitor
    assert open_page().context is not first_visitor

    forget(first_visitor)
    assert page.is_closed()
    assert len(first_visitor.pages) == 1
    again = first_visitor.new_page()
    again.route("http://localhost/", kept)
    again.goto("http://localhost/")
    assert again.evaluate(left) == ["", None]
