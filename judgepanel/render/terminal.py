"""Blocks as text for a terminal: tables by columns, no figures, no control sequences."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from judgepanel.present.blocks import (
    Answer,
    Block,
    Box,
    Caveat,
    Command,
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
from judgepanel.words.text import one_line, printable


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
            return _table(block)
        case Figure():
            return ""
        case Box(words, inside):
            return f"\n{_line(words)}\n{terminal_text(inside)}"
        case Row(inside):
            return terminal_text(inside)


def _line(text: str) -> str:
    return " ".join(printable(in_terminal(text)).split())


def _table(block: Table) -> str:
    names = [one_line(str(name)) for name in block.columns]
    rows = [[one_line(cell) for cell in row] for row in block.rows()]
    columns = pd.DataFrame(rows, columns=pd.Index(range(len(names))))
    text = columns.to_string(index=False, header=names) if rows else "(no rows)"
    parts = [_line(block.caption), text, block.rows_left()]
    return "\n" + "\n".join(part for part in parts if part) + "\n"
