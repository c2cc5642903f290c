"""P1: does every judge give verdicts, and are they better than chance?

A coded tie is a readable verdict without a side: it counts as parsed, but not as a vote.

A judge is below chance if the binomial tail of its right verdicts under accuracy .5 is small, Holm
over judges. With groups of items the unit is the group: counts are divided by the judge's design
effect (scoring/clustered.py). The paper's rule, accuracy < .5 - 2 standard errors by Wald's
formula, is reported for comparison: with a single wrong vote its standard error is 0, and the judge
is flagged.

Of a judge with grades their order is tested as well, in the same step-down procedure: grades in
reverse order ask for review, and so do grades that order the items where the votes cut from them do
not.

What is figured of every judge is in :mod:`judgepanel.studies.understand.judge_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from judgepanel.arrays import Bools, Ints
from judgepanel.studies.common import first_of
from judgepanel.studies.understand.judge_table import GradeOrder, Legible, uses_anti_experts
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.errors import JUDGE_THRESHOLD, listed, quote_value
from judgepanel.votes.matrix import AGAINST, ONE_VERDICT, SILENT

GRADED = "judges whose grades may tell more than votes"
"""The number of P1 that is there if any judge gives grades."""


def order_numbers(order: GradeOrder, backwards: Bools, misplaced: Bools) -> dict[str, int]:
    """Return the counts of P1 that are about grades."""
    return {
        GRADED: int(order.known.sum()),
        "grades in reverse order": int(backwards.sum()),
        "grades inform where votes do not": int(misplaced.sum()),
    }


def order_sentences(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Name the judges whose grades are in reverse order, or inform where their votes do not."""
    parts = []
    for judges, start, end in (
        (misplaced, "The threshold is at fault", "though its votes do not inform"),
        (backwards, "In reverse order", "less than by chance"),
    ):
        shares = [
            f"the grades of {quote_value(names[j])} order "
            + "{:.0f} % [{:.0f}, {:.0f}]".format(*order.right[j].scaled(100.0, "share"))
            + f" of the pairs of items rightly, {end}"
            for j in np.flatnonzero(judges)
        ]
        if shares:
            parts.append(f"{start}: {first_of(shares)}")
    return " ".join(parts)


def order_advice(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Return what to do about these judges."""
    parts = []
    if misplaced.any():
        j = int(np.flatnonzero(misplaced)[0])
        side = "above" if order.median[j] > 0.0 else "below"
        parts.append(
            "Move the threshold of judges whose grades inform and whose votes do not "
            f"({JUDGE_THRESHOLD}): the median grade of {quote_value(names[j])} is "
            f"{abs(order.median[j]):.3g} {side} it."
        )
    if backwards.any():
        parts.append(
            "If a lower grade of a judge in reverse order is the better one, negate its grades "
            "in the file, and its threshold."
        )
    return " ".join(parts)


NOTHING_TO_DO = "Nothing to do."
_NOT_TESTED = {
    ONE_VERDICT: "one verdict throughout is right in exactly one of the two orders of a pair, so "
    "it is at chance",
    AGAINST: "verdicts against the label on nearly every item tell how lopsided labels were coded, "
    "and not how good a judge is",
    SILENT: "there is no vote on a labelled item",
}


def check_parse_rate(
    legibility: Legible,
    names: tuple[str, ...],
    aggregator: str,
    aside: Sequence[tuple[str, str]] = (),
) -> Check:
    """Return P1 as a check; ``aside`` are judges that are not tested, each with the reason."""
    title = "P1 Parse rate and chance"
    usable = uses_anti_experts(aggregator)
    unreadable, patchy, below = (
        np.flatnonzero(entry)
        for entry in (legibility.unreadable, legibility.patchy, legibility.below)
    )
    numbers: dict[str, float | int | str] = {
        "labelled items": legibility.n_items,
        "judges": len(names),
        "parse at most 70 %": len(unreadable),
        "parse 70 to 90 %": len(patchy),
        "shown below chance": len(below),
        "below chance by the paper's Wald rule": int(legibility.wald_below.sum()),
    }
    if aside:
        numbers["set aside, not tested"] = len(aside)
    if not legibility.sparse and len(names):
        numbers["lowest parse rate"] = f"{100 * float(legibility.parsed.min()):.1f} %"
    if legibility.tied.any():
        numbers["coded ties"] = int(legibility.tied.sum())
    if legibility.order is not None:
        numbers |= order_numbers(legibility.order, legibility.reversed, legibility.misplaced)
    sentences = _sentences(legibility, names, unreadable, patchy, below)
    sentences = " ".join((sentences, *_aside_sentences(aside)))
    as_they_are = int((legibility.below & ~legibility.misplaced).sum()) if usable else len(below)
    advice = _advice(len(unreadable), len(patchy), as_they_are, usable=usable)
    odd = legibility.reversed | legibility.misplaced
    if legibility.order is not None and odd.any():
        order = legibility.order, legibility.reversed, legibility.misplaced, names
        sentences = f"{sentences} {order_sentences(*order)}"
        advice = " ".join(part for part in (advice, order_advice(*order)) if part != NOTHING_TO_DO)
    outcome: Outcome = "pass"
    if len(unreadable) or (len(below) and not usable):
        outcome = "fail"
    elif len(patchy) or len(below) or odd.any():
        outcome = "review"
    elif legibility.sparse:
        outcome = "not applicable"
    return Check("P1", title, outcome, numbers, sentences, advice)


def _sentences(
    legibility: Legible, names: tuple[str, ...], unreadable: Ints, patchy: Ints, below: Ints
) -> str:
    parts = []
    if legibility.sparse:
        parts.append(
            "Most judges were not asked about most items, so a parse rate cannot be read off the "
            "votes; it needs the raw outputs."
        )
    short = np.concatenate([unreadable, patchy])
    short = short[np.argsort(legibility.parsed[short], kind="stable")]
    if len(short):
        shares = [
            f"{quote_value(names[j])} gives a verdict on {100 * legibility.parsed[j]:.0f} %"
            for j in short
        ]
        parts.append(first_of(shares))
    elif not legibility.sparse:
        parts.append("Every judge gives a verdict on 90 % of the labelled items or more.")
    if legibility.tied.any():
        parts.append(_ties_sentence(legibility, names))
    wrong = [
        f"{quote_value(names[j])} is right on "
        + "{:.0f} % [{:.0f}, {:.0f}]".format(*legibility.accuracy[j].scaled(100.0, "share"))
        for j in below
    ]
    if wrong:
        parts.append(f"Below chance: {first_of(wrong)}")
    if not wrong:
        parts.append("No judge is shown to be below chance.")
    return " ".join(parts)


def _aside_sentences(aside: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield which judges are not tested, and why that hides nothing."""
    for reason, why in _NOT_TESTED.items():
        names = [name for name, own in aside if own == reason]
        if names:
            verb = "is" if len(names) == 1 else "are"
            yield f"{listed(names, 3)} {verb} set aside and not tested: {why}."


def _ties_sentence(legibility: Legible, names: tuple[str, ...]) -> str:
    """Return how many missing votes are coded ties, and which judges give most of them."""
    most, n = int(np.argmax(legibility.tied)), int(legibility.tied.sum())
    share = 100 * float(legibility.tied[most]) / max(legibility.n_items, 1)
    are = "missing vote is a coded tie" if n == 1 else "missing votes are coded ties"
    return (
        f"{n:,} {are}, which were read and count as parsed (most of them by "
        f"{quote_value(names[most])}, on {share:.0f} % of the items)."
    )


def _advice(unreadable: int, patchy: int, below: int, *, usable: bool) -> str:
    parts = []
    if unreadable:
        parts.append(
            "Drop judges with a verdict on 70 % or less, or fix their parser; compare first."
        )
    if patchy:
        parts.append("Look at the raw outputs that were not read.")
    if below and usable:
        parts.append(
            "Keep judges below chance: the aggregator inverts their votes, which are informative. "
            "Check that their labels are not inverted."
        )
    elif below:
        parts.append("Drop judges below chance: this aggregator cannot invert a vote.")
    return " ".join(parts) or NOTHING_TO_DO
