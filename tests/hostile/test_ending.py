"""A server that is told to end does so within seconds, whatever it is doing, and leaves nothing."""

import asyncio
import signal
import sys
import time
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect

from tests.browser.conftest import ROOT, serving

PATIENCE_SECONDS = 300.0
ENDS_SECONDS = 5.0

PAGE = """
import re, sys, threading
from pathlib import Path
sys.path.insert(0, {root!r})

if __name__ == "__main__":
    {work}
else:
    from streamlit.starlette import App
    from judgepanel.ui.server import protection

    app = App(__file__, **protection())
"""
READING = """
    from judgepanel.ui.uploads import Upload, read_uploads
    from tests.hostile import attacks

    text = " tie" * 200_000
    rows = [attacks.outputs_of(f"{k}{text}").replace(b'"q1"', b'"q%d"' % k) for k in range(100)]
    read_uploads(Upload("outputs.jsonl", b"".join(rows)))
"""
STUCK = """
    def stuck():
        Path(__file__).with_name("stuck").touch()
        threading.Event().wait(3600)

    threading.Thread(target=stuck).start()
"""


def served(work, folder):
    """A server of one page that does this work."""
    page = folder / "page.py"
    page.write_text(PAGE.format(root=str(ROOT), work=work.strip()), encoding="utf-8")
    return serving(folder / "home", page, {"JUDGEPANEL_ACCESS": "local"})


def until(holds):
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.05)


def readers_of(pid):
    """Processes that read an upload for a server."""
    ids = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and b"judgepanel.intake.reader" in command:
            ids.append(int(status.parent.name))
    return ids


async def opened(server):
    address = server.url.replace("http", "ws") + "/_stcore/stream"
    visitor = await connect(address, subprotocols=["streamlit"], max_size=None, open_timeout=60)
    message = BackMsg()
    message.rerun_script.query_string = ""
    await visitor.send(message.SerializeToString())
    return visitor


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
@pytest.mark.parametrize("leaves", ["the server", "the visitor"])
def test_a_reader_ends_with_its_server_and_with_the_visitor_for_whom_it_reads(tmp_path, leaves):
    async def visit():
        visitor = await opened(server)
        until(lambda: readers_of(process.pid))
        (reader,) = readers_of(process.pid)
        if leaves == "the server":
            process.send_signal(signal.SIGTERM)
            process.wait(ENDS_SECONDS)
        else:
            await visitor.close()
        until(lambda: not Path(f"/proc/{reader}/status").exists())
        assert (process.poll() is None) == (leaves == "the visitor")
        await visitor.close()

    with served(READING, tmp_path) as server:
        process = server.process
        asyncio.run(visit())


def test_a_thread_that_never_ends_keeps_no_server_alive(tmp_path):
    mark = tmp_path / "stuck"

    async def visit():
        visitor = await opened(server)
        until(mark.exists)
        process.send_signal(signal.SIGTERM)
        process.wait(ENDS_SECONDS)
        await visitor.close()

    with served(STUCK, tmp_path) as server:
        process = server.process
        asyncio.run(visit())
