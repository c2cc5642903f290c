"""Hooks of MkDocs: pages that stand outside docs/, the Python reference, the glossary, the gallery.

Links between pages are written for readers of the repository. Those to what is a page of the site
as well lead there; those to code and tests become plain names.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import judgepanel
from judgepanel import models
from judgepanel.api.reports import write_report
from judgepanel.api.studies import Workers
from judgepanel.studies.contract import Settings
from judgepanel.ui.glossary import TERMS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SAMPLE = "sample_data/llmbar_votes.csv"
SPLITS = "JUDGEPANEL_GALLERY_SPLITS"
"""How many splits the gallery has; 0 leaves it out."""
OUTSIDE = {
    "README.md": "start.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "sample_data/README.md": "samples.md",
}
FOUND_FIRST = ("aggregators.md", "cost.md", "scope.md", "share.md")
"""Pages that answer what is often asked: search lists them above all others."""
FOUND_LAST = (
    "benchmarks/",
    "changelog.md",
    "columns.md",
    "contributing.md",
    "index.md",
    "limits.md",
)
"""Pages that search lists below those that answer a user's question."""
MORE = {
    **dict.fromkeys(("P0", "P1", "P2", "P3"), "scope.md#what-to-do-when-a-check-fails"),
    "One-coin": "aggregators.md#one-coin",
}
"""Where the site says more about a term of the glossary."""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_SECTION = re.compile(r'<h2 id="(\w+)">([^<]+)</h2>')
_ROLE = re.compile(r":(?:func|class|meth):(<code[^>]*>|`)~?(?:[a-z_]\w*\.)*([^<`]+)(</code>|`)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)

_LOG = logging.getLogger("mkdocs.hooks.docs_site")
"""MkDocs prints it on standard error, and not with --quiet."""

_sources: dict[str, str] = {}
"""Where a page of the site stands in the repository, by its place in the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the benchmarks in the menu."""
    results = [f"benchmarks/{path.name}" for path in sorted(RESULTS.glob("*.md"))]
    nav: list[Any] = list(config.nav or [])
    config.nav = [
        {"Benchmarks": results} if entry == {"Benchmarks": "benchmarks/"} else entry
        for entry in nav
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what stands elsewhere, and what is made."""
    _LOG.info("Pages: the Python reference, the glossary and what stands outside docs/")
    _sources.clear()
    for file in files.documentation_pages():
        _sources[file.src_uri] = f"docs/{file.src_uri}"
    benchmarks = {f"benchmarks/results/{p.name}": f"benchmarks/{p.name}" for p in _results()}
    for source, place in {**OUTSIDE, **benchmarks}.items():
        _sources[place] = source
        files.append(File.generated(config, place, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "api.md", content=_reference()))
    files.append(File.generated(config, "glossary.md", content=_glossary()))
    files.append(File.generated(config, "gallery.md", content=_gallery(config, files)))
    _LOG.info("Site: %d pages", len(files.documentation_pages()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links of the repository into links of the site."""
    if page.file.src_uri.startswith(FOUND_LAST):
        page.meta["search"] = {"boost": 0.1}
    if page.file.src_uri in FOUND_FIRST:
        page.meta["search"] = {"boost": 4}
    source = _sources.get(page.file.src_uri)
    if source is None:
        return markdown
    places = {where: place for place, where in _sources.items()}
    here = PurePosixPath(source).parent

    def moved(match: re.Match[str]) -> str:
        mark, text, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match[0]
        where = normpath(str(here / path))
        if where == "benchmarks/results":
            where = f"benchmarks/results/{_results()[0].name}"
        place = places.get(where)
        if place is None and where.startswith("docs/"):
            place = where.removeprefix("docs/")  # A picture, or a notebook.
        if place is None:
            return text if text.startswith("`") else f"`{text}`"
        link = relpath(place, str(PurePosixPath(page.file.src_uri).parent))
        return f"{mark}[{text}]({link}{'#' + anchor if anchor else ''})"

    parts = _FENCE.split(markdown)
    return "".join(part if n % 2 else _LINK.sub(moved, part) for n, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show what docstrings refer to by a role, such as :func:`judgepanel.load`, by its name."""
    return _ROLE.sub(lambda role: "".join(role.groups()).replace("`", ""), html)


def _results() -> list[Path]:
    return sorted(RESULTS.glob("*.md"))


def _reference() -> str:
    """The public functions and the estimators, from their docstrings."""
    parts = ["# Python", "`import judgepanel as jp`, as in [notebooks and scripts](python.md)."]
    for module, intro in ((judgepanel, ""), (models, "Estimators, reached as `jp.models`:")):
        objects = [getattr(module, name) for name in module.__all__]
        documented = [it for it in objects if hasattr(it, "__qualname__") and it.__doc__]
        documented.sort(key=lambda it: isinstance(it, type))  # Functions first.
        parts += [intro, *(f"::: {it.__module__}.{it.__qualname__}" for it in documented)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _glossary() -> str:
    """The terms of the pages, as the dashboard defines them."""
    parts = ["# Glossary", "The terms of the pages; the menu of the dashboard has them as well."]
    for term, text in TERMS.items():
        more = f" [More]({MORE[term]})." if term in MORE else ""
        parts += [f"## {term}", text + more]
    return "\n\n".join(parts) + "\n"


def _gallery(config: MkDocsConfig, files: Files) -> str:
    """A page that shows the report on LLMBar with every figure of every page."""
    splits = int(os.environ.get(SPLITS, "10"))
    head = "# Gallery\n\nEvery figure of every page on the votes of LLMBar (419 items, 65 judges), "
    if not splits:
        return head + "is not part of this build.\n"
    report = Path(config.site_dir).parent / ".gallery" / "llmbar.html"
    report.parent.mkdir(exist_ok=True)
    _compute(report, splits)
    files.append(File.generated(config, "gallery/llmbar.html", abs_src_path=str(report)))
    sections = _SECTION.findall(report.read_text("utf-8"))
    listed = " &middot; ".join(
        f'<a href="gallery/llmbar.html#{key}" target="report">{title}</a>'
        for key, title in sections
    )
    return (
        head + "with its answer, caveats and table, as in a report "
        "([on a page of its own](gallery/llmbar.html)).\n\n"
        f'<p class="gallery">{listed}</p>\n\n'
        '<iframe class="gallery" name="report" title="Report on LLMBar" '
        'src="gallery/llmbar.html"></iframe>\n\nThis command makes it:\n\n'
        f"```sh\n./run cli report {SAMPLE} --splits {splits} --out llmbar.html\n```\n"
    )


def _compute(report: Path, splits: int) -> None:
    """Write the report of the gallery, which takes minutes, with a line for each study."""
    write_report(
        judgepanel.load(ROOT / SAMPLE),
        report,
        None,
        Settings(splits=splits),
        Workers(),
        keep_interrupted=False,
        announce=lambda study: _LOG.info("Gallery: %s", study),
    )
