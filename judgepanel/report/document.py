"""A report as blocks, and how they become one self-contained HTML file or Markdown.

HTML carries its figures and the script that draws them, and asks for nothing from any host. All
text is untrusted and reaches both forms escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from judgepanel.report.text import in_html, markdown

_LONG = 20_000


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
    """A table; ``caption`` says what it shows."""

    frame: pd.DataFrame
    caption: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A figure, and in words what it shows; Markdown has the words alone."""

    figure: go.Figure
    alt: str


Block = Heading | Paragraph | Facts | Code | Rows | Drawing


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A title and blocks in order."""

    title: str
    blocks: tuple[Block, ...]


def html_text(document: Document) -> str:
    """One HTML file that needs no network; its figures can be hovered over."""
    drawn = any(isinstance(block, Drawing) for block in document.blocks)
    script = get_plotlyjs() if drawn else ""
    body = "\n".join(_in_html(block, place) for place, block in enumerate(document.blocks))
    title = in_html(document.title, 200)
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
        "script-src 'unsafe-inline'"
    )
    head = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f"<script>{script}</script>" if drawn else "",
        "</head>",
        f"<body><main><h1>{title}</h1>",
    ]
    return "\n".join([*[line for line in head if line], body, "</main></body>", "</html>", ""])


def markdown_text(document: Document) -> str:
    """The same in Markdown; figures are their words."""
    parts = [f"# {markdown(document.title, 200)}"]
    parts += [_in_markdown(block) for block in document.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_html(block: Block, place: int) -> str:
    if isinstance(block, Heading):
        return f"<h2>{in_html(block.text)}</h2>"
    if isinstance(block, Paragraph):
        kind = ' class="answer"' if block.strong else ' class="note"' if block.quiet else ""
        return f"<p{kind}>{in_html(block.text, _LONG)}</p>"
    if isinstance(block, Facts):
        pairs = (f"<dt>{in_html(k)}</dt><dd>{in_html(v, _LONG)}</dd>" for k, v in block.pairs)
        return f"<dl>{''.join(pairs)}</dl>"
    if isinstance(block, Code):
        return f"<pre><code>{in_html(block.text, _LONG)}</code></pre>"
    if isinstance(block, Rows):
        return _table(block)
    made = block.figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"figure-{place}",
        config={"displayModeBar": False, "responsive": True},
    )
    return f'<figure role="img" aria-label="{in_html(block.alt)}">{made}</figure>'


def _table(block: Rows) -> str:
    heads = "".join(f'<th scope="col">{in_html(str(name))}</th>' for name in block.frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{in_html(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(block.frame)
    )
    caption = f"<caption>{in_html(block.caption)}</caption>" if block.caption else ""
    return (
        f'<div class="wide" tabindex="0"><table>{caption}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _in_markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {markdown(block.text)}"
    if isinstance(block, Paragraph):
        text = markdown(block.text, _LONG)
        return f"**{text}**" if block.strong else text
    if isinstance(block, Facts):
        return "\n".join(f"- {markdown(k)}: {markdown(v, _LONG)}" for k, v in block.pairs)
    if isinstance(block, Code):
        longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}\n{block.text}\n{fence}"
    if isinstance(block, Rows):
        names = [str(name) for name in block.frame.columns]
        lines = [_row(names), "|" + "---|" * len(names), *map(_row, _cells(block.frame))]
        return "\n".join([*([markdown(block.caption), ""] if block.caption else []), *lines])
    return f"*{markdown(block.alt)}*"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"


def _cells(frame: pd.DataFrame) -> Iterable[list[str]]:
    """Cells as text: numbers to three decimals, blanks blank."""
    for row in frame.itertuples(index=False):
        yield ["" if pd.isna(v) else f"{v:.3f}" if isinstance(v, float) else str(v) for v in row]


_STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #0f1720;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; margin: 0 0 .75rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.answer { font-weight: 600; font-size: 1.1rem; border-left: 4px solid #4c78a8; background: #eef1f6;
  padding: .6rem .8rem; }
.note { color: #4a5560; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: #4a5560; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
caption { text-align: left; color: #4a5560; padding-bottom: .3rem; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #cbd2d9;
  white-space: nowrap; }
pre { background: #f3f5f7; padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
figure { margin: .5rem 0; }
@media print { .wide { overflow: visible; } }
"""
