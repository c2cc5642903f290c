"""Blocks as Markdown; figures are replaced by their description.

Blocks as text for a terminal: tables by columns, no figures, no control sequences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from judgepanel.present import blocks
from judgepanel.votes.errors import in_terminal
from judgepanel.words.text import LONGEST, markdown, one_line, printable


def markdown_text(document: blocks.Document) -> str:
    """Return a document as Markdown."""
    sheet = [*map(block_markdown, document.sheet), "---"] if document.sheet else []
    rest = map(block_markdown, document.blocks)
    parts = [f"# {markdown(document.title, 200)}", *sheet, *rest]
    return "\n\n".join(part for part in parts if part) + "\n"


def block_markdown(block: blocks.Block) -> str:  # noqa: PLR0911
    """Return one block as Markdown."""
    match block:
        case blocks.Heading(text, level):
            return f"{'#' * level} {markdown(text)}"
        case blocks.Answer(text):
            words = markdown(text, LONGEST)
            return f"**{words}**" if words else ""
        case blocks.Paragraph(text):
            return markdown(text, LONGEST)
        case blocks.Caveat(text):
            return f"Note: {markdown(text, LONGEST)}"
        case blocks.Method(text):
            return f"How this was computed: {markdown(text, LONGEST)}"
        case blocks.Facts(pairs):
            return "\n".join(f"- {markdown(k)}: {markdown(v, LONGEST)}" for k, v in pairs)
        case blocks.Names(title, names, more):
            listed = ", ".join(markdown(name) for name in names) + (f", {more}" if more else "")
            return f"**{markdown(title)}**: {listed}"
        case blocks.Command(text):
            longest = max((len(run) for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}\n{text}\n{fence}"
        case blocks.Table():
            return _table(block)
        case blocks.Figure():
            return f"*{markdown(block.alt, 2_000)}*"
        case blocks.Box():
            inside = [markdown(block.words, LONGEST), *map(block_markdown, block.blocks)]
            quoted = "\n\n".join(part for part in inside if part).splitlines()
            return "\n".join(f"> {line}".rstrip() for line in quoted)
        case blocks.Row(parts):
            return "\n\n".join(part for part in map(block_markdown, parts) if part)


def _table(block: blocks.Table) -> str:
    names = [str(name) for name in block.columns]
    lines = [_row(names), "|" + "---|" * len(names), *map(_row, block.rows())]
    lines = [*([markdown(block.caption), ""] if block.caption else []), *lines]
    note = block.rows_left()
    return "\n".join([*lines, *(["", markdown(note)] if note else [])])


def _row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in texts) + " |"


def terminal_text(content: Iterable[blocks.Block]) -> str:
    """Return the blocks in order, with an empty line before a heading or a table."""
    return "\n".join(part for block in content if (part := _block(block))).strip("\n")


def _block(block: blocks.Block) -> str:  # noqa: PLR0911
    match block:
        case blocks.Heading(text):
            return f"\n{_line(text)}"
        case blocks.Answer(text) | blocks.Paragraph(text) | blocks.Command(text):
            return _line(text)
        case blocks.Caveat(text):
            return _line(f"Note: {text}")
        case blocks.Method(text):
            return _line(f"How this was computed: {text}")
        case blocks.Facts(pairs):
            return "\n".join(_line(f"{name}: {value}") for name, value in pairs)
        case blocks.Names(title, names, more):
            return _line(f"{title}: {', '.join([*names, *([more] if more else [])])}")
        case blocks.Table():
            return _terminal_table(block)
        case blocks.Figure():
            return ""
        case blocks.Box(words, inside):
            return f"\n{_line(words)}\n{terminal_text(inside)}"
        case blocks.Row(inside):
            return terminal_text(inside)


def _line(text: str) -> str:
    return " ".join(printable(in_terminal(text)).split())


def _terminal_table(block: blocks.Table) -> str:
    names = [one_line(str(name)) for name in block.columns]
    rows = [[one_line(cell) for cell in row] for row in block.rows()]
    columns = pd.DataFrame(rows, columns=pd.Index(range(len(names))))
    text = columns.to_string(index=False, header=names) if rows else "(no rows)"
    parts = [_line(block.caption), text, block.rows_left()]
    return "\n" + "\n".join(part for part in parts if part) + "\n"
