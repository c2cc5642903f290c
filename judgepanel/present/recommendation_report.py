"""The report of a recommendation: the answer, its evidence, how to repeat it."""

from __future__ import annotations

from judgepanel import ENGINE, __version__
from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.figures.judges.judges import kept_judges
from judgepanel.figures.value import removal, value
from judgepanel.present.blocks import (
    Answer,
    Block,
    Command,
    Document,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    paragraphs,
)
from judgepanel.report.absence import absence_table, absence_words
from judgepanel.report.recommendation import (
    certainty_sentence,
    recommendation_sentence,
    rival_sentence,
    statuses_sentence,
    tied_sentence,
    way_sentence,
)
from judgepanel.report.scope import check_sentences
from judgepanel.report.tables import candidate_table, weights_table
from judgepanel.report.value import removal_sentence, removal_table, status_table, value_sentence
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.studies.value.value_result import Value
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import item_checks


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
        *verdict(found, status),
        Heading("What it rests on"),
        _facts(votes, spec, found),
        *(
            Paragraph(check_sentences(check), quiet=True)
            for check in item_checks(votes, group_duplicates=spec.settings.group_duplicates)
        ),
        Heading("The panel"),
        *panel(votes, found),
    ]
    if worth is not None:
        blocks += [Heading("What each judge is worth"), *worth_of_judges(worth, status)]
    if found.absence is not None:
        blocks += [Heading("When judges are absent"), *absences(found)]
    blocks += [
        Heading("All candidates"),
        *candidates(found),
        Heading("How to repeat it"),
        Command(command),
    ]
    return Document(f"Recommended panel: {name}", tuple(blocks))


def verdict(found: Recommendation, status: tuple[JudgeStatus, ...] = ()) -> list[Block]:
    """The recommendation, how sure it is, and what its reader must know."""
    return [
        Answer(recommendation_sentence(found)),
        *paragraphs(way_sentence(found), statuses_sentence(status), certainty_sentence(found)),
        *paragraphs(rival_sentence(found), tied_sentence(found)),
        *(Paragraph(warning, quiet=True) for warning in found.warnings),
    ]


def panel(votes: VoteMatrix, found: Recommendation) -> list[Block]:
    """Who is in the panel, with what weight, and who is not."""
    return [
        Figure(
            kept_judges(judge_table(votes), found.model.judges, found.set_aside),
            "Accuracy of every judge with its interval; kept and left out are told apart.",
        ),
        Table(weights_table(found), "Judges of the panel in panel order, and those left out."),
    ]


def absences(found: Recommendation) -> list[Block]:
    """What the panel loses without groups of its judges, random ones, and each alone."""
    return [
        *paragraphs(*absence_words(found)),
        Table(
            absence_table(found),
            "Rise of the NLL, out of sample, with judges absent and nothing refitted; intervals "
            "are for this panel on ever so many new items.",
        ),
    ]


def candidates(found: Recommendation) -> list[Block]:
    """Everything the recommendation was chosen from."""
    return [
        Paragraph(
            "A candidate's own figures do not allow for having been picked among many; the "
            "expected NLL above does.",
            quiet=True,
        ),
        Table(candidate_table(found)),
    ]


def worth_of_judges(worth: Value, status: tuple[JudgeStatus, ...]) -> list[Block]:
    """What NLL loses without each judge, and without several."""
    return [
        Answer(value_sentence(worth)),
        Figure(
            value(worth, status or None),
            "What NLL loses without each judge, with intervals; keep, drop and watch told apart.",
        ),
        Table(status_table(worth, status or None)),
        Paragraph(removal_sentence(worth)),
        Figure(
            removal(worth), "NLL against the number of least valuable judges that are taken out."
        ),
        Table(removal_table(worth)),
    ]


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
