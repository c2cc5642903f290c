"""Presentation of agreement: with the labels, with each other, and labels in doubt."""

from __future__ import annotations

import numpy as np

from judgepanel.arrays import Ints
from judgepanel.figures.dots import groups_figure
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.study import Entry
from judgepanel.studies.understand.agreement import AGREEMENT, MOST_DOUBTS, Agreement, AgreementSpec
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, numbers, result_table, text
from judgepanel.words.text import counted, fixed, level, one_line

MOST_DRAWN = 25
_NAME = 40


def agreement_sentence(result: Agreement) -> str:
    """Return the agreement of the judges with each other, and with the labels."""
    parts = []
    if np.isfinite(result.alpha.value):
        parts.append(f"Krippendorff's alpha of the judges is {level(*result.alpha)}")
    known = np.isfinite(result.kappa.value)
    if known.any():
        place = int(np.nanargmax(result.kappa.value))
        name, best = one_line(result.judge[place], _NAME), fixed(result.kappa.value[place], 2)
        parts.append(f"{name} has the highest kappa with the labels, {best}")
    if not parts:
        return "Agreement beyond chance is not defined: all votes or labels are equal."
    sentence = f"{'; '.join(parts)}."
    return f"{sentence} {CODING}" if result.measures_coding else sentence


def doubt_sentence(result: Agreement) -> str:
    """Say how many labels the panel contradicts; empty if none."""
    if not result.doubt:
        return ""
    many = "at least " if len(result.doubt) == MOST_DOUBTS else ""
    return (
        f"The panel, fitted to other labels, contradicts {many}"
        f"{counted(len(result.doubt), 'label')}. Look at the first ones: labels that good judges "
        "contradict together are often wrong."
    )


def _order(result: Agreement) -> Ints:
    """Positions of the judges, highest kappa first and those without one last."""
    return np.argsort(-result.kappa.value, kind="stable")


def judges_table(result: Agreement) -> dict[str, Column]:
    """Return every judge, highest kappa first."""
    order = _order(result)
    names = text([one_line(result.judge[j], _NAME) for j in order])
    return result_table(result, order) | {"judge": names}


def doubts_table(result: Agreement) -> dict[str, Column]:
    """Return the labels that the panel contradicts, the clearest first."""
    return {
        "item": text([one_line(name, _NAME) for name in result.doubt]),
        "label": numbers(result.doubt_label, "whole"),
        "panel": numbers(result.doubt_probability, "share"),
        "votes for 1": numbers(result.doubt_share, "share"),
    }


def present(result: Agreement, spec: AgreementSpec) -> list[Block]:
    """Present agreement of all judges, of every judge, and the labels in doubt."""
    order = _order(result)[:MOST_DRAWN]
    blocks: list[Block] = [
        Answer(agreement_sentence(result)),
        drawing(
            "kappa and AC1 of every judge with the labels, with intervals",
            groups_figure,
            [one_line(result.judge[j], _NAME) for j in order],
            {"kappa": result.kappa[order], "AC1": result.ac1[order]},
            "agreement beyond chance",
            percent=False,
        ),
        Table(
            judges_table(result),
            "Votes by label, and agreement beyond chance; highest kappa first.",
            most=200,
            height=320,
        ),
    ]
    if result.doubt:
        blocks += [
            Heading("Labels in doubt", 3),
            *paragraphs(doubt_sentence(result)),
            Table(
                doubts_table(result),
                "Panel: the probability of label 1, fitted to the labels of other items.",
                height=320,
            ),
        ]
    return [
        *blocks,
        Paragraph(
            "Kappa falls where nearly all labels are equal, however good a judge is. Read it "
            "beside the share of label 1, and beside AC1, which does not.",
            quiet=True,
        ),
        Method(
            "Cohen's kappa subtracts the agreement of raters who vote 1 as often as these, "
            "independently; Gwet's AC1 that of guesses. Krippendorff's alpha compares all judges "
            "on all labelled items, missing votes left out. Intervals are from leaving out one "
            "block of items after the other, items of one group together. Labels in doubt are "
            "those on the other side of one half from an average of regressions on the votes, "
            "fitted to the labels of other items."
        ),
    ]


ENTRY = Entry(AGREEMENT, present)
