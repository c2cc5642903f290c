"""Blocks as one self-contained HTML file.

The file contains its figures and the script that draws them, and loads nothing from any host. Its
content security policy allows only those two scripts, by their hashes.

Style of HTML reports on screen, in dark mode and on paper, and of their figures.

Figures have the light colours of :func:`judgepanel.figures.style.standing_alone`; dark mode
replaces those of text and lines.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from judgepanel.figures.style import GRID, INK, LINE, in_css, standing_alone
from judgepanel.present import blocks
from judgepanel.words.text import LONGEST, in_html

_FOLDER = Path(__file__).parent
STYLE = Template((_FOLDER / "report.css").read_text("utf-8")).substitute(
    ink=INK, ink_css=in_css(INK), grid_css=in_css(GRID), line_css=in_css(LINE)
)

IN_NOTEBOOK = (_FOLDER / "notebook.css").read_text("utf-8")
"""Style rules that a notebook lacks; colours follow its light or dark theme."""

DRAW = (_FOLDER / "draw.js").read_text("utf-8")

_WRAPS = 40
"""Number of characters from which a cell wraps."""
_CONTENTS = 4
"""Number of headings from which a table of contents precedes the first."""


def html_text(document: blocks.Document) -> str:
    """Return one HTML file that needs no network, with interactive figures."""
    content = blocks.flat((*document.sheet, *document.blocks))
    scripts: list[str] = []
    if any(isinstance(block, blocks.Figure) for block in content):
        # Line ends as a browser normalises them before it computes the hash.
        scripts = [get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n"), DRAW]
    title = in_html(document.title, 200)
    parts = [block_html(block, f"s{i}") for i, block in enumerate(document.blocks)]
    first = next((i for i, block in enumerate(document.blocks) if _in_contents(block)), 0)
    parts.insert(first, _contents(document.blocks))
    head = f"<h1>{title}</h1>"
    if document.sheet:
        head = f'<section class="sheet">{head}\n{_inside(document.sheet, "d")}\n</section>'
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        f"<body><main>{head}",
        *parts,
        "</main>",
        *(f"<script>{script}</script>" for script in scripts),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def fragment(content: Iterable[blocks.Block]) -> str:
    """Return blocks as HTML for embedding in another page, without figures."""
    return "\n".join(
        block_html(_without_figures(block), "")
        for block in content
        if not isinstance(block, blocks.Figure)
    )


def _without_figures(block: blocks.Block) -> blocks.Block:
    if not isinstance(block, blocks.Box | blocks.Row):
        return block
    inside = (part for part in block.blocks if not isinstance(part, blocks.Figure))
    return replace(block, blocks=tuple(_without_figures(part) for part in inside))


def _policy(scripts: list[str]) -> str:
    """Return a policy that allows no requests, and only these scripts."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    known = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; script-src {known or repr('none')}"
    )


def _in_contents(block: blocks.Block) -> bool:
    return isinstance(block, blocks.Heading) and block.level == 2


def _contents(content: tuple[blocks.Block, ...]) -> str:
    heads = [
        (i, block.text)
        for i, block in enumerate(content)
        if isinstance(block, blocks.Heading) and _in_contents(block)
    ]
    if len(heads) < _CONTENTS:
        return ""
    links = "".join(f'<li><a href="#s{i}">{in_html(text)}</a></li>' for i, text in heads)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def block_html(block: blocks.Block, name: str) -> str:  # noqa: PLR0911
    """Return one block; ``name`` prefixes its element ids and must be unique in a document."""
    match block:
        case blocks.Heading(text, level):
            return f'<h{level} id="{name}">{in_html(text)}</h{level}>'
        case blocks.Answer(text):
            return f'<p class="answer">{in_html(text, LONGEST)}</p>'
        case blocks.Paragraph(text, quiet):
            return f"<p{' class=note' if quiet else ''}>{in_html(text, LONGEST)}</p>"
        case blocks.Caveat(text):
            return f'<p class="note">Note: {in_html(text, LONGEST)}</p>'
        case blocks.Method(text):
            return f'<p class="note">How this was computed: {in_html(text, LONGEST)}</p>'
        case blocks.Facts(pairs):
            rows = (f"<dt>{in_html(k)}</dt><dd>{in_html(v, LONGEST)}</dd>" for k, v in pairs)
            return f"<dl>{''.join(rows)}</dl>"
        case blocks.Names():
            return _names(block)
        case blocks.Command(text):
            # A complete command on one line; commands already escape unprintable characters.
            line = "".join(char if char.isprintable() else " " for char in text)
            return f"<pre><code>{html.escape(line)}</code></pre>"
        case blocks.Table():
            return _table(block)
        case blocks.Figure():
            return _figure(block, name)
        case blocks.Box(words, inside, coding):
            kind = "box coding" if coding else "box"
            mark = f'<p class="mark">{in_html(words, LONGEST)}</p>'
            return f'<section class="{kind}">{mark}\n{_inside(inside, name)}\n</section>'
        case blocks.Row(inside):
            return _inside(inside, name)


def _names(block: blocks.Names) -> str:
    names = [f"<span>{in_html(name)}</span>" for name in block.names]
    if block.more:
        names.append(f"<span><i>{in_html(block.more)}</i></span>")
    return f'<p class="mark">{in_html(block.title)}</p><p class="names">{" ".join(names)}</p>'


def _inside(content: tuple[blocks.Block, ...], name: str) -> str:
    return "\n".join(block_html(block, f"{name}-{i}") for i, block in enumerate(content))


def _figure(block: blocks.Figure, name: str) -> str:
    """Return a placeholder for the figure and its data, with all HTML characters escaped."""
    height = int(block.figure.layout.height or 420)
    content = str(standing_alone(block.figure).to_json(validate=False)).replace("<", "\\u003c")
    return (
        f'<figure role="img" aria-label="{in_html(block.alt, 2_000)}">'
        f'<div data-figure="{name}-data" style="height:{height}px"></div></figure>'
        f'<script type="application/json" id="{name}-data">{content}</script>'
    )


def _table(block: blocks.Table) -> str:
    heads = "".join(_head(str(name), block.help.get(name, "")) for name in block.columns)
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in block.rows())
    caption = f"<caption>{in_html(block.caption)}</caption>" if block.caption else ""
    note = f'<p class="note">{in_html(block.rows_left())}</p>' if block.rows_left() else ""
    return (
        f'<div class="wide" tabindex="0"><table>{caption}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{note}"
    )


def _head(name: str, about: str) -> str:
    title = f' title="{in_html(about, LONGEST)}"' if about else ""
    return f'<th scope="col"{title}>{in_html(name)}</th>'


def _cell(text: str) -> str:
    return f"<td{' class=long' if len(text) > _WRAPS else ''}>{in_html(text)}</td>"
