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
LIBRARIES = """
import sys
import pandas, pyarrow, scipy
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
SCRIPT = """
import sys
from judgepanel.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as stop:
    status = stop.code
print(*sys.modules, sep="\\n", file=sys.stderr)
sys.exit(status)
"""


def imported(*arguments):
    """Modules that a command has imported when it ends."""
    return modules_of(SCRIPT, *map(str, arguments))


def needless():
    """Heavy modules, less those that older pandas and SciPy import on their own."""
    return HEAVY - modules_of(LIBRARIES)


def modules_of(script, *arguments):
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stderr.splitlines())


RECOMMENDING = """
import sys
import judgepanel.cli.studying, judgepanel.decision.recommend
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
SERVER = """
import sys
import judgepanel.ui.server, judgepanel.ui.frame, judgepanel.ui.pages.start
print(*sys.modules, sep="\\n", file=sys.stderr)
"""
START_PAGE = """
import sys
import judgepanel.ui.frame, judgepanel.ui.pages.start, judgepanel.ui.pages.home
import judgepanel.votes.simulate, judgepanel.service.sql
from judgepanel.service.database import connect
from judgepanel.service.database import prepare
for _ in range(2):
    prepare(connect("sqlite:///" + sys.argv[1]))
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_the_parser_answers_needs_no_library(option):
    assert not imported(option) & (HEAVY | FRAMES)


def test_inspect_imports_no_figures_estimators_or_database():
    modules = imported("inspect", VOTES)
    assert "pandas" in modules
    assert not modules & needless()


def test_score_imports_no_figures_estimators_or_database(cli, tmp_path):
    panel, out = tmp_path / "panel.json", tmp_path / "scored.csv"
    names = VOTES.read_text("utf-8").partition("\n")[0].split(",")[6:10]
    (tmp_path / "judges.txt").write_text("\n".join(names), "utf-8")
    options = ("--splits", "2", "--jobs", "1", "--judges", tmp_path / "judges.txt")
    assert cli("recommend", VOTES, *options, "--out", panel).status == 0
    modules = imported("score", panel, VOTES, "--out", out)
    assert len(out.read_text("utf-8").splitlines()) == len(VOTES.read_text("utf-8").splitlines())
    assert not modules & needless()


def test_a_study_imports_no_estimators_and_no_study_of_another_page():
    modules = imported("curve", VOTES, "--splits", "2", "--jobs", "1")
    assert "judgepanel.studies.decide.panel_curve" in modules
    assert "sklearn" not in modules
    others = ("robustness.corruption", "understand.method_grid", "trust.scope", "paper.claim")
    assert not modules & {f"judgepanel.studies.{other}" for other in others}


def test_recommending_imports_no_estimators_and_compiles_nothing_before_its_first_fit():
    modules = modules_of(RECOMMENDING)
    assert "judgepanel.decision.recommend" in modules
    heavy = {name for name in HEAVY if name.startswith("scipy.")}
    assert not modules & ({"sklearn", "numba", "streamlit", "sqlalchemy", *heavy} & needless())


def test_a_server_is_up_and_shows_its_uploader_without_database_or_tables():
    modules = modules_of(SERVER)
    assert "streamlit" in modules
    assert not modules & {"sqlalchemy", "numpy", "pandas", "joblib", "judgepanel.studies"}


def test_the_start_page_imports_neither_studies_nor_what_they_compute_with(tmp_path):
    modules = modules_of(START_PAGE, str(tmp_path / "new.db"))
    assert "sqlalchemy" in modules
    assert not modules & ({"sklearn", "scipy.stats", "scipy.optimize"} & needless())
    assert not modules & {"numba", "judgepanel.models", "judgepanel.ui.render"}
    assert not modules & {"judgepanel.present.registry", "judgepanel.decision.recommend"}
    assert not any(name.startswith("judgepanel.kernels.evaluation") for name in modules)
