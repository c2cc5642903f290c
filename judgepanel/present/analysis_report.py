"""The report of a whole analysis: the decision on one sheet, followed by all its evidence.

The report of a recommendation: the decision on one sheet, its evidence, and its data.

The sheet is the first page of the report of a whole analysis too. It must fit on A4 and on Letter:
what does not fit is counted, and appears in full on the following pages.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import plotly.graph_objects as go

from judgepanel import ENGINE, __version__
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus, statuses_of
from judgepanel.present.blocks import (
    Answer,
    Block,
    Caveat,
    Command,
    Document,
    Facts,
    Figure,
    Heading,
    Names,
    Paragraph,
    Row,
    Table,
    opening,
    paragraphs,
)
from judgepanel.present.decide.candidate_rows import RecommendationView, candidate_name, same_panel
from judgepanel.present.decide.panel_curve import PanelCurveView
from judgepanel.present.decide.recommend import other_pipeline, other_way_sentence
from judgepanel.present.decide.value import ValueView
from judgepanel.present.outputs import outputs
from judgepanel.present.registry import ENTRIES, STUDIES
from judgepanel.present.study import pipeline_of, study_blocks
from judgepanel.present.trust.scope import ScopeView
from judgepanel.present.understand.judges import view as judges_view
from judgepanel.present.understand.method_grid import MethodGridView
from judgepanel.studies.contract import Settings, Spec, Study
from judgepanel.studies.decide.panel_curve import PANEL_CURVE
from judgepanel.studies.decide.value import VALUE, Value, ValueSpec
from judgepanel.studies.trust.group_change import GROUP_CHANGE
from judgepanel.studies.trust.scope import SCOPE
from judgepanel.studies.understand.judges import JUDGES
from judgepanel.studies.understand.method_grid import METHOD_GRID
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check, item_checks
from judgepanel.votes.matrix import resolve
from judgepanel.votes.table import Coverage
from judgepanel.words.commands import inspect_command, study_command
from judgepanel.words.sentences import check_numbers, check_sentences, votes_sentence
from judgepanel.words.text import (
    counted,
    fixed,
    interval,
    listed,
    minute,
    percent,
    plain,
    sig,
    with_interval,
)

_FIGURE_SHARE = 0.52
_FIGURE_FONT = 10
NAME_LINES = 75
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
    spec: RecommendSpec,
    result: Recommendation,
    *,
    command: str,
    worth: tuple[ValueSpec, Value] | None = None,
    statuses: tuple[JudgeStatus, ...] = (),
) -> Document:
    """Return the whole report; ``worth`` and ``statuses`` if the value of judges was computed."""
    view = RecommendationView(votes, statuses)
    first, evidence = opening(
        study_blocks(ENTRIES[RECOMMEND.name], result, spec, view, command=command)
    )
    sheet, rest = decision_sheet(first, result, votes, command=command)
    blocks: list[Block] = [Heading("The evidence"), *rest, *evidence]
    if worth is not None:
        entry, (value_spec, value) = ENTRIES[VALUE.name], worth
        view_of_value = ValueView(statuses or None)
        blocks.append(Heading(entry.study.title))
        blocks += study_blocks(entry, value, value_spec, view_of_value, known=result.warnings)
    blocks += [
        Heading("What it rests on"),
        _facts(votes, spec, result),
        *(
            Paragraph(check_sentences(check), quiet=True)
            for check in item_checks(votes, group_duplicates=spec.settings.group_duplicates)
        ),
    ]
    return Document(f"Recommended panel: {name}", tuple(blocks), sheet)


def _facts(votes: VoteMatrix, spec: RecommendSpec, result: Recommendation) -> Facts:
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
        ("Version", f"judgepanel {__version__}, engine {ENGINE}"),
    ]
    if spec.budget is not None:
        pairs.insert(-1, ("Budget", f"{spec.budget:g} an item"))
    if spec.conformal:
        pairs.insert(-1, ("Held out for sets", f"{spec.conformal:.0%} of the labels"))
    return Facts(tuple(pairs))


def decision_sheet(
    opening: Sequence[Block], result: Recommendation, votes: VoteMatrix, *, command: str
) -> tuple[tuple[Block, ...], list[Block]]:
    """Return the sheet, and the rest of the recommendation's opening for the following pages.

    ``opening`` are the recommendation's blocks before its first heading; ``command`` reproduces it.
    """
    blocks = list(_one_by_one(opening))
    first = [block for block in blocks if isinstance(block, Answer)]
    figures = [_low(block) for block in blocks if isinstance(block, Figure)]
    notes, more_notes = _fitting([block for block in blocks if isinstance(block, Caveat)])
    rest = [block for block in blocks if not isinstance(block, Answer | Figure | Caveat)]
    sheet = (
        *first,
        *figures,
        *_judges(result, NAME_LINES + _COLUMNS * (_CAVEAT_LINES - _height(notes))),
        Facts((*_numbers(result), *_identity(votes, seed=result.seed))),
        *notes,
        _repeated_by(command),
    )
    return sheet, [*more_notes, *_with_every_judge(rest)]


def empty_sheet(answer: str, votes: VoteMatrix, *, seed: int) -> tuple[Block, ...]:
    """Return the sheet of an analysis without a recommendation."""
    return (Answer(answer), Facts(tuple(_identity(votes, seed=seed))))


def _one_by_one(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks that are side by side on a page one after the other."""
    for block in blocks:
        yield from block.blocks if isinstance(block, Row) else (block,)


def _with_every_judge(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks for the following pages, with every judge in the table of the panel."""
    for block in blocks:
        if isinstance(block, Table) and {"decision", "judge"} <= block.columns.keys():
            yield replace(block, most=block.n_rows)
        else:
            yield block


def _low(figure: Figure) -> Figure:
    """Return the figure at the smallest height its labels allow."""

    def draw() -> go.Figure:
        plot = go.Figure(figure.figure)
        plot.update_layout(height=_FIGURE_SHARE * plot.layout.height, font_size=_FIGURE_FONT)
        plot.update_xaxes(title_font_size=_FIGURE_FONT)
        return plot.update_yaxes(tickfont_size=_FIGURE_FONT)

    return replace(figure, draw=draw)


def _judges(result: Recommendation, left: int) -> Iterator[Block]:
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
        yield Names(f"{title} {counted(len(names), 'judge')}", shown_names, more)


def _n_fitting(names: Sequence[str], lines: int) -> int:
    for n, name in enumerate(names):
        lines -= _lines(name)
        if lines < 0:
            return n
    return len(names)


def _lines(name: str) -> int:
    return max(1, math.ceil(len(plain(name, _LONGEST_NAME)) / _NAME_LINE))


def _numbers(result: Recommendation) -> Iterator[tuple[str, str]]:
    value, lo, hi = result.nll
    base = f"the base rate alone gives {fixed(result.null_nll, 3)}"
    yield "Expected NLL on new items", f"{sig(value)} {interval(lo, hi, 3)}; {base}"
    yield (
        "Against all judges, one-coin + beta",
        f"{with_interval(*result.delta, sign=True)} NLL",
    )
    opposite = "Fewer judges, at best" if result.keeps_all else "All judges, at best"
    rivals = {"Runner-up": result.runner_up, opposite: result.best(everyone=not result.keeps_all)}
    if rivals[opposite] == result.runner_up:
        del rivals[opposite]
    for title, row in rivals.items():
        if row is not None and not same_panel(result, row):
            change = with_interval(*row.behind, sign=True)
            yield title, f"{candidate_name(row)}, {change} NLL against the panel above"
    yield (
        "Splits",
        f"{result.n_splits:,}; in each {result.n_calibration:,.0f} labels calibrate and "
        f"{result.n_evaluation:,.0f} evaluate",
    )


def _height(notes: Iterable[Caveat]) -> int:
    """Number of lines that the caveats take."""
    return sum(math.ceil(len(note.text) / _CAVEAT_LINE) for note in notes)


def _fitting(notes: Iterable[Caveat]) -> tuple[list[Caveat], list[Block]]:
    """Return the caveats that fit, and those for the following pages, which the sheet counts."""
    fit: list[Caveat] = []
    rest: list[Block] = []
    room = _CAVEAT_LINES
    for note in notes:
        room -= _height([note])
        (fit if room >= 0 else rest).append(note)
    if rest:
        fit.append(Caveat(f"{counted(len(rest), 'more note')} on the next page."))
    return fit, rest


def _identity(votes: VoteMatrix, *, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the votes, seed and version of the decision."""
    labelled = int(votes.labelled.sum())
    judges = counted(votes.n_judges, "judge")
    known = "all labelled" if labelled == votes.n_items else f"{labelled:,} of them labelled"
    yield "Votes", f"{judges} on {counted(votes.n_items, 'item')}, {known}"
    yield "SHA-256 of the votes", votes.sha256
    yield "Seed and version", f"{seed}; judgepanel {__version__}, engine {ENGINE}"


def _repeated_by(command: str) -> Block:
    if len(command) <= _COMMAND_CHARACTERS:
        return Command(command)
    return Paragraph("The command that repeats this is too long for this sheet; it stands below.")


class Decided(Protocol):
    """A recorded decision: by whom, why, and when (ISO 8601, UTC); untrusted text."""

    @property
    def what(self) -> str: ...

    @property
    def by(self) -> str: ...

    @property
    def why(self) -> str: ...

    @property
    def made(self) -> str: ...


_GROUPED = {True: "kept in one group", False: "taken as they are"}


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A result of this version, with its study and spec."""

    study: Study[Any, Any, Any]
    spec: Spec
    result: Any


@dataclass(frozen=True, slots=True, eq=False)
class AnalysisReport:
    """The content of the report of an analysis.

    ``file`` and ``columns`` reproduce the reading of the votes on the command line; ``notes`` are
    data warnings. ``outdated`` and ``missing`` are names of studies that are not among
    ``findings``: results of an older version, and not computed. ``written`` is ISO 8601, UTC;
    ``coverage`` is that of judges' outputs, None if the file held votes; ``reading`` says how the
    file was read.
    """

    name: str
    file: str
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    votes: VoteMatrix
    settings: Settings
    findings: tuple[Finding, ...]
    outdated: tuple[str, ...]
    missing: tuple[str, ...]
    decisions: tuple[Decided, ...]
    written: str
    coverage: Coverage | None = None
    reading: str = ""

    def of(self, study: Study[Any, Any, Any]) -> Finding | None:
        """Return the result of this study."""
        return next(
            (finding for finding in self.findings if finding.study.name == study.name), None
        )


def analysis_document(report: AnalysisReport) -> Document:
    """Return the whole report, the decision first."""
    sheet, rest = _sheet(report)
    if report.reading:
        sheet = (*sheet[:1], Paragraph(report.reading, quiet=True), *sheet[1:])
    blocks = [
        Heading("The evidence"),
        *rest,
        *_gaps(report),
        *_decisions(report),
        *_rests_on(report),
        *_checks(report),
        *(() if report.coverage is None else outputs(report.coverage)),
        *_sections(report),
    ]
    return Document(f"{report.name}: report", tuple(blocks), sheet)


def _statuses(report: AnalysisReport) -> tuple[JudgeStatus, ...]:
    worth = report.of(VALUE)
    if worth is None:
        return ()
    return statuses_of(report.votes, worth.spec, worth.result)  # type: ignore[arg-type]


def _sheet(report: AnalysisReport) -> tuple[tuple[Block, ...], list[Block]]:
    """Return the decision sheet, and the rest of the recommendation."""
    finding = report.of(RECOMMEND)
    if finding is None:
        answer = "No recommendation has been computed for this analysis."
        return empty_sheet(answer, report.votes, seed=report.settings.seed), []
    first, _ = opening(_blocks(report, finding))
    command = _command(report, finding)
    sheet, rest = decision_sheet(first, finding.result, report.votes, command=command)
    others = Paragraph(
        f"{other_way_sentence(finding.result)} Sections below that show another pipeline say so; "
        "their advice to keep or leave out judges holds under that pipeline."
    )
    return sheet, [*rest, others]


def _gaps(report: AnalysisReport) -> Iterator[Block]:
    """Yield a block on studies that the report lacks."""
    if report.missing:
        yield Paragraph(f"Not computed: {_titles(report.missing)}.", quiet=True)
    if report.outdated:
        yield Paragraph(
            f"Left out, since an older version computed it: {_titles(report.outdated)}.",
            quiet=True,
        )


def _titles(names: tuple[str, ...]) -> str:
    return listed([STUDIES[name].title for name in names])


def _decisions(report: AnalysisReport) -> Iterator[Block]:
    yield Heading("Decisions")
    if not report.decisions:
        yield Paragraph("No decision has been recorded.")
    for decision in report.decisions:
        pairs = (
            ("Decided", decision.what),
            ("By", decision.by),
            ("Why", decision.why),
            ("On", f"{minute(decision.made)} UTC"),
        )
        yield Facts(pairs)


def _rests_on(report: AnalysisReport) -> Iterator[Block]:
    votes, settings = report.votes, report.settings
    yield Heading("What it rests on")
    yield Paragraph(votes_sentence(votes, group_duplicates=settings.group_duplicates))
    labelled = int(votes.labelled.sum())
    judges = counted(votes.n_judges, "judge")
    if settings.judges is not None:
        judges = f"{len(settings.judges):,} of {judges}"
    rarer = f"{percent(votes.minority_share, 3)} of the labels are of the rarer kind"
    policy = resolve(votes, settings.orientation, settings.protocol).replace("_", " ")
    yield Facts(
        (
            ("File", report.file),
            ("SHA-256 of the votes", votes.sha256),
            ("Items", f"{votes.n_items:,}, {labelled:,} of them labelled"),
            ("Judges", judges),
            ("Class balance", rarer if labelled else "no labels"),
            ("Task", votes.task),
            ("Orientation", f"{settings.orientation}, here {policy}"),
            ("Items that repeat", _GROUPED[settings.group_duplicates]),
            ("Protocol", settings.protocol),
            (
                "Splits",
                f"{settings.splits_text}, {100 * settings.fraction:g} % of the items calibrate, "
                f"seed {settings.seed}",
            ),
            ("Version", f"judgepanel {__version__}, engine {ENGINE}"),
            ("Written", f"{minute(report.written)} UTC"),
        )
    )
    for note in report.notes:
        yield Paragraph(note, quiet=True)


def _checks(report: AnalysisReport) -> Iterator[Block]:
    """Yield the checks: P0 is always known; P1 to P3 are part of Scope."""
    yield Heading("Checks")
    finding = report.of(SCOPE)
    order, repeats = item_checks(report.votes, group_duplicates=report.settings.group_duplicates)
    checks: tuple[Check, ...] = (order,)
    if finding is not None:
        checks = finding.result.checks
    checks = (*checks[:1], repeats, *checks[1:])
    for check in checks:
        yield Paragraph(check_sentences(check))
        yield Paragraph(check_numbers(check), quiet=True)
    yield Command(
        inspect_command(
            report.file,
            report.settings,
            task=report.votes.task,
            columns=report.columns,
        )
    )


def _sections(report: AnalysisReport) -> Iterator[Block]:
    """Yield every study in page order, without repeating the sheet."""
    recommended = report.of(RECOMMEND)
    known: set[str] = set() if recommended is None else set(recommended.result.warnings)
    for entry in ENTRIES.values():
        finding = report.of(entry.study)
        if finding is None:
            continue
        yield Heading(finding.study.title)
        yield Paragraph(finding.study.question, quiet=True)
        if recommended is not None:
            pipeline, apart = (
                pipeline_of(recommended.result),
                ", which is not the recommended pipeline",
            )
            other = other_pipeline(finding.spec, pipeline, entry.single, apart)
            yield from paragraphs(other and f"Under {other}.")
        blocks = _blocks(report, finding, known)
        yield from opening(blocks)[1] if finding is recommended else blocks
        known.update(finding.result.warnings)


def _blocks(report: AnalysisReport, finding: Finding, known: Collection[str] = ()) -> list[Block]:
    name = finding.study.name
    return study_blocks(
        ENTRIES[name],
        finding.result,
        finding.spec,
        _view(report, name),
        command=_command(report, finding),
        known=known,
    )


def _command(report: AnalysisReport, finding: Finding) -> str:
    return study_command(
        finding.study.name,
        report.file,
        finding.spec,
        task=report.votes.task,
        columns=report.columns,
    )


def _view(report: AnalysisReport, name: str) -> Any:
    """Return the view options of a study; None for its default."""
    finding = report.of(RECOMMEND)
    recommendation: Any = None if finding is None else finding.result
    if name == RECOMMEND.name:
        return RecommendationView(report.votes, _statuses(report))
    if name == PANEL_CURVE.name:
        return PanelCurveView(recommendation=recommendation)
    if name == JUDGES.name:
        judges: Any = report.of(JUDGES)
        return replace(judges_view(report.votes, judges.spec), recommendation=recommendation)
    if name == METHOD_GRID.name:
        return MethodGridView(recommendation=recommendation)
    if name == SCOPE.name:
        change: Any = report.of(GROUP_CHANGE)
        filtered = None if change is None or change.result.by != "filter" else change.result
        # The head of the report contains the sentences of the checks.
        return ScopeView(False, True, recommendation, filtered)
    return ValueView(_statuses(report)) if name == VALUE.name else None
