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

from plotly.offline import get_plotlyjs

from judgepanel.figures.style import GRID, INK, LINE, in_css, standing_alone
from judgepanel.present.blocks import (
    Answer,
    Block,
    Box,
    Caveat,
    Command,
    Document,
    Facts,
    Figure,
    Heading,
    Method,
    Names,
    Paragraph,
    Row,
    Table,
    flat,
)
from judgepanel.words.text import LONGEST, in_html

STYLE = f"""
:root {{ color-scheme: light dark; --ink: {INK}; --paper: #ffffff; --quiet: #4a5560;
  --line: #cbd2d9; --block: #f3f5f7; --mark: #4c78a8; --answer: #eef1f6; --link: #2f5d8c; }}
body {{ margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }}
main {{ max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }}
p {{ margin: .5rem 0; overflow-wrap: anywhere; }}
a {{ color: var(--link); }}
nav ol {{ columns: 16rem; padding-left: 1.6rem; font-size: 13px; }}
.answer {{ font-weight: 600; font-size: 1.1rem; border-left: 4px solid var(--mark);
  background: var(--answer); padding: .6rem .8rem; }}
.note {{ color: var(--quiet); font-size: 14px; }}
.box {{ border: 1px solid var(--line); border-radius: 3px; padding: .3rem .8rem .6rem;
  margin: .8rem 0; }}
.box.coding {{ border-left: 4px solid #f28e2b; }}
.mark {{ font-weight: 600; }}
.names {{ columns: 9rem 5; font-size: 13px; }}
.names span {{ display: block; break-inside: avoid; word-break: break-all;
  padding-left: .8em; text-indent: -.8em; }}
.names i {{ word-break: normal; }}
.sheet pre {{ font-size: 12px; }}
dl {{ display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .15rem 1rem;
  margin: .5rem 0; }}
dt {{ color: var(--quiet); }} dd {{ margin: 0; overflow-wrap: anywhere; }}
.wide {{ overflow-x: auto; margin: .6rem 0; }}
table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; color: var(--quiet); padding-bottom: .3rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid var(--line); white-space: nowrap; }}
td.long {{ white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }}
pre {{ background: var(--block); padding: .6rem .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; }}
figure {{ margin: .8rem 0; }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --ink: #e4e8ed; --paper: #0e1116; --quiet: #a8b2bd; --line: #3b4653; --block: #1a2029;
    --answer: #18222f; --link: #8dbbea; }}
  figure [style*="fill: {in_css(INK)}"] {{ fill: #e4e8ed !important; }}
  figure [style*="stroke: {in_css(GRID)}"] {{ stroke: #2b3440 !important; }}
  figure [style*="stroke: {in_css(LINE)}"] {{ stroke: #6b7787 !important; }}
}}
@media (max-width: 640px) {{ dl {{ display: block; }} dd {{ margin-bottom: .4rem; }} }}
@media print {{
  :root {{ color-scheme: light; }}
  main {{ max-width: none; padding: 0; }}
  nav {{ display: none; }}
  a {{ color: inherit; text-decoration: none; }}
  h2, h3, caption, .mark {{ break-after: avoid; }}
  figure, tr, .answer, pre, .wide {{ break-inside: avoid; }}
  .wide {{ overflow: visible; }}
  table {{ font-size: 8px; max-width: 100%; }}
  th, td, td.long {{ white-space: normal; min-width: 0; padding-right: .4rem; }}
  .sheet {{ break-after: page; font-size: 11px; line-height: 1.3; }}
  .sheet h1 {{ font-size: 17px; margin-bottom: 6px; }}
  .sheet p, .sheet dl, .sheet figure {{ margin: 5px 0; }}
  .sheet .answer {{ font-size: 13px; padding: 5px 8px; }}
  .sheet .note {{ font-size: 10px; }}
  .sheet .mark {{ margin-bottom: 1px; }}
  .sheet .names {{ columns: 5; font-size: 10px; margin-top: 0; }}
  .sheet dl {{ display: grid; gap: 0 10px; }} .sheet dd {{ margin: 0; }}
  .sheet pre {{ font-size: 9px; padding: 5px 8px; margin: 5px 0 0; }}
}}
@page {{ size: portrait; margin: 12mm; }}
"""

IN_NOTEBOOK = """
.judgepanel .answer { font-weight: 600; border-left: 4px solid #4c78a8; padding-left: .7em; }
.judgepanel .note { opacity: .8; }
.judgepanel .wide { overflow-x: auto; margin: .6em 0; }
.judgepanel .wide table { margin: 0; table-layout: auto; font-variant-numeric: tabular-nums; }
.judgepanel .wide caption { text-align: left; padding-bottom: .3em; }
.judgepanel .wide th, .judgepanel .wide td { text-align: left; white-space: nowrap; }
.judgepanel .wide td.long { white-space: normal; min-width: 16em; overflow-wrap: anywhere; }
"""
"""Style rules that a notebook lacks; colours follow its light or dark theme."""

DRAW = """
(function () {
  'use strict';
  var places = Array.from(document.querySelectorAll('[data-figure]'));
  function wrapped(title) {
    var words = title.split(' '), lines = [''];
    words.forEach(function (word) {
      var last = lines.length - 1, longer = (lines[last] + ' ' + word).trim();
      if (longer.length > 36 && lines[last]) { lines.push(word); } else { lines[last] = longer; }
    });
    return lines.join('<br>');
  }
  function download(format) {
    return {
      name: format, title: 'Download as ' + format.toUpperCase(), icon: Plotly.Icons.camera,
      click: function (plot) {
        var size = {width: plot.offsetWidth, height: plot.offsetHeight};
        var name = 'judgepanel-' + plot.dataset.figure.replace(/-data$/, '');
        Plotly.downloadImage(plot, Object.assign(size, {format: format, scale: 3, filename: name}));
      }
    };
  }
  places.forEach(function (place) {
    var made = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    if (innerWidth < 640) {
      Object.keys(made.layout).forEach(function (name) {
        var title = /^xaxis/.test(name) && made.layout[name].title;
        if (title && title.text) { title.text = wrapped(title.text); }
      });
    }
    Plotly.newPlot(place, made.data, made.layout, {
      responsive: true, displaylogo: false,
      modeBarButtons: [[download('png'), download('svg')], ['zoom2d', 'pan2d', 'resetScale2d']]
    });
  });
  function all(change) {
    places.forEach(function (place) { Plotly.relayout(place, change); });
  }
  addEventListener('beforeprint', function () { all({autosize: false, width: 660}); });
  addEventListener('afterprint', function () { all({autosize: true, width: null}); });
})();
"""

_WRAPS = 40
"""Number of characters from which a cell wraps."""
_CONTENTS = 4
"""Number of headings from which a table of contents precedes the first."""


def html_text(document: Document) -> str:
    """Return one HTML file that needs no network, with interactive figures."""
    has_figures = any(
        isinstance(block, Figure) for block in flat((*document.sheet, *document.blocks))
    )
    scripts = [_one_newline(get_plotlyjs()), DRAW] if has_figures else []
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


def fragment(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML for embedding in another page, without figures."""
    return "\n".join(
        block_html(_without_figures(block), "") for block in blocks if not isinstance(block, Figure)
    )


def _without_figures(block: Block) -> Block:
    if not isinstance(block, Box | Row):
        return block
    inside = (part for part in block.blocks if not isinstance(part, Figure))
    return replace(block, blocks=tuple(_without_figures(part) for part in inside))


def _policy(scripts: list[str]) -> str:
    """Return a policy that allows no requests, and only these scripts."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    known = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; script-src {known or repr('none')}"
    )


def _one_newline(script: str) -> str:
    """Normalise line ends as a browser does before it computes the hash."""
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _in_contents(block: Block) -> bool:
    return isinstance(block, Heading) and block.level == 2


def _contents(blocks: tuple[Block, ...]) -> str:
    heads = [
        (i, block.text)
        for i, block in enumerate(blocks)
        if isinstance(block, Heading) and _in_contents(block)
    ]
    if len(heads) < _CONTENTS:
        return ""
    links = "".join(f'<li><a href="#s{i}">{in_html(text)}</a></li>' for i, text in heads)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def block_html(block: Block, name: str) -> str:  # noqa: PLR0911
    """Return one block; ``name`` prefixes its element ids and must be unique in a document."""
    match block:
        case Heading(text, level):
            return f'<h{level} id="{name}">{in_html(text)}</h{level}>'
        case Answer(text):
            return f'<p class="answer">{in_html(text, LONGEST)}</p>'
        case Paragraph(text, quiet):
            return f"<p{' class=note' if quiet else ''}>{in_html(text, LONGEST)}</p>"
        case Caveat(text):
            return f'<p class="note">Note: {in_html(text, LONGEST)}</p>'
        case Method(text):
            return f'<p class="note">How this was computed: {in_html(text, LONGEST)}</p>'
        case Facts(pairs):
            rows = (f"<dt>{in_html(k)}</dt><dd>{in_html(v, LONGEST)}</dd>" for k, v in pairs)
            return f"<dl>{''.join(rows)}</dl>"
        case Names():
            return _names(block)
        case Command(text):
            return f"<pre><code>{html.escape(_printable(text))}</code></pre>"
        case Table():
            return _table(block)
        case Figure():
            return _figure(block, name)
        case Box():
            return _box(block, name)
        case Row(inside):
            return _inside(inside, name)


def _names(block: Names) -> str:
    names = [f"<span>{in_html(name)}</span>" for name in block.names]
    if block.more:
        names.append(f"<span><i>{in_html(block.more)}</i></span>")
    return f'<p class="mark">{in_html(block.title)}</p><p class="names">{" ".join(names)}</p>'


def _printable(text: str) -> str:
    """Return a complete command on one line; commands already escape unprintable characters."""
    return "".join(char if char.isprintable() else " " for char in text)


def _box(block: Box, name: str) -> str:
    kind = "box coding" if block.coding else "box"
    words, inside = in_html(block.words, LONGEST), _inside(block.blocks, name)
    return f'<section class="{kind}"><p class="mark">{words}</p>\n{inside}\n</section>'


def _inside(blocks: tuple[Block, ...], name: str) -> str:
    return "\n".join(block_html(block, f"{name}-{i}") for i, block in enumerate(blocks))


def _figure(block: Figure, name: str) -> str:
    """Return a placeholder for the figure and its data, with all HTML characters escaped."""
    height = int(block.figure.layout.height or 420)
    content = str(standing_alone(block.figure).to_json(validate=False)).replace("<", "\\u003c")
    return (
        f'<figure role="img" aria-label="{in_html(block.alt, 2_000)}">'
        f'<div data-figure="{name}-data" style="height:{height}px"></div></figure>'
        f'<script type="application/json" id="{name}-data">{content}</script>'
    )


def _table(block: Table) -> str:
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
