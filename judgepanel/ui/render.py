"""Streamlit's renderer of blocks, beside those for documents and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import streamlit as st

from judgepanel.figures.method_grid import GridCells
from judgepanel.figures.style import text_on
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
from judgepanel.present.entry import Entry
from judgepanel.present.pages import Page
from judgepanel.present.registry import entries_of
from judgepanel.present.study import study_blocks
from judgepanel.studies.contract import Spec
from judgepanel.ui.frame import PageContext
from judgepanel.ui.glossary import with_terms
from judgepanel.ui.pipeline import known_recommendation
from judgepanel.ui.widgets import chart, downloads, table
from judgepanel.ui.work import show_result
from judgepanel.words.commands import study_command
from judgepanel.words.text import LONGEST, in_html


class Caveats:
    """Warnings that the sections of a page have shown, so that none is repeated.

    A section is redrawn while it works and must look the same each time, so its own warnings do not
    count as known to it.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: dict[str, frozenset[str]] = {"": frozenset(known)}

    def before(self, section: str) -> frozenset[str]:
        """Warnings that the other sections have shown."""
        others = (sentences for name, sentences in self._known.items() if name != section)
        return frozenset().union(*others)

    def add(self, section: str, sentences: Iterable[str]) -> None:
        """Record the warnings that a section has shown."""
        self._known[section] = self._known.get(section, frozenset()) | frozenset(sentences)


def show_study(
    entry: Entry,
    context: PageContext,
    spec: Spec,
    view: Any = None,
    *,
    caveats: Caveats,
) -> bool:
    """Show a study's stored result, or compute it; return whether the work has ended."""

    def draw(result: Any) -> None:
        draw_study(entry, context, spec, result, view, caveats=caveats)

    return show_result(entry.study, context, spec, draw)


def show_others(
    context: PageContext,
    page: Page,
    drawn: Collection[str],
    *,
    caveats: Caveats,
    ask: Callable[[Entry], tuple[Spec, Any]] | None = None,
) -> None:
    """Show the studies of a page except those in ``drawn``, each when the previous one has ended.

    ``ask`` draws a study's controls and returns its spec and view, by default its first default
    spec, which is under the recommended pipeline if that is known.
    """
    recommendation = known_recommendation(context)
    for entry in entries_of(page):
        if entry.name in drawn:
            continue
        specs = entry.specs(context.votes, context.analysis.settings, recommendation)
        if not specs:
            continue
        st.header(entry.study.title)
        spec, view = (specs[0], None) if ask is None else ask(entry)
        if not show_study(entry, context, spec, view, caveats=caveats):
            return


def draw_study(  # noqa: PLR0913
    entry: Entry,
    context: PageContext,
    spec: Spec,
    result: Any,
    view: Any = None,
    *,
    caveats: Caveats,
    skip: Collection[str] = (),
    beside: Callable[[], None] | None = None,
    below: Callable[[], None] | None = None,
) -> None:
    """Draw a study's blocks, with downloads if the result is complete.

    ``beside`` draws to the right of the blocks under the first heading. ``below`` draws what only
    this page has between the blocks and the downloads.
    """
    blocks, how = page_blocks(entry, context, spec, result, view, caveats=caveats)
    heads = [place for place, block in enumerate(blocks) if isinstance(block, Heading)]
    if beside is None or not heads:
        draw_blocks(blocks, key=entry.name, skip=skip)
    else:
        first, end = [*heads, len(blocks)][:2]
        draw_blocks(blocks[:first], key=entry.name, skip=skip)
        left, right = st.columns([3, 2], gap="large")
        with left:
            draw_blocks(blocks[first:end], key=f"{entry.name}-left", skip=skip)
        with right:
            beside()
        draw_blocks(blocks[end:], key=f"{entry.name}-below", skip=skip)
    if below is not None:
        below()
    if not getattr(result, "partial", False):
        downloads(context, entry.study, spec, result)
    draw_how(how, key=entry.name)


def page_blocks(
    entry: Entry,
    context: PageContext,
    spec: Spec,
    result: Any,
    view: Any = None,
    *,
    caveats: Caveats,
) -> tuple[list[Block], list[Block]]:
    """A study's blocks, and separately its method and command."""
    votes, analysis = context.votes, context.analysis
    blocks = study_blocks(
        entry,
        result,
        spec,
        view,
        command=study_command(
            entry.name, analysis.file, spec, task=votes.task, columns=analysis.columns
        ),
        known=caveats.before(entry.name),
    )
    caveats.add(entry.name, result.warnings)
    how: list[Block] = [block for block in blocks if isinstance(block, Method | Command)]
    return [block for block in blocks if block not in how], how


def draw_how(how: Iterable[Block], *, key: str) -> None:
    """Draw the method and the command in an expander."""
    with st.expander("How this was computed"):
        draw_blocks(how, key=f"{key}-how")


def draw_blocks(blocks: Iterable[Block], *, key: str, skip: Collection[str] = ()) -> None:
    """Draw blocks in order; all text is untrusted and reaches HTML escaped, never Markdown."""
    for place, block in enumerate(blocks):
        if not (isinstance(block, Answer | Paragraph) and block.text in skip):
            _draw(block, f"{key}-{place}", skip)


def _draw(block: Block, key: str, skip: Collection[str]) -> None:
    match block:
        case Heading(text, level):
            st.html(f"<h{level}>{in_html(text)}</h{level}>")
        case Answer(text):
            _text(text, "jp-text jp-result")
        case Paragraph(text, quiet):
            _text(text, "jp-reading" if quiet else "jp-text")
        case Caveat(text):
            _text(f"Note: {text}", "jp-note")
        case Method(text):
            _text(text, "jp-text")
        case Facts(pairs):
            _text("; ".join(f"{name}: {value}" for name, value in pairs), "jp-text")
        case Names(title, names, more):
            _text(f"{title}: {', '.join([*names, *([more] if more else [])])}", "jp-text")
        case Command(text):
            st.code(text, language=None, wrap_lines=True)
        case Table():
            if block.caption:
                _text(block.caption, "jp-reading")
            table(block, key=key)
        case Figure():
            _figure(block, key)
        case Row() | Box():
            _several(block, key, skip)


def _several(block: Row | Box, key: str, skip: Collection[str]) -> None:
    """Draw blocks in columns or in a box; a box about one-class coding gets a class of its own."""
    if isinstance(block, Row):
        columns = st.columns([6 if isinstance(part, Table) else 5 for part in block.blocks])
        for i, (column, part) in enumerate(zip(columns, block.blocks, strict=True)):
            with column:
                _draw(part, f"{key}-{i}", skip)
        return
    with st.container(border=True, key=f"coding_{key}" if block.coding else None):
        _text(block.words, "jp-text")
        draw_blocks(block.blocks, key=key, skip=skip)


def _figure(block: Figure, key: str) -> None:
    """Draw a figure; if it has cells, a table replaces it on a narrow screen."""
    if block.narrow is None:
        chart(block.figure, key=key, alt=block.alt)
        return
    with st.container(key="grid_wide"):
        chart(block.figure, key=key, alt=block.alt)
    with st.container(key="grid_narrow"):
        st.html(grid_table_html(block.narrow, label=block.alt))


def _text(text: str, kind: str) -> None:
    st.html(f'<p class="{kind}">{with_terms(text, LONGEST)}</p>')


def grid_table_html(cells: GridCells, *, label: str) -> str:
    """The method grid for narrow screens: a table with fixed row heads that scrolls by keyboard."""
    heads = "".join(f'<th scope="col">{in_html(name)}</th>' for name in cells.columns)
    rows = "".join(
        f'<tr><th scope="row">{in_html(name)}</th>'
        + "".join(_grid_cell(cells, i, j) for j in range(len(cells.columns)))
        + "</tr>"
        for i, name in enumerate(cells.rows)
    )
    return (
        f'<div class="jp-scroll" role="region" tabindex="0" aria-label="{in_html(label)}">'
        f'<table class="jp-grid"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="jp-reading">The grid goes on to the right: scroll it sideways.</p>'
        '<p class="jp-note">Bold, thick frame: lowest NLL. Thin frame: not told apart from it.</p>'
    )


def _grid_cell(cells: GridCells, i: int, j: int) -> str:
    kind = "best" if (i, j) == cells.best else "tied" if cells.tied[i, j] else "apart"
    colour = cells.colour(i, j)
    return (
        f'<td class="jp-{kind}" style="background:{colour};color:{text_on(colour)}">'
        f"{cells.text(i, j)}</td>"
    )
