"""Streamlit's renderer of blocks, beside those for documents and the terminal.

Widgets that pages share: check cards, figures, tables with downloads, how it was computed.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from judgepanel.figures import candidates, style
from judgepanel.present import blocks, pages
from judgepanel.present.registry import entries_of
from judgepanel.present.study import Presentation, study_blocks
from judgepanel.studies.codec import result_content
from judgepanel.studies.contract import AnyStudy, Spec
from judgepanel.studies.understand.judge_table import JudgeTable
from judgepanel.ui.frame import PageContext, answer
from judgepanel.ui.glossary import with_terms
from judgepanel.ui.pipeline import known_recommendation
from judgepanel.ui.reporting import download_button, image_format
from judgepanel.ui.session import is_reader, open_with
from judgepanel.ui.work import show_result
from judgepanel.votes.checks import Check, find_repeats
from judgepanel.words.sentences import (
    CHECK_MARKS,
    check_numbers,
    inspect_command,
    so_far,
    study_command,
)
from judgepanel.words.tables import Column, Form, csv_text, levels, numbers, text
from judgepanel.words.text import LONGEST, csv_name, first_sentence, in_html, markdown, plain

# Set once, since the option is global: a page that changed it while drawing would change it for
# other users' pages too.
pd.set_option("styler.render.max_elements", sys.maxsize)


_SMALL = 290
"""Height of a figure in a card with a legend of two lines, in pixels."""
_LINE = 19


def small(figure: blocks.Figure) -> blocks.Figure:
    """Return the figure at the height of a card."""

    def draw() -> go.Figure:
        drawn = go.Figure(figure.figure)
        named = sum(bool(part.name) and part.showlegend is not False for part in drawn.data)
        named += sum(part.showlegend is True for part in drawn.layout.shapes)
        return drawn.update_layout(height=_SMALL + _LINE * max(0, named - 2))

    return replace(figure, draw=draw)


_MOST_PARTS = 2
"""Parts of a list that a card has; the others are with its evidence."""


def check_card(
    check: Check,
    below: Callable[[], None] | None = None,
    evidence: Callable[[], None] | None = None,
    mark: str = "",
) -> None:
    """Draw one check: its outcome, why, and unless it passes what to do; the rest is closed.

    ``below`` adds to the card, ``evidence`` to its closed part; ``mark`` replaces the outcome's.
    """
    mark = mark or CHECK_MARKS[check.outcome]
    words = f"{check.why} {check.advice}"
    brief = f"{_first_words(check.why)} {first_sentence(check.advice)}"
    if check.outcome in ("pass", "not applicable"):
        brief = f"{re.split(r': |; | [(]|, so ', _first_words(check.why))[0].rstrip('.')}."
    with st.container(border=True, height="stretch"):
        st.html(
            f'<p class="jp-note"><b>{with_terms(check.title)}: {mark}.</b> '
            f"{with_terms(brief, 2000)}</p>"
        )
        if below is not None:
            below()
        with st.expander("Evidence"):
            texts = [words] * (words != brief) + [check_numbers(check)]
            st.html("".join(f'<p class="jp-note">{with_terms(text, 2000)}</p>' for text in texts))
            if evidence is not None:
                evidence()


def _first_words(why: str) -> str:
    """Return the first sentence of a reason without its tests, of a long list the first part."""
    sentence = re.sub(r" \([^()]*Holm\)", "", first_sentence(why))
    parts = sentence.split("; ")
    return f"{parts[0]}." if len(parts) > _MOST_PARTS else sentence


def offer_grouping(context: PageContext) -> None:
    """Where copies of items count as independent, offer an analysis that groups them."""
    settings = context.analysis.settings
    if is_reader() or settings.group_duplicates or not find_repeats(context.votes).repeats.apart:
        return
    if st.button("Group them", key="group-duplicates", type="primary"):
        open_with(context.analysis, replace(settings, group_duplicates=True))


def chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """A figure with a toolbar on hover: zoom, pan, reset, and a download as an image."""
    config = {
        "displaylogo": False,
        "modeBarButtons": [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
        "toImageButtonOptions": {
            "format": image_format(),
            "scale": 3,
            "filename": f"judgepanel-{key}",
        },
    }
    st.plotly_chart(figure, key=key, alt=alt, config=config)


_TITLE = 90
"""Characters of the caption of a table that is closed."""
ROW = 35
"""Height of a row of a table, in pixels."""
_PADDING = 17
"""Space around a cell, in pixels."""
_NARROW, _WIDE = frozenset("fijlrtI"), frozenset("mwMW%+<>=±−@")
_WIDEST_TEXT = 260
"""Pixels that a column of texts takes at most; a click on a cell shows all of it."""
_PHONE, _PAGE = 356, 1042
"""Pixels that a table has on a phone, and at most."""
_NEARLY = 0.9
"""Share of that room above which the browser would cut off texts to share what is left."""
_PHONES = ("Mobi", "Android")
"""Parts of the names by which browsers of phones call themselves."""
_MEASURED = 200
"""Rows whose texts are measured, as by the browser."""
_MOST_STYLED = 2_000
_BROWSER: Mapping[str, str] = {"number": "%.3f", "share": "%.1f %%", "whole": "localized"}
"""Formats of numbers that the browser applies itself."""


class _Shown(float):
    """A number that sorts, and the text that a cell shows for it."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, number: float, text: str) -> _Shown:
        # Blanks sort before all numbers.
        self = super().__new__(cls, -math.inf if math.isnan(number) else number)
        self.text = text
        return self

    def __str__(self) -> str:
        return self.text


def table(block: blocks.Table, *, key: str) -> None:
    """Draw a table that sorts by its numbers and can be searched; cells are plain text.

    A short table is only as high as its rows, since empty rows look like missing data. Columns for
    which there is no room, and those that the block hides, are shown on request.
    """
    frame: dict[str, Any] = {}
    config: dict[str, Any] = {}
    styled, texts_only = list[str](), list[str]()
    widths = {}
    for name, column in block.columns.items():
        about = block.help.get(name)
        # The browser would write None for blanks; long tables accept that to stay fast.
        styles = column.numbers is not None and (
            column.form not in _BROWSER
            or bool(column.words)
            or (len(column.numbers) <= _MOST_STYLED and bool(np.isnan(column.numbers).any()))
        )
        texts = column.texts(None if styles or column.numbers is None else _MEASURED)
        # The browser measures only the first rows and would cut off longer numbers below.
        widths[name] = _PADDING + round(
            max(sum(map(_character_width, words)) for words in (name, *texts))
        )
        if column.numbers is None:
            frame[name] = texts
            width = _WIDEST_TEXT if widths[name] > _WIDEST_TEXT else None
            config[name] = st.column_config.Column(help=about, width=width)
            texts_only.append(name)
            widths[name] = min(widths[name], _WIDEST_TEXT)
        elif styles:
            frame[name] = pd.Series(list(map(_Shown, column.numbers.tolist(), texts)), dtype=object)
            config[name] = st.column_config.NumberColumn(width=widths[name], help=about)
            styled.append(name)
        else:
            frame[name] = _browsed(column.numbers, column.form)
            config[name] = st.column_config.NumberColumn(format=_BROWSER[column.form], help=about)
    place = st.container()
    hidden = _without_room({name: widths[name] for name in frame}, block.hidden)
    if hidden and st.toggle(f"All {len(frame)} columns", key=f"columns-{key}"):
        hidden = []
    total = sum(width for name, width in widths.items() if name not in hidden)
    if total > _NEARLY * _PAGE:  # Else the browser shares the room that is left.
        for name in texts_only:
            config[name]["width"] = widths[name]
    cells = pd.DataFrame(frame)
    # Only a Styler can show text over a number in a cell, and it is slow: only tables that need it
    # get one.
    place.dataframe(
        cells.style.format(dict.fromkeys(styled, str)) if styled else cells,
        hide_index=True,
        key=f"table-{key}",
        height=block.height if block.height and ROW * (block.n_rows + 1) > block.height else "auto",
        column_config=config | dict.fromkeys(hidden),
    )
    if total > _PHONE:
        place.html(_FURTHER.format(round(_SLACK * total)))


_SLACK = 0.97
"""Widths are estimated, a little too high."""
_FURTHER = (
    '<div class="jp-below"><p class="jp-further" aria-hidden="true" style="--table: {}px">'
    "The table goes on to the right: scroll it sideways.</p></div>"
)


def _without_room(widths: Mapping[str, int], unasked: Collection[str]) -> list[str]:
    """Return the columns that are not shown at first: the last ones, and those in ``unasked``."""
    agent = st.context.headers.get("User-Agent") or ""
    room = _PHONE if any(name in agent for name in _PHONES) else _PAGE
    shown, total = list[str](), 0
    for name in widths:
        total += 0 if name in unasked else widths[name]
        if name not in unasked and (total <= room or not shown):
            shown.append(name)
    return [name for name in widths if name not in shown]


def _character_width(character: str) -> float:
    """Pixels that a character takes in a table, in the widest font of the theme."""
    if character in _WIDE:
        return 12.5
    if character.isdigit():
        return 9.0
    if not character.isalpha() or character in _NARROW:
        return 5.5
    return 10.0 if character.isupper() else 8.5


def _browsed(numbers: NDArray[np.float64], form: Form) -> Any:
    """Numbers for the browser to format; whole numbers are rounded, or it would show decimals."""
    if form == "whole":
        return pd.array(np.round(numbers), dtype="Float64").astype("Int64")
    return numbers * (100.0 if form == "share" else 1.0)


def judge_rows(judges: JudgeTable) -> dict[str, Column]:
    """Columns for a table of all judges, most accurate first; long names are cut."""
    order = np.argsort(-np.nan_to_num(judges.accuracy.value, nan=-1.0), kind="stable")
    return {
        "judge": text([plain(judges.judges[j], 120) for j in order]),
        "accuracy": levels(judges.accuracy[order]),
        "correct": numbers(judges.correct[order], "whole"),
        "voted": numbers(judges.voted[order], "whole"),
        "coverage": numbers(judges.coverage[order], "share"),
        "constant": text(["yes" if constant else "" for constant in judges.constant[order]]),
    }


def how(words: str, command: str) -> None:
    """Draw how a result was computed, and the command that computes it again."""
    with st.expander("How this was computed"):
        st.write(words)
        st.code(command, language=None, wrap_lines=True)


def command_of(context: PageContext, study: str, spec: Spec) -> str:
    """The command that runs a study."""
    votes, analysis = context.votes, context.analysis
    return study_command(study, analysis.file, spec, task=votes.task, columns=analysis.columns)


def inspection_of(context: PageContext) -> str:
    """The command that prints the checks of the votes."""
    votes, analysis = context.votes, context.analysis
    return inspect_command(
        analysis.file, analysis.settings, task=votes.task, columns=analysis.columns
    )


def _downloads(context: PageContext, study: AnyStudy, spec: Spec, result: Any, *, key: str) -> None:
    """Offer a result's table as CSV and all of it as JSON."""
    makers: tuple[tuple[str, Callable[[], str]], ...] = (
        ("csv", lambda: csv_text(result.frame())),
        (
            "json",
            lambda: json.dumps(result_content(study, context.votes, spec, result), allow_nan=False),
        ),
    )
    name = study.name.replace("_", "-")
    for place, (form, make) in zip(st.columns([1, 1, 3]), makers, strict=False):
        label, file = f"Download {form.upper()}", csv_name(context.analysis.name, f"{name}.{form}")
        download_button(place, label, make, file, key=f"{form}-{key}", width="stretch")


def section_answer(sentence: str) -> None:
    """Draw a section's answer; HTML, since Markdown would interpret brackets and stars in it."""
    st.html(f'<p class="jp-text jp-result">{with_terms(sentence, 1000)}</p>')


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
    entry: Presentation,
    context: PageContext,
    spec: Spec,
    view: Any = None,
    *,
    caveats: Caveats,
    **drawn: Any,
) -> bool:
    """Show a study's stored result, or compute it; return whether the work has ended.

    A ``view`` may be a function that draws the controls of a result and returns their view. The
    other arguments are those of `draw_study`.
    """

    def draw(result: Any) -> None:
        seen = view(result) if callable(view) else view
        draw_study(entry, context, spec, result, seen, caveats=caveats, **drawn)

    return show_result(entry.study, context, spec, draw)


def show_closed(
    context: PageContext,
    page: pages.Page,
    drawn: Collection[str],
    *,
    caveats: Caveats,
    ask: Callable[[Presentation], tuple[Spec, Any]] | None = None,
) -> None:
    """List the studies of a page except those in ``drawn``; each is computed when it is opened.

    Which are open is in the URL, by the names of the studies. ``ask`` draws a study's controls and
    returns its spec and view, by default its first default spec, which is under the recommended
    pipeline if that is known.
    """

    def show(entry: Presentation, default: Spec) -> None:
        spec, view = (default, None) if ask is None else ask(entry)
        show_study(entry, context, spec, view, caveats=caveats)

    recommendation = known_recommendation(context)
    for entry in entries_of(page):
        if entry.name not in drawn:
            specs = entry.specs(context.votes, context.analysis.settings, recommendation)
            for default in specs[:1]:
                closed(section_title(entry), partial(show, entry, default), key=entry.name)


def section_title(entry: Presentation) -> str:
    """The title of a study's closed section, as Markdown."""
    return f"**{entry.study.title}** {entry.study.question}"


def closed(title: str, draw: Callable[[], object], *, key: str) -> None:
    """A section that is drawn, and computed, once it is opened; the URL says which are."""
    section = st.expander(title, key=key, bind="query-params")
    if section.open:
        with section:
            draw()


def draw_study(  # noqa: PLR0913
    entry: Presentation,
    context: PageContext,
    spec: Spec,
    result: Any,
    view: Any = None,
    *,
    caveats: Caveats,
    banner: Callable[[Any], tuple[str, str]] | None = None,
    titled: bool = False,
    skip: Collection[str] = (),
    beside: Callable[[Any], None] | None = None,
    below: Callable[[Any], None] | None = None,
    opened: Collection[str] | None = None,
    quiet: bool = False,
    key: str = "",
) -> None:
    """Draw a study's blocks, with downloads if the result is complete.

    ``banner`` gives the answer of the result in a sentence, and its tone: it is drawn above as the
    page's answer, and the study's title below it if it is ``titled``.
    ``beside`` draws what belongs to the right of the blocks under the first heading. ``below``
    draws what only this page has between the blocks and the downloads. Of the blocks under
    headings only those in ``opened`` stand open, by default all. With ``quiet`` the notes on how
    to read what precedes the first heading are with how it was computed. A page that draws a study
    twice gives each a ``key``.
    """
    key = key or entry.name
    if banner is not None:
        words, tone = banner(result)
        sentence = so_far(result) + words
        answer(sentence, tone)
        skip = (sentence,)
    if titled:
        st.header(entry.study.title)
    content, how = page_blocks(entry, context, spec, result, view, caveats=caveats)
    parts = list(parts_of(content))
    if quiet:
        notes = [part for part in parts[0][1] if isinstance(part, blocks.Paragraph) and part.quiet]
        parts[0] = "", [part for part in parts[0][1] if part not in notes]
        how = [*notes, *how]
    shown = [block for head, part in parts if _is_open(head, opened) for block in part]
    draw = partial(draw_blocks, skip=skip, folded=_later_tables(shown))
    for place, (head, part) in enumerate(parts):
        own = f"{key}-{place}"
        if not _is_open(head, opened):
            with st.expander(markdown(head, _TITLE)):
                draw_blocks(part[1:], key=own, skip=skip, folded=_later_tables(part))
        elif beside is not None and place == 1:
            left, right = st.columns([3, 2], gap="large")
            with left:
                draw(part, key=own)
            with right:
                beside(result)
        else:
            draw(part, key=own)
    if below is not None:
        below(result)
    if not getattr(result, "partial", False):
        _downloads(context, entry.study, spec, result, key=key)
    draw_how(how, key=key)


def parts_of(content: Iterable[blocks.Block]) -> Iterator[tuple[str, list[blocks.Block]]]:
    """Yield what precedes the first heading, under an empty name, then the part of each."""
    name, part = "", list[blocks.Block]()
    for block in content:
        if isinstance(block, blocks.Heading):
            yield name, part
            name, part = block.text, []
        part.append(block)
    yield name, part


def _is_open(head: str, opened: Collection[str] | None) -> bool:
    return not head or opened is None or head in opened


def page_blocks(
    entry: Presentation,
    context: PageContext,
    spec: Spec,
    result: Any,
    view: Any,
    *,
    caveats: Caveats,
) -> tuple[list[blocks.Block], list[blocks.Block]]:
    """A study's blocks, and separately its method and command."""
    command, known = command_of(context, entry.name, spec), caveats.before(entry.name)
    content = study_blocks(entry, result, spec, view, command=command, known=known)
    caveats.add(entry.name, result.warnings)
    how: list[blocks.Block] = [
        block for block in content if isinstance(block, blocks.Method | blocks.Command)
    ]
    return [block for block in content if block not in how], how


def draw_how(how: Iterable[blocks.Block], *, key: str) -> None:
    """Draw the method and the command in an expander."""
    with st.expander("How this was computed"):
        draw_blocks(how, key=f"{key}-how")


def draw_blocks(
    content: Iterable[blocks.Block],
    *,
    key: str,
    skip: Collection[str] = (),
    folded: Sequence[blocks.Table] = (),
) -> None:
    """Draw blocks in order; all text is untrusted and reaches HTML escaped, never Markdown.

    Tables in ``folded`` are closed until they are opened.
    """
    for place, block in enumerate(content):
        if not (isinstance(block, blocks.Answer | blocks.Paragraph) and block.text in skip):
            _draw(block, f"{key}-{place}", skip, folded)


def _later_tables(content: Iterable[blocks.Block]) -> list[blocks.Table]:
    """Return all tables but the first: a page has one open."""
    return [block for block in blocks.flat(content) if isinstance(block, blocks.Table)][1:]


def _draw(
    block: blocks.Block, key: str, skip: Collection[str], folded: Sequence[blocks.Table]
) -> None:
    match block:
        case blocks.Heading(text, level):
            st.html(f"<h{level}>{in_html(text)}</h{level}>")
        case blocks.Answer(text):
            _text(text, "jp-text jp-result")
        case blocks.Paragraph(text, quiet):
            _text(text, "jp-reading" if quiet else "jp-text")
        case blocks.Caveat(text):
            _text(f"Note: {text}", "jp-note")
        case blocks.Method(text):
            _text(text, "jp-text")
        case blocks.Facts(pairs):
            _text("; ".join(f"{name}: {value}" for name, value in pairs), "jp-text")
        case blocks.Names(title, names, more):
            _text(f"{title}: {', '.join([*names, *([more] if more else [])])}", "jp-text")
        case blocks.Command(text):
            st.code(text, language=None, wrap_lines=True)
        case blocks.Table():
            _captioned(block, key, folded=any(block is table for table in folded))
        case blocks.Figure():
            _figure(block, key)
        case blocks.Row() | blocks.Box():
            _several(block, key, skip, folded)


def _captioned(block: blocks.Table, key: str, *, folded: bool) -> None:
    """Draw a table below its caption, or in a closed section named after it."""
    if folded:
        title, _, rest = block.caption.partition(". ")
        with st.expander(markdown(title.rstrip("."), _TITLE) or "Table"):
            own = block.caption if len(title) > _TITLE else rest
            _captioned(replace(block, caption=own), key, folded=False)
        return
    if block.caption:
        _text(block.caption, "jp-reading")
    table(block, key=key)


def _several(
    block: blocks.Row | blocks.Box, key: str, skip: Collection[str], folded: Sequence[blocks.Table]
) -> None:
    """Draw blocks in columns or in a box; a box about one-class coding gets a class of its own."""
    if isinstance(block, blocks.Row):
        columns = st.columns([6 if isinstance(part, blocks.Table) else 5 for part in block.blocks])
        for i, (column, part) in enumerate(zip(columns, block.blocks, strict=True)):
            with column:
                _draw(part, f"{key}-{i}", skip, folded)
        return
    name = f"coding_{key}" if block.coding else None
    with st.container(border=True, key=name, height="stretch"):
        _text(block.words, "jp-text")
        draw_blocks(block.blocks, key=key, skip=skip, folded=folded)


def _figure(block: blocks.Figure, key: str) -> None:
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


def grid_table_html(cells: candidates.GridCells, *, label: str) -> str:
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


def _grid_cell(cells: candidates.GridCells, i: int, j: int) -> str:
    kind = "best" if (i, j) == cells.best else "tied" if cells.tied[i, j] else "apart"
    colour = cells.colour(i, j)
    return (
        f'<td class="jp-{kind}" style="background:{colour};color:{style.text_on(colour)}">'
        f"{cells.text(i, j)}</td>"
    )
