"""Blocks: the elements in which studies present their results, and which renderers draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ParamSpec

import pandas as pd
import plotly.graph_objects as go

from judgepanel.figures.candidates import GridCells
from judgepanel.words.sentences import CALIBRATED, first_calibrator
from judgepanel.words.tables import Column, texts_of
from judgepanel.words.text import capital, counted

P = ParamSpec("P")

FEW_ROWS = 25
"""Rows of a table in a report; the result's own table has all of them."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A section heading; ``level`` 2 is below the title, 3 below a section."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a section, in one or a few sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text; ``quiet`` for notes on how to read what precedes it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Caveat:
    """A limitation of the figures next to it; no renderer may omit it."""

    text: str


@dataclass(frozen=True, slots=True)
class Method:
    """How the figures were computed."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Pairs of names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Names under a title, in columns if there is room; ``more`` is the number omitted."""

    title: str
    names: tuple[str, ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that reproduces the figures, for copying."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of columns by name; ``caption`` says what it shows.

    A document shows at most ``most`` rows and says how many are omitted. ``height`` is the height
    in pixels above which the table scrolls on a page. ``help`` describes columns by name;
    ``hidden`` are columns that a page shows only when they are asked for.
    """

    columns: Mapping[str, Column]
    caption: str = ""
    most: int = FEW_ROWS
    height: int | None = None
    help: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return max(map(len, self.columns.values()), default=0)

    def texts(self, most: int | None = None) -> pd.DataFrame:
        """Return cells as text, of the first ``most`` rows or of all."""
        return texts_of(self.columns, most)

    def rows(self) -> list[list[str]]:
        """Return the cells of the rows that a document shows, as text."""
        return [list(row) for row in self.texts(self.most).itertuples(index=False, name=None)]

    def rows_left(self) -> str:
        """Say how many rows a document omits; empty if it shows all."""
        more = self.n_rows - self.most
        if more <= 0:
            return ""
        verb = "is" if more == 1 else "are"
        return f"{counted(more, 'more row')} {verb} in the table of the result."


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure with a description in words, which replaces a figure that cannot be drawn.

    ``draw`` is called when a renderer needs the figure. With ``axes``, the description includes the
    axis titles. ``narrow`` are the cells of a heat map, shown as a table on narrow screens.
    """

    draw: Callable[[], go.Figure]
    shows: str
    narrow: GridCells | None = None
    axes: bool = False

    @cached_property
    def figure(self) -> go.Figure:
        """The figure, drawn on first use."""
        return self.draw()

    @property
    def alt(self) -> str:
        """Description in words."""
        if not self.axes:
            return self.shows
        layout = self.figure.layout
        x, y = layout.xaxis.title.text, layout.yaxis.title.text
        return self.shows + (f"; {y} against {x}" if x and y else "") + "."


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Blocks in a box with one sentence; ``coding`` if they measure how labels were coded."""

    words: str
    blocks: tuple[Block, ...]
    coding: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Blocks side by side if there is room, otherwise one after the other."""

    blocks: tuple[Block, ...]


_Words = Heading | Answer | Paragraph | Caveat | Method | Facts | Names | Command
Block = _Words | Table | Figure | Box | Row


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A title and blocks in order; ``sheet`` precedes them, on a separate page in print."""

    title: str
    blocks: tuple[Block, ...]
    sheet: tuple[Block, ...] = ()


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield all blocks in order, including those inside boxes and rows."""
    for block in blocks:
        yield block
        if isinstance(block, Box | Row):
            yield from flat(block.blocks)


def opening(blocks: Iterable[Block]) -> tuple[list[Block], list[Block]]:
    """Return the blocks before the first heading, and the rest."""
    blocks = list(blocks)
    end = next((i for i, block in enumerate(blocks) if isinstance(block, Heading)), len(blocks))
    return blocks[:end], blocks[end:]


def paragraphs(*sentences: str | None) -> list[Block]:
    """Return a paragraph for every non-empty sentence."""
    return [Paragraph(sentence) for sentence in sentences if sentence]


def note(text: str) -> Paragraph:
    """Return a paragraph on how to read what precedes it."""
    return Paragraph(text, quiet=True)


def by_calibrator(
    calibrators: Sequence[str], chosen: str | None, blocks_of: Callable[[str], list[Block]]
) -> list[Block]:
    """Return the blocks of the chosen calibrator, or of every calibrator under headings."""
    first = chosen or first_calibrator(calibrators)
    blocks = blocks_of(first)
    for calibrator in calibrators if chosen is None else ():
        if calibrator != first:
            blocks += [Heading(capital(CALIBRATED[calibrator]), 3), *blocks_of(calibrator)]
    return blocks


def drawing(
    shows: str, draw: Callable[P, go.Figure], *arguments: P.args, **options: P.kwargs
) -> Figure:
    """Return the figure from ``draw`` with these arguments, described by ``shows`` and its axes."""
    return Figure(partial(draw, *arguments, **options), f"Figure: {shows}", axes=True)
