"""Scope checks as objects, and check P0: is the item order informative, and do items repeat?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgepanel.votes import orientation
from judgepanel.votes.errors import CHOICE_CONTROLS, GROUP_DUPLICATES, TURN, listed
from judgepanel.votes.matrix import VoteMatrix
from judgepanel.votes.orientation import counts_on_labelled
from judgepanel.votes.repeats import Repeats, find_repeats

Outcome = Literal["pass", "review", "fail", "not applicable"]
Numbers = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Check:
    """A scope check: what was found, why it matters, what to do.

    ``numbers`` maps a short name to a value; judge names in it are untrusted text.
    """

    code: str
    title: str
    outcome: Outcome
    numbers: Mapping[str, float | int | str]
    why: str
    advice: str


_NOTHING, _LOOK = "Nothing to do.", "Look at these judges before you decide."
_ADVICE_POSITION = (
    "Swapping cannot repair position bias: if the correct response was always shown first, a "
    "judge's accuracy and its preference for the first position are the same number. Collect both "
    "orders, or a random order, where you can."
)
_ODD = {
    "constant judges": "gave one verdict on nearly every labelled item {it} voted on",
    "judges right on every item": "{was} right on every labelled item {it} voted on",
    "judges wrong on every item": "{was} wrong on every labelled item {it} voted on",
}
"""Judges too regular to be true, and what is said of them."""


def check_orientation(votes: VoteMatrix) -> Check:
    """P0: do labels and votes depend on the arbitrary order of the two responses?

    Fails on one-class labels, and if most judges are below chance; asks for review on lopsided
    labels, on constant judges, and on judges that are right (or wrong) on all of ``CONSTANT_VOTES``
    or more labelled items.
    """
    share, odd, sentences = votes.minority_share, _odd_judges(votes), []
    for kind, names in odd.items():
        was, it = ("was", "it") if len(names) == 1 else ("were", "they")
        if names:
            sentences.append(f"{listed(names, 3)} {_ODD[kind].format(was=was, it=it)}.")
    outcome: Outcome = "review" if sentences else "pass"
    why, advice = "", _LOOK if sentences else _NOTHING
    if turned := reversal(votes):
        outcome, why, sentences = "fail", turned, []
        advice = f"Turn the votes {TURN}, if they are reversed."
    elif votes.task == "pointwise":
        why = "Pointwise items have no order, so label imbalance is legitimate."
        outcome = "review" if sentences else "not applicable"
    elif share == 0.0:
        outcome, advice = "fail", _ADVICE_POSITION
        why = (
            "Every label is the same, so the labels describe how the file was coded and a "
            "constant prediction would look perfect."
        )
    elif share < orientation.BALANCED_SHARE:
        outcome, advice = "review", _ADVICE_POSITION
        rarer = f"{100 * share:.1f} % of the labels are of the rarer kind"
        why = f"Only {rarer}: the order of a pair seems to carry the answer."
    elif not sentences:
        rarer = f"{100 * share:.1f} % are of the rarer kind"
        why = f"Both labels are common ({rarer}) and no judge gives nearly always the same verdict."
    numbers: Numbers = {
        "labelled items": int(votes.labelled.sum()),
        "share of the rarer label": round(share, 4),
        **{kind: len(names) for kind, names in odd.items()},
    }
    text = " ".join(filter(None, (why, *sentences)))
    return Check("P0", "P0 Item order", outcome, numbers, text, advice)


def _odd_judges(votes: VoteMatrix) -> dict[str, list[str]]:
    """Return the names of the judges of each kind of ``_ODD``."""
    cast, n_right, _ = counts_on_labelled(votes)
    enough = cast >= orientation.CONSTANT_VOTES
    always, never = enough & (n_right == cast), enough & (n_right == 0)
    flags = (orientation.constant_judges(votes), always, never)
    return {kind: orientation.named(votes, own) for kind, own in zip(_ODD, flags, strict=True)}


_FEWEST = 10
"""Votes on labelled items before a judge is called below chance."""


def reversal(votes: VoteMatrix) -> str:
    """Return a sentence if most judges are below chance (by 4 sd), so votes may be reversed."""
    cast, right, _ = counts_on_labelled(votes)
    below = (cast >= _FEWEST) & (right < cast / 2 - 2.0 * np.sqrt(np.maximum(cast, 1)))
    n_below, n_judges = int(below.sum()), int((cast > 0).sum())
    if 2 * n_below <= n_judges:
        return ""
    judges = f"{n_below} of {n_judges} judges"
    below_half = "are right on clearly less than half of the labelled items"
    return f"{judges} {below_half}: votes or labels may be reversed. Turn the votes {TURN}."


_GROUPING = f"Keep them together {GROUP_DUPLICATES}."
_SERIOUS_SHARE = 0.05
_EVIDENCE = {
    "votes": "votes that are the same more often than chance allows",
    "ids": "item ids",
    "features": "item features",
}


def item_checks(votes: VoteMatrix, *, group_duplicates: bool = False) -> tuple[Check, ...]:
    """Both parts of P0: the order of the items, and repeated items."""
    return check_orientation(votes), check_repeats(votes, group_duplicates=group_duplicates)


def check_repeats(votes: VoteMatrix, *, group_duplicates: bool = False) -> Check:
    """P0: are copies of items counted as independent?

    Fails if ``_SERIOUS_SHARE`` or more of the labelled items are such copies; copies that
    ``group_duplicates`` or the file's own groups keep together pass.
    """
    repeats = find_repeats(votes).repeats
    numbers: Numbers = {
        "labelled items": repeats.n_items,
        "sets of identical items": repeats.n_sets,
        "items in them": repeats.n_repeated,
        "largest set": repeats.largest,
    }
    outcome: Outcome = "pass"
    advice = _NOTHING
    if repeats.apart and not group_duplicates:
        serious = repeats.n_repeated >= _SERIOUS_SHARE * repeats.n_items
        outcome, advice = "fail" if serious else "review", _GROUPING
        evidence = " and ".join(_EVIDENCE[kind] for kind in repeats.evidence)
        why = f"{_apart(repeats)} Shown by {evidence}."
    elif repeats.n_sets:
        why = f"{_repeating(repeats)} are kept together, in splits and in variances."
    elif repeats.told:
        why = "No more items have the same votes and label than chance allows."
    else:
        outcome, column = "not applicable", CHOICE_CONTROLS["group_column"]
        why = (
            "Rows of so few votes repeat by chance, so copies of some items cannot be told from "
            "votes; ids and features show none."
        )
        advice = f"If some items are copies, name the column that says so {column}."
    return Check("P0", "P0 Repeated items", outcome, numbers, why, advice)


def repeats_sentence(repeats: Repeats) -> str:
    """Return how many items repeat, the effect and the remedy; empty if no copies are apart."""
    return f"{_apart(repeats)} {_GROUPING}" if repeats.apart else ""


def _apart(repeats: Repeats) -> str:
    return f"{_repeating(repeats)} are counted as independent; the expected NLL is too good."


def _repeating(repeats: Repeats) -> str:
    fewest, most = repeats.smallest, repeats.largest
    size = f"{fewest} to {most}" if most > fewest else f"{fewest}"
    sets = "1 group" if repeats.n_sets == 1 else f"{repeats.n_sets:,} groups"
    turned = " (some with the two responses swapped)" if repeats.swapped else ""
    return f"Items repeat: {sets} of {size} identical items{turned}"
