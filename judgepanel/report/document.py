"""A report as blocks, and how they become one self-contained HTML file or Markdown.

HTML carries its figures and the script that draws them, and asks for nothing from any host. Its
policy lets run those two scripts alone, by their hashes. All text is untrusted and reaches both
forms escaped.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from judgepanel.figures.style import standing_alone
from judgepanel.report.document_style import DRAW, STYLE
from judgepanel.report.numbers import percent
from judgepanel.report.text import in_html, markdown

_LONG = 20_000
_WRAPS = 40
_CONTENTS = 4
"""Headings from which on there is a list of them, before the first."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A section begins."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences; ``strong`` for the answer, ``quiet`` for what explains it."""

    text: str
    strong: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A command, to be copied."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table; ``caption`` says what it shows, ``percents`` are columns that hold shares.

    At most ``most`` rows are shown, and how many are left.
    """

    frame: pd.DataFrame
    caption: str = ""
    percents: Collection[str] = ()
    most: int = 200


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A figure, and in words what it shows; Markdown has the words alone."""

    figure: go.Figure
    alt: str


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Blocks that one sentence marks; ``coding`` where they measure how labels were coded."""

    words: str
    blocks: tuple[Block, ...]
    coding: bool = False


Block = Heading | Paragraph | Facts | Code | Rows | Drawing | Box


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A title and blocks in order."""

    title: str
    blocks: tuple[Block, ...]


def html_text(document: Document) -> str:
    """One HTML file that needs no network; its figures can be hovered over."""
    drawn = any(isinstance(block, Drawing) for block in _flat(document.blocks))
    scripts = [_one_newline(get_plotlyjs()), DRAW] if drawn else []
    title = in_html(document.title, 200)
    made = [_in_html(block, f"s{i}") for i, block in enumerate(document.blocks)]
    first = next((i for i, block in enumerate(document.blocks) if isinstance(block, Heading)), 0)
    made.insert(first, _contents(document.blocks))
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
        f"<body><main><h1>{title}</h1>",
        *made,
        "</main>",
        *(f"<script>{script}</script>" for script in scripts),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def markdown_text(document: Document) -> str:
    """The same in Markdown; figures are their words."""
    parts = [f"# {markdown(document.title, 200)}"]
    parts += [_in_markdown(block) for block in document.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks, those in boxes too."""
    for block in blocks:
        yield block
        if isinstance(block, Box):
            yield from _flat(block.blocks)


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and no script runs but these."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    known = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; script-src {known or repr('none')}"
    )


def _one_newline(script: str) -> str:
    """As a browser reads it before it takes the hash."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _contents(blocks: tuple[Block, ...]) -> str:
    heads = [(i, block.text) for i, block in enumerate(blocks) if isinstance(block, Heading)]
    if len(heads) < _CONTENTS:
        return ""
    links = "".join(f'<li><a href="#s{i}">{in_html(text)}</a></li>' for i, text in heads)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def _in_html(block: Block, name: str) -> str:
    match block:
        case Heading(text):
            made = f'<h2 id="{name}">{in_html(text)}</h2>'
        case Paragraph(text, strong, quiet):
            kind = ' class="answer"' if strong else ' class="note"' if quiet else ""
            made = f"<p{kind}>{in_html(text, _LONG)}</p>"
        case Facts(pairs):
            rows = (f"<dt>{in_html(k)}</dt><dd>{in_html(v, _LONG)}</dd>" for k, v in pairs)
            made = f"<dl>{''.join(rows)}</dl>"
        case Code(text):
            made = f"<pre><code>{html.escape(_printable(text))}</code></pre>"
        case Rows():
            made = _table(block)
        case Drawing():
            made = _figure(block, name)
        case Box():
            made = _box(block, name)
    return made


def _printable(text: str) -> str:
    """A command whole, in one line: commands write what cannot be printed as escapes."""
    return "".join(char if char.isprintable() else " " for char in text)


def _box(block: Box, name: str) -> str:
    kind = "box coding" if block.coding else "box"
    inside = "\n".join(_in_html(one, f"{name}-{i}") for i, one in enumerate(block.blocks))
    words = in_html(block.words, _LONG)
    return f'<section class="{kind}"><p class="mark">{words}</p>\n{inside}\n</section>'


def _figure(block: Drawing, name: str) -> str:
    """A place for the figure, and the figure as data, in which no mark of HTML is left."""
    height = int(block.figure.layout.height or 420)
    content = str(standing_alone(block.figure).to_json(validate=False)).replace("<", "\\u003c")
    return (
        f'<figure role="img" aria-label="{in_html(block.alt)}">'
        f'<div data-figure="{name}-data" style="height:{height}px"></div></figure>'
        f'<script type="application/json" id="{name}-data">{content}</script>'
    )


def _table(block: Rows) -> str:
    heads = "".join(f'<th scope="col">{in_html(str(name))}</th>' for name in block.frame.columns)
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in _cells(block))
    caption = f"<caption>{in_html(block.caption)}</caption>" if block.caption else ""
    left = f'<p class="note">{in_html(_left(block))}</p>' if _left(block) else ""
    return (
        f'<div class="wide" tabindex="0"><table>{caption}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{left}"
    )


def _cell(text: str) -> str:
    return f"<td{' class=long' if len(text) > _WRAPS else ''}>{in_html(text)}</td>"


def _in_markdown(block: Block) -> str:
    match block:
        case Heading(text):
            made = f"## {markdown(text)}"
        case Paragraph(text, strong):
            made = markdown(text, _LONG)
            made = f"**{made}**" if strong and made else made
        case Facts(pairs):
            made = "\n".join(f"- {markdown(k)}: {markdown(v, _LONG)}" for k, v in pairs)
        case Code(text):
            longest = max((len(run) for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            made = f"{fence}\n{text}\n{fence}"
        case Rows():
            made = _markdown_table(block)
        case Drawing():
            made = f"*{markdown(block.alt)}*"
        case Box():
            inside = [markdown(block.words, _LONG), *map(_in_markdown, block.blocks)]
            quoted = "\n\n".join(part for part in inside if part).splitlines()
            made = "\n".join(f"> {line}".rstrip() for line in quoted)
    return made


def _markdown_table(block: Rows) -> str:
    names = [str(name) for name in block.frame.columns]
    lines = [_row(names), "|" + "---|" * len(names), *map(_row, _cells(block))]
    lines = [*([markdown(block.caption), ""] if block.caption else []), *lines]
    return "\n".join([*lines, *(["", markdown(_left(block))] if _left(block) else [])])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"


def _left(block: Rows) -> str:
    more = len(block.frame) - block.most
    return f"{more:,} more rows are in the table that the command writes." if more > 0 else ""


def _cells(block: Rows) -> Iterable[list[str]]:
    """Cells as text: shares in per cent, numbers to three decimals, blanks blank."""
    names = [str(name) for name in block.frame.columns]
    for row in block.frame.head(block.most).itertuples(index=False):
        yield [_shown(v, name in block.percents) for name, v in zip(names, row, strict=True)]


def _shown(value: Any, share: bool) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, float):
        return percent(value, 3) if share else f"{value:z.3f}"
    return str(value)
