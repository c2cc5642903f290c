"""Asking judges: calls per second against a loopback endpoint, and memory over many calls."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Report, Table, cores, say

FEW, MANY = 4_000, 100_000
TARGET_RATE = 200.0
TARGET_GROWTH = 1.10

SERVER = r"""
import asyncio, json
BODY = json.dumps({
    "id": "x", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Short. " * 60 + "[[A]]"}}],
    "usage": {"prompt_tokens": 300, "completion_tokens": 130, "total_tokens": 430},
}).encode()
START = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
HEAD = START + b"content-length: %d\r\n\r\n" % len(BODY)

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                          if line.startswith(b"content-length"))
            await reader.readexactly(length)
            writer.write(HEAD + BODY)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""

RUNNER = """
import json, resource, sys, time
from pathlib import Path
from judgepanel.collect import Journal, collect, read_judges, read_pairs
pairs, plan = read_pairs(Path(sys.argv[1])), read_judges(Path(sys.argv[2]))
peak = []

def progress(done, planned, dollars):
    if done in marks:
        peak.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

planned = len(pairs) * len(plan.judges)
marks = {planned // 10, planned}
began = time.perf_counter()
with Journal(Path(sys.argv[3])) as journal:
    outcome = collect(pairs, plan, journal, on_progress=progress)
print(json.dumps({"made": outcome.made, "seconds": time.perf_counter() - began, "peak": peak}))
"""


def run() -> Report:
    """Run the benchmark."""
    rows, verdicts = [], []
    with tempfile.TemporaryDirectory() as folder:
        for calls in (FEW, MANY):
            say(f"{calls:,} calls")
            result = _run(Path(folder) / str(calls), calls)
            rate = result["made"] / result["seconds"]
            first, last = result["peak"]
            rows.append((f"{calls:,}", f"{rate:,.0f}", f"{first:,.0f}", f"{last:,.0f}"))
        met = "met" if rate >= TARGET_RATE else "MISSED"
        verdicts.append(
            f"{rate:,.0f} calls a second over {calls:,} (target {TARGET_RATE:.0f}: {met})."
        )
        flat = "met" if last <= TARGET_GROWTH * first else "MISSED"
        verdicts.append(
            f"Peak memory after all calls {last / first:.2f} times that after a tenth of them "
            f"(target {TARGET_GROWTH}: {flat})."
        )
    return Report(
        title="Asking judges",
        question="How fast are judges asked when the endpoint takes no time, and is memory flat?",
        tables=(
            Table(
                "Against a loopback endpoint",
                ("calls", "a second", "MiB after a tenth", "MiB at the end"),
                tuple(rows),
                f"Client and endpoint share {cores()} cores; two judges, 32 calls at once each.",
            ),
        ),
        verdicts=tuple(verdicts),
    )


def _run(folder: Path, calls: int) -> dict:
    folder.mkdir()
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        text = "word " * 120
        with (folder / "pairs.jsonl").open("w") as pairs:
            for n in range(calls // 2):
                row = {"id": f"q{n}", "prompt": text, "output_1": text, "output_2": text}
                pairs.write(json.dumps(row) + "\n")
        (folder / "judges.toml").write_text(
            "\n".join(
                f'[[judge]]\nname = "{name}"\nmodel = "m"\nconcurrency = 32\n'
                f'per_minute = 1000000\nbase_url = "http://127.0.0.1:{port}/v1"'
                for name in ("x", "y")
            )
        )
        paths = [str(folder / name) for name in ("pairs.jsonl", "judges.toml", "out")]
        result = subprocess.run(
            [sys.executable, "-c", RUNNER, *paths], capture_output=True, text=True, check=True
        )
        return json.loads(result.stdout)
    finally:
        server.kill()
        server.wait()
