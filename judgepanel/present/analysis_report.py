"""The report of a whole analysis: the decision on one sheet, followed by all its evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from judgepanel import ENGINE, __version__
from judgepanel.decision import recommend, statuses
from judgepanel.present import blocks
from judgepanel.present.decide.candidate_rows import RecommendationView
from judgepanel.present.decide.panel_curve import PanelCurveView
from judgepanel.present.decide.recommend import other_pipeline, other_way_sentence
from judgepanel.present.decide.value import ValueView
from judgepanel.present.outputs import outputs
from judgepanel.present.pages import SUMMARIZED
from judgepanel.present.recommendation_report import decision_sheet, empty_sheet
from judgepanel.present.registry import PRESENTATIONS, STUDIES, entries_of
from judgepanel.present.study import at_a_glance, pipeline_of, study_blocks
from judgepanel.present.trust.scope import ScopeView
from judgepanel.present.understand.judges import view as judges_view
from judgepanel.present.understand.method_grid import MethodGridView
from judgepanel.studies.contract import Settings, Spec, Study
from judgepanel.studies.decide import panel_curve, value
from judgepanel.studies.trust import group_change, scope
from judgepanel.studies.understand.judges import JUDGES
from judgepanel.studies.understand.method_grid import METHOD_GRID
from judgepanel.votes import VoteMatrix, matrix, table
from judgepanel.votes.checks import Check, item_checks
from judgepanel.words import sentences, text


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
    coverage: table.Coverage | None = None
    reading: str = ""

    def of(self, study: Study[Any, Any, Any]) -> Finding | None:
        """Return the result of this study."""
        of_study = (finding for finding in self.findings if finding.study.name == study.name)
        return next(of_study, None)


def analysis_document(report: AnalysisReport) -> blocks.Document:
    """Return the whole report, the decision first."""
    sheet, rest = _sheet(report)
    if report.reading:
        sheet = (*sheet[:1], blocks.note(report.reading), *sheet[1:])
    content = [
        blocks.Heading("The evidence"),
        *rest,
        *_gaps(report),
        *_decisions(report),
        *_rests_on(report),
        *_checks(report),
        *(() if report.coverage is None else outputs(report.coverage)),
        *_sections(report),
    ]
    return blocks.Document(f"{report.name}: report", tuple(content), sheet)


def _statuses(report: AnalysisReport) -> tuple[statuses.JudgeStatus, ...]:
    worth = report.of(value.VALUE)
    if worth is None:
        return ()
    return statuses.statuses_of(report.votes, worth.spec, worth.result)  # type: ignore[arg-type]


def _sheet(report: AnalysisReport) -> tuple[tuple[blocks.Block, ...], list[blocks.Block]]:
    """Return the decision sheet, and the rest of the recommendation."""
    finding = report.of(recommend.RECOMMEND)
    if finding is None:
        answer = "No recommendation has been computed for this analysis."
        return empty_sheet(answer, report.votes, seed=report.settings.seed), []
    first, _ = blocks.opening(_blocks(report, finding))
    command = _command(report, finding)
    # The questions that Overview answers, and the answers that are known.
    answers = [
        (page.question, at_a_glance(_blocks(report, known))[0])
        for page in SUMMARIZED
        if (known := report.of(entries_of(page)[0].study)) is not None
    ]
    sheet, rest = decision_sheet(
        first, finding.result, report.votes, command=command, answers=answers
    )
    others = blocks.Paragraph(
        f"{other_way_sentence(finding.result)} Sections below that show another pipeline say so; "
        "their advice to keep or leave out judges holds under that pipeline."
    )
    return sheet, [*rest, others]


def _gaps(report: AnalysisReport) -> Iterator[blocks.Block]:
    """Yield a block on studies that the report lacks."""
    if report.missing:
        yield blocks.note(f"Not computed: {_titles(report.missing)}.")
    if report.outdated:
        yield blocks.note(
            f"Left out, since an older version computed it: {_titles(report.outdated)}."
        )


def _titles(names: tuple[str, ...]) -> str:
    return text.listed([STUDIES[name].title for name in names])


def _decisions(report: AnalysisReport) -> Iterator[blocks.Block]:
    yield blocks.Heading("Decisions")
    if not report.decisions:
        yield blocks.Paragraph("No decision has been recorded.")
    for decision in report.decisions:
        pairs = (
            ("Decided", decision.what),
            ("By", decision.by),
            ("Why", decision.why),
            ("On", f"{text.minute(decision.made)} UTC"),
        )
        yield blocks.Facts(pairs)


def _rests_on(report: AnalysisReport) -> Iterator[blocks.Block]:
    votes, settings = report.votes, report.settings
    yield blocks.Heading("What it rests on")
    described = sentences.votes_sentence(votes, group_duplicates=settings.group_duplicates)
    yield blocks.Paragraph(described)
    labelled = int(votes.labelled.sum())
    judges = text.counted(votes.n_judges, "judge")
    if settings.judges is not None:
        judges = f"{len(settings.judges):,} of {judges}"
    rarer = f"{text.percent(votes.minority_share, 3)} of the labels are of the rarer kind"
    policy = matrix.resolve(votes, settings.orientation, settings.protocol).replace("_", " ")
    yield blocks.Facts(
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
            ("Written", f"{text.minute(report.written)} UTC"),
        )
    )
    for note in report.notes:
        yield blocks.note(note)


def _checks(report: AnalysisReport) -> Iterator[blocks.Block]:
    """Yield the checks: P0 is always known; P1 to P3 are part of Scope."""
    yield blocks.Heading("Checks")
    finding = report.of(scope.SCOPE)
    order, repeats = item_checks(report.votes, group_duplicates=report.settings.group_duplicates)
    checks: tuple[Check, ...] = (order,) if finding is None else finding.result.checks
    for check in (*checks[:1], repeats, *checks[1:]):
        yield blocks.Paragraph(sentences.check_sentences(check))
        yield blocks.note(sentences.check_numbers(check))
    command = sentences.inspect_command(
        report.file, report.settings, task=report.votes.task, columns=report.columns
    )
    yield blocks.Command(command)


def _sections(report: AnalysisReport) -> Iterator[blocks.Block]:
    """Yield every study in page order, without repeating the sheet."""
    recommended = report.of(recommend.RECOMMEND)
    known: set[str] = set() if recommended is None else set(recommended.result.warnings)
    for entry in PRESENTATIONS.values():
        finding = report.of(entry.study)
        if finding is None:
            continue
        yield blocks.Heading(finding.study.title)
        yield blocks.note(finding.study.question)
        if recommended is not None:
            pipeline = pipeline_of(recommended.result)
            apart = ", which is not the recommended pipeline"
            other = other_pipeline(finding.spec, pipeline, entry.single, apart)
            yield from blocks.paragraphs(other and f"Under {other}.")
        content = _blocks(report, finding, known)
        yield from blocks.opening(content)[1] if finding is recommended else content
        known.update(finding.result.warnings)


def _blocks(
    report: AnalysisReport, finding: Finding, known: Collection[str] = ()
) -> list[blocks.Block]:
    entry, view = PRESENTATIONS[finding.study.name], _view(report, finding.study.name)
    command = _command(report, finding)
    return study_blocks(entry, finding.result, finding.spec, view, command=command, known=known)


def _command(report: AnalysisReport, finding: Finding) -> str:
    task, columns = report.votes.task, report.columns
    return sentences.study_command(
        finding.study.name, report.file, finding.spec, task=task, columns=columns
    )


def _view(report: AnalysisReport, name: str) -> Any:
    """Return the view options of a study; None for its default."""
    finding = report.of(recommend.RECOMMEND)
    recommendation: Any = None if finding is None else finding.result
    if name == recommend.RECOMMEND.name:
        return RecommendationView(report.votes, _statuses(report))
    if name == panel_curve.PANEL_CURVE.name:
        return PanelCurveView(recommendation=recommendation)
    if name == JUDGES.name:
        judges: Any = report.of(JUDGES)
        return replace(judges_view(report.votes, judges.spec), recommendation=recommendation)
    if name == METHOD_GRID.name:
        return MethodGridView(recommendation=recommendation)
    if name == scope.SCOPE.name:
        change: Any = report.of(group_change.GROUP_CHANGE)
        filtered = None if change is None or change.result.by != "filter" else change.result
        # The head of the report contains the sentences of the checks.
        return ScopeView(False, True, recommendation, filtered)
    return ValueView(_statuses(report)) if name == value.VALUE.name else None
