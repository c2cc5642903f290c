"""The documentation site builds completely, without a warning, and needs no other machine."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import judgepanel
from tests.setup.scripts import ROOT, script_module

LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?([^\"\s>]+)")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site without its gallery, and what the build prints; a warning ends it."""
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "JUDGEPANEL_GALLERY_SPLITS": "0", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


@pytest.fixture(scope="module")
def site(built):
    return built[0]


def test_the_build_prints_a_line_for_each_stage(built):
    lines = [line.partition("-  ")[2] for line in built[1].splitlines()]
    stages = [line.partition(":")[0] for line in lines if line.startswith(("Pages:", "Site:"))]
    assert stages == ["Pages", "Site"]


def test_the_gallery_prints_a_line_for_each_study(monkeypatch, caplog):
    docs = script_module("docs_site", ROOT / ".ci" / "docs_site.py")

    def write(*given, announce, **options):
        announce("Scope (1 of 2)")
        announce("Cost (2 of 2)")

    monkeypatch.setattr(docs, "write_report", write)
    with caplog.at_level("INFO", logger="mkdocs"):
        docs._compute(Path("llmbar.html"), 2)
    assert caplog.messages == ["Gallery: Scope (1 of 2)", "Gallery: Cost (2 of 2)"]


def test_every_page_of_the_repository_is_a_page_of_the_site(site):
    written = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    wanted = {path.stem for path in (ROOT / "docs").glob("*.md")}
    results = (ROOT / "benchmarks" / "results").glob("*.md")
    wanted |= {f"benchmarks/{path.stem}" for path in results}
    wanted |= {"start", "changelog", "security", "contributing", "samples", "api", "gallery"}
    wanted |= {"glossary"}
    assert wanted <= written


def test_the_python_reference_has_all_that_is_public(site):
    text = (site / "api.html").read_text("utf-8")
    names = set(judgepanel.__all__) - {"ENGINE", "__version__", "models"}
    names |= {name for name in judgepanel.models.__all__ if name[0].isupper()}
    assert [name for name in sorted(names) if f'.{name}"' not in text] == []
    assert not re.findall(r":(?:func|class|meth):", text)


def test_search_lists_what_is_often_asked_first(site):
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    boost = {entry["location"]: entry.get("boost", 1) for entry in index["docs"]}
    often, rarely = ("share", "cost", "scope", "aggregators"), ("changelog", "columns", "index")
    assert min(boost[f"{page}.html"] for page in often) > 1
    assert max(boost[f"{page}.html"] for page in rarely) < 1


def test_links_lead_to_pages_and_code_is_named_without_a_link(site):
    joint = (site / "joint.html").read_text("utf-8")
    assert '<a href="aggregators.html">One-coin</a>' in joint
    assert "<code>kernels/joint.py</code>" in joint
    assert '<a href="docs/' not in (site / "start.html").read_text("utf-8")
    assert '<a href="benchmarks/absence.html">' in (site / "panel_file.html").read_text("utf-8")


def test_no_page_loads_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = LOADED.findall(page.read_text("utf-8"))
        assert loaded
        assert [address for address in loaded if "//" in address] == [], page.name
