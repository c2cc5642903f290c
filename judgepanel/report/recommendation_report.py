"""The report of a recommendation: the answer, its evidence, how to repeat it."""

from __future__ import annotations

from judgepanel import ENGINE, __version__
from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.figures.value import removal, value
from judgepanel.report.document import (
    Block,
    Code,
    Document,
    Drawing,
    Facts,
    Heading,
    Paragraph,
    Rows,
)
from judgepanel.report.recommendation import (
    certainty_sentence,
    recommendation_sentence,
    rival_sentence,
    statuses_sentence,
    tied_sentence,
)
from judgepanel.report.tables import candidate_table, weights_table
from judgepanel.report.value import removal_sentence, removal_table, status_table, value_sentence
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.studies.value.value_result import Value
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check, check_orientation

_MARKS = {"pass": "passes", "review": "look", "fail": "fails", "not applicable": "does not apply"}


def recommendation_report(
    name: str,
    votes: VoteMatrix,
    spec: RecommendSpec,
    found: Recommendation,
    *,
    command: str,
    worth: Value | None = None,
    status: tuple[JudgeStatus, ...] = (),
) -> Document:
    """The whole report; ``worth`` and ``status`` where the value of judges has been computed."""
    blocks: list[Block] = [
        Paragraph(recommendation_sentence(found), strong=True),
        *_said(statuses_sentence(status), certainty_sentence(found)),
        *_said(rival_sentence(found), tied_sentence(found)),
        *(Paragraph(warning, quiet=True) for warning in found.warnings),
        Heading("What it rests on"),
        _facts(votes, spec, found),
        Paragraph(_check(check_orientation(votes)), quiet=True),
        Heading("The panel"),
        Drawing(
            kept_judges(judge_table(votes), found.model.judges, found.set_aside),
            "Accuracy of every judge with its interval; kept and left out are told apart.",
        ),
        Rows(weights_table(found), "Judges of the panel in panel order, and those left out."),
    ]
    if worth is not None:
        blocks += _worth(worth, status)
    blocks += [
        Heading("All candidates"),
        Paragraph(
            "A candidate's own figures do not allow for having been picked among many; the "
            "expected NLL above does.",
            quiet=True,
        ),
        Rows(candidate_table(found)),
        Heading("How to repeat it"),
        Code(command),
    ]
    return Document(f"Recommended panel: {name}", tuple(blocks))


def _said(*sentences: str) -> list[Block]:
    return [Paragraph(sentence) for sentence in sentences if sentence]


def _facts(votes: VoteMatrix, spec: RecommendSpec, found: Recommendation) -> Facts:
    pairs = [
        ("Votes", f"{votes.n_items:,} items, {votes.n_judges:,} judges"),
        ("Labelled", f"{int(votes.labelled.sum()):,} items, {found.n_items:,} of them fitted"),
        ("SHA-256 of the votes", votes.sha256),
        ("Task", votes.task),
        ("Orientation", found.orientation),
        ("Protocol", spec.settings.protocol),
        (
            "Splits",
            f"{found.n_splits:,} of {found.planned_splits:,}, {found.n_calibration:,.0f} labels "
            f"calibrate, {found.n_evaluation:,.0f} evaluate, seed {found.seed}",
        ),
        ("Candidates", f"{spec.candidates} list, {len(found.candidates):,}"),
        ("Preference", spec.prefer),
        ("Version", f"judgepanel {__version__}, engine {ENGINE}"),
    ]
    if spec.budget is not None:
        pairs.insert(-1, ("Budget", f"{spec.budget:g} an item"))
    if spec.conformal:
        pairs.insert(-1, ("Held out for sets", f"{spec.conformal:.0%} of the labels"))
    return Facts(tuple(pairs))


def _check(check: Check) -> str:
    return f"{check.title}: {_MARKS[check.outcome]}. {check.why} {check.advice}"


def _worth(worth: Value, status: tuple[JudgeStatus, ...]) -> list[Block]:
    return [
        Heading("What each judge is worth"),
        Paragraph(value_sentence(worth)),
        Drawing(
            value(worth, status or None),
            "What NLL loses without each judge, with intervals; keep, drop and watch told apart.",
        ),
        Rows(status_table(worth, status or None)),
        Paragraph(removal_sentence(worth)),
        Drawing(
            removal(worth), "NLL against the number of least valuable judges that are taken out."
        ),
        Rows(removal_table(worth)),
    ]
