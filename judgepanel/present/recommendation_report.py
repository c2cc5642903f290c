"""The report of a recommendation: the decision on one sheet, its evidence, and its data.

The sheet is the first page of the report of a whole analysis too. It must fit on A4 and on Letter:
what does not fit is counted, and appears in full on the following pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from judgepanel import ENGINE, __version__
from judgepanel.decision import recommend, recommend_result
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present import blocks
from judgepanel.present.decide.candidate_rows import RecommendationView
from judgepanel.present.decide.value import ValueView
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import study_blocks
from judgepanel.studies.decide.value import VALUE, Value, ValueSpec
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import item_checks
from judgepanel.words.sentences import check_sentences
from judgepanel.words.text import counted, fixed, interval, plain, sig, with_interval

_FIGURE_SHARE = 0.52
_FIGURE_FONT = 10
NAME_LINES = 45
"""Lines of names that fit below the largest number of caveats, over all columns and lists."""
_COLUMNS = 5
"""Columns of names on paper."""
_NAME_LINE = 20
"""Characters of a name per line of a column."""
_LONGEST_NAME = 2 * _NAME_LINE
_CAVEAT_LINES = 6
_CAVEAT_LINE = 115
_COMMAND_CHARACTERS = 450


def recommendation_report(
    name: str,
    votes: VoteMatrix,
    spec: recommend.RecommendSpec,
    result: recommend_result.Recommendation,
    *,
    command: str,
    worth: tuple[ValueSpec, Value] | None = None,
    statuses: tuple[JudgeStatus, ...] = (),
) -> blocks.Document:
    """Return the whole report; ``worth`` and ``statuses`` if the value of judges was computed."""
    view = RecommendationView(votes, statuses)
    first, evidence = blocks.opening(
        study_blocks(PRESENTATIONS[recommend.RECOMMEND.name], result, spec, view, command=command)
    )
    sheet, rest = decision_sheet(first, result, votes, command=command)
    content: list[blocks.Block] = [blocks.Heading("The evidence"), *rest, *evidence]
    if worth is not None:
        entry, (value_spec, value) = PRESENTATIONS[VALUE.name], worth
        view_of_value = ValueView(statuses or None)
        content.append(blocks.Heading(entry.study.title))
        content += study_blocks(entry, value, value_spec, view_of_value, known=result.warnings)
    pairs = [
        ("Votes", f"{votes.n_items:,} items, {votes.n_judges:,} judges"),
        ("Labelled", f"{int(votes.labelled.sum()):,} items, {result.n_items:,} of them fitted"),
        ("SHA-256 of the votes", votes.sha256),
        ("Task", votes.task),
        ("Orientation", result.orientation),
        ("Protocol", spec.settings.protocol),
        (
            "Splits",
            f"{result.n_splits:,} of {result.planned_splits:,}, {result.n_calibration:,.0f} labels "
            f"calibrate, {result.n_evaluation:,.0f} evaluate, seed {result.seed}",
        ),
        ("Candidates", f"{spec.candidates} list, {len(result.candidates):,}"),
        ("Preference", spec.prefer),
        ("Largest loss accepted", f"{spec.price:g} of the NLL"),
        ("Version", f"judgepanel {__version__}, engine {ENGINE}"),
    ]
    if spec.budget is not None:
        pairs.insert(-1, ("Budget", f"{spec.budget:g} an item"))
    if spec.conformal:
        pairs.insert(-1, ("Held out for sets", f"{spec.conformal:.0%} of the labels"))
    content += [
        blocks.Heading("What it rests on"),
        blocks.Facts(tuple(pairs)),
        *(
            blocks.note(check_sentences(check))
            for check in item_checks(votes, group_duplicates=spec.settings.group_duplicates)
        ),
    ]
    return blocks.Document(f"Recommended panel: {name}", tuple(content), sheet)


def decision_sheet(
    opening: Sequence[blocks.Block],
    result: recommend_result.Recommendation,
    votes: VoteMatrix,
    *,
    command: str,
    answers: Sequence[tuple[str, str]] = (),
) -> tuple[tuple[blocks.Block, ...], list[blocks.Block]]:
    """Return the sheet, and the rest of the recommendation's opening for the following pages.

    ``opening`` are the recommendation's blocks before its first heading; ``command`` reproduces it.
    ``answers`` are other questions with their answers.
    """
    content = list[blocks.Block]()
    for block in opening:  # Those side by side on a page follow one another.
        content += block.blocks if isinstance(block, blocks.Row) else (block,)
    first = [block for block in content if isinstance(block, blocks.Answer)]
    figures = [_low(block) for block in content if isinstance(block, blocks.Figure)]
    notes, more_notes = _fitting([block for block in content if isinstance(block, blocks.Caveat)])
    cards = [pair for block in content if isinstance(block, blocks.Facts) for pair in block.pairs]
    rest = [
        block
        for block in content
        if not isinstance(block, blocks.Answer | blocks.Figure | blocks.Caveat | blocks.Facts)
    ]
    taken = _height([note.text for note in notes]) + _height([text for _, text in answers])
    sheet = (
        *first,
        *figures,
        *_judges(result, max(0, NAME_LINES + _COLUMNS * (_CAVEAT_LINES - taken))),
        blocks.Facts((*cards, *answers, *_numbers(result), *_identity(votes, seed=result.seed))),
        *notes,
        _repeated_by(command),
    )
    return sheet, [*more_notes, *_with_every_judge(rest)]


def empty_sheet(answer: str, votes: VoteMatrix, *, seed: int) -> tuple[blocks.Block, ...]:
    """Return the sheet of an analysis without a recommendation."""
    return (blocks.Answer(answer), blocks.Facts(tuple(_identity(votes, seed=seed))))


def _with_every_judge(content: Iterable[blocks.Block]) -> Iterator[blocks.Block]:
    """Yield blocks for the following pages, with every judge in the table of the panel."""
    for block in content:
        if isinstance(block, blocks.Table) and {"decision", "judge"} <= block.columns.keys():
            yield replace(block, most=block.n_rows)
        else:
            yield block


def _low(figure: blocks.Figure) -> blocks.Figure:
    """Return the figure at the smallest height its labels allow."""

    def draw() -> go.Figure:
        plot = go.Figure(figure.figure)
        plot.update_layout(height=_FIGURE_SHARE * plot.layout.height, font_size=_FIGURE_FONT)
        plot.update_xaxes(title_font_size=_FIGURE_FONT)
        return plot.update_yaxes(tickfont_size=_FIGURE_FONT)

    return replace(figure, draw=draw)


def _judges(result: recommend_result.Recommendation, left: int) -> Iterator[blocks.Block]:
    """Yield names of the judges by decision in ``left`` lines; shorter lists are whole first."""
    lists = {
        "Keep": tuple(result.model.judges),
        "Leave out": tuple(result.left_out),
        "Set aside": tuple(result.set_aside),
    }
    lists = {title: names for title, names in lists.items() if names}
    fitting = dict.fromkeys(lists, 0)
    for place, title in enumerate(sorted(lists, key=lambda name: len(lists[name]))):
        share = left // (len(lists) - place)
        fitting[title] = _n_fitting(lists[title], share)
        left -= sum(_lines(name) for name in lists[title][: fitting[title]])
    for title, names in lists.items():
        n = fitting[title]
        more = f"and {len(names) - n:,} more in the table below" if n < len(names) else ""
        shown_names = tuple(plain(name, _LONGEST_NAME) for name in names[:n])
        yield blocks.Names(f"{title} {counted(len(names), 'judge')}", shown_names, more)


def _n_fitting(names: Sequence[str], lines: int) -> int:
    for n, name in enumerate(names):
        lines -= _lines(name)
        if lines < 0:
            return n
    return len(names)


def _lines(name: str) -> int:
    return max(1, math.ceil(len(plain(name, _LONGEST_NAME)) / _NAME_LINE))


def _numbers(result: recommend_result.Recommendation) -> Iterator[tuple[str, str]]:
    value, lo, hi = result.nll
    base = f"the base rate alone gives {fixed(result.null_nll, 3)}"
    yield "Expected NLL on new items", f"{sig(value)} {interval(lo, hi, 3)}; {base}"
    yield ("Against all judges, one-coin + beta", f"{with_interval(*result.delta, sign=True)} NLL")
    yield (
        "Splits",
        f"{result.n_splits:,}; in each {result.n_calibration:,.0f} labels calibrate and "
        f"{result.n_evaluation:,.0f} evaluate",
    )


def _height(texts: Iterable[str]) -> int:
    """Number of lines that texts take."""
    return sum(math.ceil(len(text) / _CAVEAT_LINE) for text in texts)


def _fitting(notes: Iterable[blocks.Caveat]) -> tuple[list[blocks.Caveat], list[blocks.Block]]:
    """Return the caveats that fit, and those for the following pages, which the sheet counts."""
    fit: list[blocks.Caveat] = []
    rest: list[blocks.Block] = []
    room = _CAVEAT_LINES
    for note in notes:
        room -= _height([note.text])
        (fit if room >= 0 else rest).append(note)
    if rest:
        fit.append(blocks.Caveat(f"{counted(len(rest), 'more note')} on the next page."))
    return fit, rest


def _identity(votes: VoteMatrix, *, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the votes, seed and version of the decision."""
    labelled = int(votes.labelled.sum())
    judges = counted(votes.n_judges, "judge")
    known = "all labelled" if labelled == votes.n_items else f"{labelled:,} of them labelled"
    yield "Votes", f"{judges} on {counted(votes.n_items, 'item')}, {known}"
    yield "SHA-256 of the votes", votes.sha256
    yield "Seed and version", f"{seed}; judgepanel {__version__}, engine {ENGINE}"


def _repeated_by(command: str) -> blocks.Block:
    if len(command) <= _COMMAND_CHARACTERS:
        return blocks.Command(command)
    return blocks.Paragraph(
        "The command that repeats this is too long for this sheet; it stands below."
    )
