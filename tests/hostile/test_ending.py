"""A server that is told to end does so within seconds, whatever it is doing, and leaves nothing."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parents[2]
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
        Path("stuck").touch()
        threading.Event().wait(3600)

    threading.Thread(target=stuck).start()
"""


@contextmanager
def served(work: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server of one page that does this work, and the address of its socket."""
    page = folder / "page.py"
    page.write_text(PAGE.format(root=str(ROOT), work=work.strip()), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = [f"--server.port={port}", "--server.address=127.0.0.1", "--server.headless=true"]
    environ = {**os.environ, "JUDGEPANEL_HOME": str(folder), "JUDGEPANEL_ACCESS": "local"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", page, *options],
            cwd=folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        until(lambda: is_healthy(f"http://127.0.0.1:{port}/_stcore/health"))
        yield process, f"ws://127.0.0.1:{port}/_stcore/stream"
    finally:
        process.kill()
        process.wait()


def is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310
            return True
    except (urllib.error.URLError, OSError):
        return False


def until(holds: object) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.05)


def readers_of(pid: int) -> list[int]:
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


async def opened(address: str) -> ClientConnection:
    visitor = await connect(address, subprotocols=["streamlit"], max_size=None, open_timeout=60)
    message = BackMsg()
    message.rerun_script.query_string = ""
    await visitor.send(message.SerializeToString())
    return visitor


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/status").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
@pytest.mark.parametrize("leaves", ["the server", "the visitor"])
def test_a_reader_ends_with_its_server_and_with_the_visitor_for_whom_it_reads(tmp_path, leaves):
    async def visit() -> None:
        visitor = await opened(address)
        until(lambda: readers_of(server.pid))
        (reader,) = readers_of(server.pid)
        if leaves == "the server":
            server.send_signal(signal.SIGTERM)
            server.wait(ENDS_SECONDS)
        else:
            await visitor.close()
        until(lambda: not alive(reader))
        assert (server.poll() is None) == (leaves == "the visitor")
        await visitor.close()

    with served(READING, tmp_path) as (server, address):
        asyncio.run(visit())


def test_a_thread_that_never_ends_keeps_no_server_alive(tmp_path):
    mark = tmp_path / "stuck"

    async def visit() -> None:
        visitor = await opened(address)
        until(mark.exists)
        server.send_signal(signal.SIGTERM)
        server.wait(ENDS_SECONDS)
        await visitor.close()

    with served(STUCK, tmp_path) as (server, address):
        asyncio.run(visit())
