"""The report of a recommendation: the decision on one sheet, its evidence, and its data."""

from __future__ import annotations

from judgepanel import ENGINE, __version__
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present.blocks import Block, Document, Facts, Heading, Paragraph, opening
from judgepanel.present.decide.panel_judges import RecommendationView
from judgepanel.present.decide.value import ValueView
from judgepanel.present.decision_sheet import decision_sheet
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import study_blocks
from judgepanel.studies.value.value import VALUE, ValueSpec
from judgepanel.studies.value.value_result import Value
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import item_checks
from judgepanel.words.sentences import check_sentences


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
