"""The command line as the tests run it: in this process, with its output captured."""

import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.decision import panel_file, recommend
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.votes import load_votes
from judgepanel.votes.errors import SAMPLE_FOLDER
from tests.helpers import single_panel

GOOD = "item_id,label,j1,j2\n" + "".join(
    f"i{n},{n % 2},{n % 2 or int(n == 8)},{(n // 2) % 2}\n" for n in range(24)
)
"""A file of votes of two judges."""


@contextmanager
def web_server(answer):
    """Serve on loopback what ``answer(path)`` gives: a status, headers and a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def error(self):
        """The one line of a refusal."""
        (line,) = self.err.splitlines()
        return line


@pytest.fixture
def cli(capsys):
    def run(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run


@pytest.fixture
def samples(tmp_path):
    """A copy of the samples, alone in a folder."""
    folder = tmp_path / "samples"
    shutil.copytree(SAMPLE_FOLDER, folder)
    return folder


@pytest.fixture
def clean(samples) -> Path:
    return samples / "clean_pairwise_votes.csv"


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def refused(cli, tmp_path):
    """Runs a command that must be refused and returns its one line."""

    def run(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        ran = cli(*arguments)
        after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        assert ran.status == 2
        assert after == before
        assert "Traceback" not in ran.err
        assert ran.error.startswith("judgepanel")
        assert ran.out == ""
        return ran.error

    return run


@pytest.fixture(scope="module")
def content():
    """What the file of a panel of two judges holds."""
    votes = load_votes(GOOD.encode(), name="v.csv").votes
    spec = recommend.RecommendSpec(settings=Settings(splits=2))
    result = run(recommend.RECOMMEND, votes, spec, jobs=1)
    ballots = prepare(votes, spec.settings).ballots
    model = single_panel(ballots, ("j1", "j2"), 2, aggregator="one_coin", calibrator="temperature")
    return panel_file.export_panel(replace(result, model=model), votes, spec, ())


@pytest.fixture
def panel(content, tmp_path):
    path = tmp_path / "panel.json"
    path.write_text(panel_file.panel_json(content), encoding="utf-8")
    return path
