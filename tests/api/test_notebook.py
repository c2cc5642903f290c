"""Notebooks: the README's lines and the shipped notebook in a real Jupyter kernel."""

import asyncio
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from judgepanel.api.studies import ProgressLine
from judgepanel.votes.errors import SAMPLE_FOLDER

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "first_decision.ipynb"
FIGURE = "application/vnd.plotly.v1+json"
PATIENCE = 600
STOPPED = """cut = jp.curve(jp.load("sample_data/clean_pairwise_votes.csv"), splits=5000)
cut"""
AFTER = "(cut.partial, 0 < cut.result.n_splits < 5000)"


class Stopping(NotebookClient):
    """Runs cells; presses the stop button of one as soon as it shows its progress."""

    pressed = None

    def process_message(self, msg, cell, cell_index):
        output = super().process_message(msg, cell, cell_index)
        shows_progress = msg["msg_type"] == "display_data"
        if cell.source == STOPPED and shows_progress and self.pressed is None:
            self.pressed = asyncio.ensure_future(self.km.interrupt_kernel())
        return output


def quick(source):
    """The same with two splits of six judges."""
    return source.replace("splits=20", "splits=2").replace('.csv")', '.csv").iloc[:, :8]')


def shipped_cells():
    return [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]


def run(folder, sources):
    """The cells after a kernel has run them; the samples are in its folder and in that above."""
    for place in (folder, folder.parent):
        shutil.copytree(SAMPLE_FOLDER, place / "sample_data")
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": str(folder)}}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(folder / name))
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        Stopping(notebook, timeout=PATIENCE, kernel_name="python3", resources=resources).execute()
    return notebook.cells


@dataclass(frozen=True)
class Session:
    """A kernel's folder, and below which cells it showed what."""

    folder: Path
    readme: list
    scores: NotebookNode
    shipped: list
    stopped: NotebookNode
    after: NotebookNode

    @property
    def cells(self):
        return [*self.readme, self.scores, *self.shipped, self.stopped, self.after]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder, text = tmp_path_factory.mktemp("notebook") / "docs", (ROOT / "README.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in block.splitlines() if line]
    shipped = [cell.source for cell in shipped_cells()]
    sources = [quick(source) for source in (*lines, "scores", *shipped)]
    cells = run(folder, [*sources, STOPPED, AFTER])
    *middle, stopped, after = cells[len(lines) :]
    return Session(folder, cells[: len(lines)], middle[0], middle[1:], stopped, after)


def bundles(cell):
    """What stands below a cell, by MIME type; an ended line of progress is empty."""
    assert {output.output_type for output in cell.outputs} <= {"display_data", "execute_result"}
    shown = [output.data for output in cell.outputs]
    return [bundle for bundle in shown if any(bundle.values())]


def html(cell):
    (bundle,) = bundles(cell)
    return bundle["text/html"]


def test_the_readme_goes_from_a_frame_to_scores_in_eight_lines(session):
    assert len(session.readme) <= 8
    (figure,) = (bundle for cell in session.readme for bundle in bundles(cell) if FIGURE in bundle)
    assert {"data", "layout"} <= set(figure[FIGURE])
    assert (session.folder / "panel.json").stat().st_size > 0
    scores = html(session.scores)
    assert all(f"<th>{name}</th>" in scores for name in ("item_id", "p", "decision", "n_votes"))
    assert "100 rows" in scores


def test_the_shipped_notebook_shows_an_answer_for_every_step(session):
    assert all(not cell.outputs for cell in shipped_cells())
    shown = [bundles(cell)[0] for cell in session.shipped]
    assert sum(FIGURE in bundle for bundle in shown) == 2
    assert sum('class="answer"' in bundle.get("text/html", "") for bundle in shown) == 4
    assert re.fullmatch(r"'\d+% of \d+ decisions are right\.'", shown[-1]["text/plain"])


def test_the_stop_button_keeps_what_is_complete(session):
    shown = html(session.stopped)
    assert "So far, " in shown
    assert "Interrupted: this rests on" in shown
    assert bundles(session.after)[0]["text/plain"] == "(True, True)"


def test_a_line_of_progress_is_gone_at_the_end(session):
    outputs = [output for cell in session.cells for output in cell.outputs]
    progress = [output.data for output in outputs if output.output_type == "display_data"]
    lines = [bundle for bundle in progress if FIGURE not in bundle]
    assert lines == [{"text/plain": "", "text/html": ""}] * 5


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows, cell by cell; the stop button is pressed as the first appears."""
    cells = []

    class Handle:
        def display(self, cell, *, raw):
            cells.append(cell)
            raise KeyboardInterrupt

        def update(self, cell, *, raw):
            cells[-1] = cell

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(DisplayHandle=Handle))
    return cells


def test_a_line_interrupted_as_it_appears_is_gone_at_the_end(shown):
    with pytest.raises(KeyboardInterrupt), ProgressLine() as line:
        line.show("1/10 parts", 0.1)
    assert shown == [{"text/plain": "", "text/html": ""}]
