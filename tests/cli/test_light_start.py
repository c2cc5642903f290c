"""Commands and the first page import what they use: no figures, estimators, database or server."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VOTES = ROOT / "sample_data" / "llmbar_votes.csv"
HEAVY = {
    *("scipy.special", "scipy.stats", "scipy.optimize", "scipy.sparse"),
    *("sklearn", "joblib", "numba"),
    *("plotly", "sqlalchemy", "streamlit", "httpx"),
}
FRAMES = {"numpy", "pandas", "pyarrow", "scipy"}
COMMAND = """
from judgepanel.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as stop:
    status = stop.code
assert not status
"""
START_PAGE = """
import judgepanel.ui.frame, judgepanel.ui.pages.start, judgepanel.ui.pages.home
import judgepanel.votes.simulate, judgepanel.service.sql
from judgepanel.service.database import connect, prepare
for _ in range(2):
    prepare(connect("sqlite:///" + sys.argv[1]))
"""


def modules_of(code, *arguments):
    """Modules that a process has imported when this code has run."""
    script = f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    command = [sys.executable, "-c", script, *map(str, arguments)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(ran.stderr.splitlines())


def needless():
    """Heavy modules, less those that older pandas and SciPy import on their own."""
    return HEAVY - modules_of("import pandas, pyarrow, scipy")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_the_parser_answers_needs_no_library(option):
    assert not modules_of(COMMAND, option) & (HEAVY | FRAMES)


def test_inspect_imports_no_figures_estimators_or_database():
    modules = modules_of(COMMAND, "inspect", VOTES)
    assert "pandas" in modules
    assert not modules & needless()


def test_score_imports_no_figures_estimators_or_database(cli, tmp_path):
    panel, out = tmp_path / "panel.json", tmp_path / "scored.csv"
    names = VOTES.read_text("utf-8").partition("\n")[0].split(",")[6:10]
    (tmp_path / "judges.txt").write_text("\n".join(names), "utf-8")
    options = ("--splits", "2", "--jobs", "1", "--judges", tmp_path / "judges.txt")
    assert cli("recommend", VOTES, *options, "--out", panel).status == 0
    modules = modules_of(COMMAND, "score", panel, VOTES, "--out", out)
    assert len(out.read_text("utf-8").splitlines()) == len(VOTES.read_text("utf-8").splitlines())
    assert not modules & needless()


def test_a_study_imports_no_estimators_and_no_study_of_another_page():
    modules = modules_of(COMMAND, "curve", VOTES, "--splits", "2", "--jobs", "1")
    assert "judgepanel.studies.decide.panel_curve" in modules
    assert "sklearn" not in modules
    others = ("robustness.corruption", "understand.method_grid", "trust.scope", "paper.claim")
    assert not modules & {f"judgepanel.studies.{other}" for other in others}


def test_recommending_imports_no_estimators_and_compiles_nothing_before_its_first_fit():
    modules = modules_of("import judgepanel.cli.studying, judgepanel.decision.recommend")
    assert "judgepanel.decision.recommend" in modules
    heavy = {name for name in HEAVY if name.startswith("scipy.")}
    assert not modules & ({"sklearn", "numba", "streamlit", "sqlalchemy", *heavy} & needless())


def test_a_server_is_up_and_shows_its_uploader_without_database_or_tables():
    first = "import judgepanel.ui.server, judgepanel.ui.frame, judgepanel.ui.pages.start"
    modules = modules_of(first)
    assert "streamlit" in modules
    assert not modules & {"sqlalchemy", "numpy", "pandas", "joblib", "judgepanel.studies"}


def test_the_start_page_imports_neither_studies_nor_what_they_compute_with(tmp_path):
    modules = modules_of(START_PAGE, tmp_path / "new.db")
    assert "sqlalchemy" in modules
    assert not modules & ({"sklearn", "scipy.stats", "scipy.optimize"} & needless())
    assert not modules & {"numba", "judgepanel.models", "judgepanel.ui.render"}
    assert not modules & {"judgepanel.present.registry", "judgepanel.decision.recommend"}
    assert not any(name.startswith("judgepanel.kernels.evaluation") for name in modules)
