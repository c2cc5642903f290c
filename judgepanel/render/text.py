"""Blocks as Markdown; figures are replaced by their description.

Blocks as text for a terminal: tables by columns, no figures, no control sequences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

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
)
from judgepanel.votes.errors import in_terminal
from judgepanel.words.text import LONGEST, markdown, one_line, printable


def markdown_text(document: Document) -> str:
    """Return a document as Markdown."""
    sheet = [*map(block_markdown, document.sheet), "---"] if document.sheet else []
    rest = map(block_markdown, document.blocks)
    parts = [f"# {markdown(document.title, 200)}", *sheet, *rest]
    return "\n\n".join(part for part in parts if part) + "\n"


def block_markdown(block: Block) -> str:  # noqa: PLR0911
    """Return one block as Markdown."""
    match block:
        case Heading(text, level):
            return f"{'#' * level} {markdown(text)}"
        case Answer(text):
            words = markdown(text, LONGEST)
            return f"**{words}**" if words else ""
        case Paragraph(text):
            return markdown(text, LONGEST)
        case Caveat(text):
            return f"Note: {markdown(text, LONGEST)}"
        case Method(text):
            return f"How this was computed: {markdown(text, LONGEST)}"
        case Facts(pairs):
            return "\n".join(f"- {markdown(k)}: {markdown(v, LONGEST)}" for k, v in pairs)
        case Names(title, names, more):
            listed = ", ".join(markdown(name) for name in names) + (f", {more}" if more else "")
            return f"**{markdown(title)}**: {listed}"
        case Command(text):
            longest = max((len(run) for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}\n{text}\n{fence}"
        case Table():
            return _table(block)
        case Figure():
            return f"*{markdown(block.alt, 2_000)}*"
        case Box():
            inside = [markdown(block.words, LONGEST), *map(block_markdown, block.blocks)]
            quoted = "\n\n".join(part for part in inside if part).splitlines()
            return "\n".join(f"> {line}".rstrip() for line in quoted)
        case Row(parts):
            return "\n\n".join(part for part in map(block_markdown, parts) if part)


def _table(block: Table) -> str:
    names = [str(name) for name in block.columns]
    lines = [_row(names), "|" + "---|" * len(names), *map(_row, block.rows())]
    lines = [*([markdown(block.caption), ""] if block.caption else []), *lines]
    note = block.rows_left()
    return "\n".join([*lines, *(["", markdown(note)] if note else [])])


def _row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in texts) + " |"


def terminal_text(blocks: Iterable[Block]) -> str:
    """Return the blocks in order, with an empty line before a heading or a table."""
    return "\n".join(part for block in blocks if (part := _block(block))).strip("\n")


def _block(block: Block) -> str:  # noqa: PLR0911
    match block:
        case Heading(text):
            return f"\n{_line(text)}"
        case Answer(text) | Paragraph(text) | Command(text):
            return _line(text)
        case Caveat(text):
            return _line(f"Note: {text}")
        case Method(text):
            return _line(f"How this was computed: {text}")
        case Facts(pairs):
            return "\n".join(_line(f"{name}: {value}") for name, value in pairs)
        case Names(title, names, more):
            return _line(f"{title}: {', '.join([*names, *([more] if more else [])])}")
        case Table():
            return _terminal_table(block)
        case Figure():
            return ""
        case Box(words, inside):
            return f"\n{_line(words)}\n{terminal_text(inside)}"
        case Row(inside):
            return terminal_text(inside)


def _line(text: str) -> str:
    return " ".join(printable(in_terminal(text)).split())


def _terminal_table(block: Table) -> str:
    names = [one_line(str(name)) for name in block.columns]
    rows = [[one_line(cell) for cell in row] for row in block.rows()]
    columns = pd.DataFrame(rows, columns=pd.Index(range(len(names))))
    text = columns.to_string(index=False, header=names) if rows else "(no rows)"
    parts = [_line(block.caption), text, block.rows_left()]
    return "\n" + "\n".join(part for part in parts if part) + "\n"
