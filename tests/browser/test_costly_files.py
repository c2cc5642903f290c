"""Small files that cost much after they are read cost the server and its visitors little."""

import time
from pathlib import Path

import pytest

from tests.browser.driver import as_upload, idle, say_pairs, upload
from tests.hostile.attacks import AFTER_READING

MOST_MORE_MIB = 1_024
MOST_SENT = 5_000_000
MOST_SECONDS, TIMES_AS_LONG = 8.0, 4.0
"""Seconds that another visitor's page may take, or times as long as on an idle server."""


def memory(server, kind):
    """MiB of a server: ``VmRSS`` now, or ``VmHWM``, the most since it was last reset."""
    text = Path(f"/proc/{server.process.pid}/status").read_text("ascii")
    return int(text.partition(f"{kind}:")[2].split()[0]) // 1024


def counted(page):
    """A count of the bytes that a page is sent from now on, without Streamlit's own scripts."""
    sent, scripts = [0], set()
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def add(length):
        sent[0] += length

    def requested(event):
        if event.get("type") == "Script":
            scripts.add(event["requestId"])

    def received(event):
        add(event["encodedDataLength"] if event["requestId"] not in scripts else 0)

    session.on("Network.requestWillBeSent", requested)
    session.on("Network.dataReceived", received)
    session.on(
        "Network.webSocketFrameReceived", lambda event: add(len(event["response"]["payloadData"]))
    )
    return lambda: sent[0]


def started(page, server):
    """The seconds until Start is there."""
    began = time.monotonic()
    page.goto(server.url)
    page.get_by_role("heading", name="Or a sample").wait_for()
    return time.monotonic() - began


@pytest.mark.parametrize("attack", ["many judges", "many features"])
def test_a_costly_file_costs_the_server_and_others_little(attack, own_server, open_page):
    votes, _ = AFTER_READING[attack]
    sender, other = open_page(), open_page()
    quiet = max(started(page, own_server) for page in (sender, other))
    quiet = max(quiet, started(other, own_server))
    before = memory(own_server, "VmRSS")
    Path(f"/proc/{own_server.process.pid}/clear_refs").write_text("5", "ascii")
    sent = counted(sender)
    idle(sender)
    upload(sender, as_upload("votes.parquet", votes()))
    sender.get_by_text("votes.parquet").first.wait_for()
    slowest = 0.0
    is_read = sender.locator(".jp-problem").or_(sender.get_by_text("What is an item?"))
    while not is_read.count():
        slowest = max(slowest, started(other, own_server))
    idle(sender)
    if not sender.locator(".jp-problem").count():
        say_pairs(sender)
        sender.get_by_role("button", name="Analyse").click()
        sender.wait_for_url("**/overview**")
        slowest = max(slowest, started(other, own_server))
    assert memory(own_server, "VmHWM") < before + MOST_MORE_MIB
    assert sent() < MOST_SENT
    assert slowest < max(MOST_SECONDS, TIMES_AS_LONG * quiet)
