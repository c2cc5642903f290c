"""Frames: another site can show only a share link that asks for it."""

import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import expect

from judgepanel.service.sql import SqlWorkspace
from tests.browser.driver import CURVE, address
from tests.browser.service import prepared


@pytest.fixture
def other_site():
    """Serves a page of another site with whatever stands in it: give the body, get its address."""
    content = {"body": ""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content["body"].encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,))
        thread.start()

        def write(body):
            content["body"] = body
            return f"http://127.0.0.1:{site.server_port}/"

        yield write
        site.shutdown()
        thread.join()


def test_another_site_frames_what_was_shared_and_reads_nothing(
    server, open_page, other_site, guard
):
    analysis = prepared(server.home, "clean_pairwise")
    with closing(SqlWorkspace(home=server.home)) as space:
        token = space.share(analysis)
    frame = '<iframe src="{}" width="1200" height="800"></iframe>'
    page = open_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    for query in (f"analysis={analysis}&embed=true", f"share={token}", "embed=true"):
        refused.clear()
        with page.expect_event("console", lambda message: "frame" in message.text.lower()):
            page.goto(other_site(frame.format(f"{server.url}/?{query}")))
        assert page.frames[1].get_by_text("judgepanel").count() == 0
    page.goto(other_site(frame.format(address(server, CURVE, share=token, embed="true"))))
    inside = page.frame_locator("iframe")
    inside.locator(".jp-answer").wait_for()
    expect(inside.get_by_text("read-only")).to_be_visible()

    page.goto(other_site("<p>elsewhere</p>"))
    opened = page.evaluate(
        """(url) => new Promise((resolve) => {
            const socket = new WebSocket(url, ["streamlit"]);
            socket.onopen = () => resolve(true);
            socket.onerror = () => resolve(false);
        })""",
        server.url.replace("http", "ws") + "/_stcore/stream",
    )
    assert not opened
    fetched = page.evaluate(
        """(url) => fetch(url, {mode: "no-cors"}).then(() => true, () => false)""",
        server.url + "/_stcore/health",
    )
    assert not fetched
    guard.excuse()
