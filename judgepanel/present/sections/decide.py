"""The curve, and what panels cost. The recommendation itself has a report of its own."""

from __future__ import annotations

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.cost import cost, escalation
from judgepanel.figures.curators import curators
from judgepanel.present.blocks import Answer, Block, Paragraph, Table, drawing, paragraphs
from judgepanel.report.cost import READING, cost_sentence, cost_table, price_sentence
from judgepanel.report.curators import curators_sentence, curators_table
from judgepanel.report.escalation import (
    cheap_sentence,
    escalation_sentence,
    escalation_table,
    promise_sentence,
)
from judgepanel.report.recommendation import (
    certainty_sentence,
    recommendation_sentence,
    rival_sentence,
    tied_sentence,
)
from judgepanel.report.tables import candidate_table
from judgepanel.report.value import (
    copies_sentence,
    droppable_sentence,
    group_table,
    removal_table,
    roles_sentence,
    shapley_sentence,
    status_table,
    value_sentence,
)
from judgepanel.report.what_if import BY_HAND, what_if_sentence, what_if_table
from judgepanel.studies.cost.cost_result import Cost
from judgepanel.studies.cost.escalation_result import Escalation
from judgepanel.studies.panel.curators_result import Curators
from judgepanel.studies.panel.what_if_result import WhatIf
from judgepanel.studies.value.value_result import Value


def cost_frontier(found: Cost) -> list[Block]:
    return [
        Answer(cost_sentence(found)),
        drawing(cost(found), "the best panel under every budget"),
        *paragraphs(price_sentence(found), READING),
        Table(cost_table(found)),
    ]


def cheap_first(found: Escalation) -> list[Block]:
    return [
        Answer(escalation_sentence(found)),
        drawing(escalation(found), "every threshold of confidence"),
        *paragraphs(promise_sentence(found), cheap_sentence(found)),
        Table(escalation_table(found)),
    ]


def curator_losses(found: Curators) -> list[Block]:
    return [
        Answer(curators_sentence(found)),
        drawing(curators(found), "every way of choosing judges"),
        Table(curators_table(found)),
    ]


def recommendation(found: Recommendation) -> list[Block]:
    """The panel, how sure that is, and what it was chosen from."""
    return [
        Answer(recommendation_sentence(found)),
        *paragraphs(certainty_sentence(found), rival_sentence(found), tied_sentence(found)),
        Table(candidate_table(found), "Candidates, lowest expected NLL first.", most=12),
    ]


def worth(found: Value) -> list[Block]:
    """What each judge is worth."""
    return [
        Answer(value_sentence(found)),
        *paragraphs(
            droppable_sentence(found),
            shapley_sentence(found),
            copies_sentence(found),
            roles_sentence(found),
            "Statuses here leave out the scope checks P0 and P1.",
        ),
        Table(status_table(found)),
        *([Table(removal_table(found))] if found.removal else []),
        *([Table(group_table(found))] if found.groups else []),
    ]


def by_hand(found: WhatIf) -> list[Block]:
    """A panel chosen by hand beside the recommended one."""
    return [
        Answer(what_if_sentence(found)),
        Paragraph(BY_HAND),
        Table(what_if_table(found)),
    ]
