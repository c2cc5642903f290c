"""Scores of new votes in words: how many, and their NLL on the labels of the file."""

from __future__ import annotations

from judgepanel.decision.labelled import Labelled
from judgepanel.decision.score import Scored
from judgepanel.words.numbers import counted, percent, sig, with_interval

_FEW_WRONG = 10


def scored_text(scored: Scored, file: str) -> str:
    """Return what was written to ``file``, and the NLL on labels if the file has any."""
    decided = int((scored.frame()["decision"] != "").sum())
    lines = [f"{len(scored.p):,} items scored, {decided:,} decided, written to {file}."]
    if scored.labelled is not None:
        lines.append(labelled_sentence(scored.labelled))
    return "\n".join(lines)


def labelled_sentence(labelled: Labelled) -> str:
    """Return the NLL on labelled new items with interval and null, or why there is none."""
    if labelled.figures is None:
        if labelled.n_seen > labelled.n:
            return (
                f"{counted(labelled.n_seen, 'labelled item')} of this file took part in making the "
                "panel; no NLL is given, since it would flatter."
            )
        return "There are too few labelled new items for an NLL."
    figures = labelled.figures
    which = (
        "that the panel has not seen"
        if labelled.checked
        else "(it is not known whether they are new)"
    )
    text = (
        f"On {counted(labelled.n, 'labelled item')} {which}: NLL "
        f"{with_interval(*figures.nll)}, the base rate alone "
        f"{sig(figures.null_nll)} (skill {percent(figures.skill)}), accuracy "
        f"{percent(figures.accuracy)}."
    )
    if figures.n_wrong < _FEW_WRONG:
        text += f" It rests on {counted(figures.n_wrong, 'wrong answer')}, so take it as rough."
    if labelled.n_seen:
        text += (
            f" {counted(labelled.n_seen, 'labelled item')} that took part in making it left out."
        )
    if labelled.measures_coding:
        text += " Nearly all labels are alike: this measures the coding, not the judges."
    return text
