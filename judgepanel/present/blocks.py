"""The vocabulary of what is shown: a study presents itself in these, and renderers draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ParamSpec

import pandas as pd
import plotly.graph_objects as go

from judgepanel.figures.method_grid import GridCells
from judgepanel.words.cells import Column, texts_of
from judgepanel.words.numbers import capital, counted
from judgepanel.words.sentences import CALIBRATED, first_calibrator

P = ParamSpec("P")

FEW_ROWS = 25
"""Rows of a table in a report; the table of the result has all of them."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A section begins; ``level`` 2 stands under a title, 3 under a section."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a section, in a sentence or a few."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences; ``quiet`` for how to read what stands above."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Caveat:
    """What limits the figures beside it; no renderer may leave it out."""

    text: str


@dataclass(frozen=True, slots=True)
class Method:
    """How the figures were computed."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Names under a title, in columns where there is room; ``more`` says how many are left out."""

    title: str
    names: tuple[str, ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that computes the figures again, to be copied."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of columns by their names; ``caption`` says what it shows.

    A document shows at most ``most`` rows and says how many are left. ``height`` is that of the
    table on a page, in pixels, above which it scrolls. ``help`` describes columns by their names.
    """

    columns: Mapping[str, Column]
    caption: str = ""
    most: int = FEW_ROWS
    height: int | None = None
    help: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return max(map(len, self.columns.values()), default=0)

    def texts(self, most: int | None = None) -> pd.DataFrame:
        """Cells as text, of the first ``most`` rows or of all."""
        return texts_of(self.columns, most)

    def rows(self) -> list[list[str]]:
        """Cells of the rows that a document shows, as text."""
        return [list(row) for row in self.texts(self.most).itertuples(index=False, name=None)]

    def rows_left(self) -> str:
        """How many rows a document leaves out; empty where it shows all."""
        more = self.n_rows - self.most
        if more <= 0:
            return ""
        verb = "is" if more == 1 else "are"
        return f"{counted(more, 'more row')} {verb} in the table of the result."


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure, and in words what it shows; where none can be drawn there are the words alone.

    ``draw`` makes it once a renderer asks for it. With ``axes`` the words end in their titles.
    ``narrow`` are the cells of a heat map that is a table on a screen too narrow for it.
    """

    draw: Callable[[], go.Figure]
    shows: str
    narrow: GridCells | None = None
    axes: bool = False

    @cached_property
    def figure(self) -> go.Figure:
        """The figure, drawn the first time that it is asked for."""
        return self.draw()

    @property
    def alt(self) -> str:
        """What it shows, in words."""
        if not self.axes:
            return self.shows
        layout = self.figure.layout
        x, y = layout.xaxis.title.text, layout.yaxis.title.text
        return self.shows + (f"; {y} against {x}" if x and y else "") + "."


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """Blocks that one sentence marks; ``coding`` where they measure how labels were coded."""

    words: str
    blocks: tuple[Block, ...]
    coding: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Blocks side by side where there is room, one after the other elsewhere."""

    blocks: tuple[Block, ...]


Block = (
    Heading
    | Answer
    | Paragraph
    | Caveat
    | Method
    | Facts
    | Names
    | Command
    | Table
    | Figure
    | Box
    | Row
)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A title and blocks in order; ``sheet`` stands before them, on a page of its own in print."""

    title: str
    blocks: tuple[Block, ...]
    sheet: tuple[Block, ...] = ()


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks in order, those in boxes and rows too."""
    for block in blocks:
        yield block
        if isinstance(block, Box | Row):
            yield from flat(block.blocks)


def opening(blocks: Iterable[Block]) -> tuple[list[Block], list[Block]]:
    """What stands before the first heading, and the rest."""
    blocks = list(blocks)
    end = next((i for i, block in enumerate(blocks) if isinstance(block, Heading)), len(blocks))
    return blocks[:end], blocks[end:]


def paragraphs(*sentences: str | None) -> list[Block]:
    """A paragraph for every sentence that is not empty."""
    return [Paragraph(sentence) for sentence in sentences if sentence]


def by_calibrator(
    calibrators: Sequence[str], chosen: str | None, blocks_of: Callable[[str], list[Block]]
) -> list[Block]:
    """The blocks of the chosen calibrator; of every calibrator, under headings, where none was."""
    first = chosen or first_calibrator(calibrators)
    blocks = blocks_of(first)
    for calibrator in calibrators if chosen is None else ():
        if calibrator != first:
            blocks += [Heading(capital(CALIBRATED[calibrator]), 3), *blocks_of(calibrator)]
    return blocks


def drawing(
    shows: str, draw: Callable[P, go.Figure], *arguments: P.args, **options: P.kwargs
) -> Figure:
    """What ``draw`` makes of these arguments, described by what it shows and its axes."""
    return Figure(partial(draw, *arguments, **options), f"Figure: {shows}", axes=True)
