"""The content of an analysis's report: stored results of this version; it starts no work."""

from __future__ import annotations

from datetime import UTC, datetime

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.present.analysis_report import AnalysisReport, Finding, analysis_document
from judgepanel.present.blocks import Document
from judgepanel.present.registry import ENTRIES, STUDIES, default_specs
from judgepanel.service import Analysis, Workspace
from judgepanel.studies.contract import Spec
from judgepanel.ui.reporting import Decisions


def report_document(space: Workspace, analysis: Analysis, decisions: Decisions) -> Document:
    """The report as a document; ``space`` and ``decisions`` are bound to the current visitor."""
    return analysis_document(collected(space, analysis, decisions))


def collected(space: Workspace, analysis: Analysis, decisions: Decisions) -> AnalysisReport:
    """The report's content; ``space`` and ``decisions`` are bound to the current visitor."""
    all_decisions = decisions()
    votes = space.votes(analysis.votes_sha256)
    settings = analysis.settings
    findings: dict[str, Finding] = {}
    outdated: list[str] = []

    def look(name: str, specs: tuple[Spec, ...]) -> None:
        study = STUDIES[name]
        for spec in specs:
            stored = space.result(study, votes.sha256, spec)
            if stored is not None and stored.current:
                findings[name] = Finding(study, spec, stored.result)
                return
            if stored is not None and name not in outdated:
                outdated.append(name)

    look(RECOMMEND.name, ENTRIES[RECOMMEND.name].specs(votes, settings))
    recommended = findings.get(RECOMMEND.name)
    recommendation = None if recommended is None else recommended.result
    for name, specs in default_specs(votes, settings, recommendation).items():
        if name != RECOMMEND.name:
            look(name, specs)
    old = tuple(name for name in outdated if name not in findings)
    gone = {*findings, *old, *(name for name, entry in ENTRIES.items() if entry.by_hand)}
    return AnalysisReport(
        name=analysis.name,
        file=analysis.file,
        columns=analysis.columns,
        notes=analysis.notes,
        votes=votes,
        settings=settings,
        findings=tuple(findings[name] for name in STUDIES if name in findings),
        outdated=old,
        missing=tuple(name for name in STUDIES if name not in gone),
        decisions=all_decisions,
        written=datetime.now(UTC).isoformat(),
        coverage=analysis.coverage,
        reading="" if analysis.reading is None else analysis.reading.sentence,
    )
