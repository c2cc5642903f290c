"""Judges, methods and the paper's claim."""

from __future__ import annotations

from judgepanel.figures.claim import fitted_maps, protocol
from judgepanel.present.blocks import Answer, Block, Box, Table, drawing, paragraphs
from judgepanel.report.claim import (
    MEASURES_CODING,
    claim_sentence,
    constant_sentence,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    reversal_sentences,
    step_sentences,
)
from judgepanel.report.claim_tables import step_table
from judgepanel.studies.claim.claim_result import Claim


def claim(found: Claim) -> list[Block]:
    words = f"One-class coding: everything in this box {MEASURES_CODING}."
    return [
        Answer(claim_sentence(found)),
        Box(
            words,
            (
                drawing(protocol(found, "one_class"), "the paper's protocol"),
                *paragraphs(*reversal_sentences(found, "one_class"), constant_sentence(found)),
                drawing(fitted_maps(found), "the fitted maps"),
                *paragraphs(map_sentence(found)),
                *_steps(found, "one_class"),
            ),
            coding=True,
        ),
        Box(
            "Honest labels.",
            (
                drawing(protocol(found, "honest"), "honest labels"),
                *paragraphs(*reversal_sentences(found, "honest"), honest_constant_sentence(found)),
                *_steps(found, "honest"),
            ),
        ),
        *_together(found),
    ]


def _steps(found: Claim, coding: str) -> list[Block]:
    sentences = (f"{name}: {said_of}" for name, said_of in step_sentences(found, coding))
    return [Table(step_table(found, coding)), *paragraphs(*sentences)]


def _together(found: Claim) -> list[Block]:
    sentence = joint_sentence(found)
    if not sentence:
        return []
    return [*paragraphs(sentence), drawing(protocol(found, "together"), "joint beside one-coin")]
