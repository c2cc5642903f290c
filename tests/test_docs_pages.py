"""The documentation pages: complete, runnable, and with working links."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

import pytest

import judgepanel.models
from judgepanel.present.pages import PAGES as MENU

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
INDEX = ROOT / "docs" / "index.md"
PROSE = {"index.md", "operations.md"}
"""Pages without anything to run."""
LINKED = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    ROOT / "sample_data" / "README.md",
    *PAGES,
]
IN_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, made the way code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", IN_FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).strip().replace(" ", "-") for name in headings}


def test_the_readme_lists_every_page_of_the_dashboard_with_its_question() -> None:
    rows = re.findall(r"^\| ([A-Z][\w ]+) \| (.+\?) \|$", text_of(LINKED[0]), re.MULTILINE)
    assert rows == [(page.title, page.question) for page in MENU]


def test_every_public_estimator_has_its_name_in_a_page() -> None:
    pages = "\n".join(text_of(page) for page in PAGES)
    names = judgepanel.models.__all__
    public = [name for name in names if inspect.isclass(getattr(judgepanel.models, name))]
    assert public
    assert [name for name in public if not re.search(rf"\b{name}\b", pages)] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_python_of_a_page_runs_and_its_assertions_hold(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = PYTHON.findall(text_of(page))
    if not blocks:
        assert page.name in PROSE or "```bash" in text_of(page), "a page shows what it says in code"
        return
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    shared: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), shared)  # noqa: S102


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_every_link_of_a_page_leads_to_a_file_and_heading_of_the_repository(page: Path) -> None:
    lost = []
    for target in LINK.findall(IN_FENCE.sub("", text_of(page))):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        resolve = (page.parent / file).resolve() if file else page
        inside = resolve.is_relative_to(ROOT) and resolve.exists()
        if not inside or (anchor and anchor not in anchors(resolve)):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != INDEX], ids=named)
def test_a_reader_of_the_readme_finds_the_page(page: Path) -> None:
    assert "(docs/index.md)" in text_of(ROOT / "README.md")
    assert f"({page.name})" in text_of(INDEX)


def test_pictures_are_small_and_shown() -> None:
    pictures = sorted((ROOT / "docs" / "images").iterdir())
    join = "\n".join(text_of(page) for page in LINKED)
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < 250_000, picture.name
        assert f"images/{picture.name})" in join, picture.name
