"""Worker processes: they end with the process that started them, however it ends."""

import os
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONG = 30
SERVER = """
import os
from joblib import Parallel, delayed
from judgepanel.studies import runner

runner.default_jobs = lambda: 2
runner.warm("loky", "json")
print(*set(Parallel(n_jobs=2, backend="loky")(delayed(os.getpid)() for _ in range(8))), flush=True)
input()
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text(encoding="ascii").split()[2] != "Z"


def test_workers_end_soon_after_their_server_was_killed():
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as server:
        workers = [int(pid) for pid in server.stdout.readline().split()]
        assert workers
        assert server.pid not in workers
        server.kill()
    pause = threading.Event()
    for _ in range(LONG * 20):
        if not any(is_alive(pid) for pid in workers):
            break
        pause.wait(0.05)
    assert not [pid for pid in workers if is_alive(pid)]
