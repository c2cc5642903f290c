"""Policies for the arbitrary order of the two responses of a pair (docs/orientation.md).

Swapping the two responses of a pair flips its label and every vote. A file whose labels are all 1
therefore does not say that option 1 is always better: it says how the file was coded. Policies
affect fitting and evaluation only; scoring new votes never flips anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.errors import JUDGES, InputError, listed, quote_value
from judgepanel.votes.matrix import MISSING, VoteMatrix, cached

Resolved = Literal["as_given", "randomized", "symmetric"]
Policy = Literal["auto", Resolved]
Protocol = Literal["honest", "paper"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
BALANCED_SHARE = 0.20
CONSTANT_VOTES = 10
CONSTANT_SLIP = 0.01
CONTRARY = 0.9
PERFECT_VOTES = 20
KNOWS = "the label, or its opposite, on every labelled item"
SILENT = "no vote on a labelled item"
ONE_VERDICT = "one verdict on nearly every labelled item"
AGAINST = f"the verdict against the label on {100 * CONTRARY:.0f} % or more of the labelled items"
_NOTICES = {
    SILENT: "{names} gave no vote on a labelled item and {was} set aside: nothing can be learned "
    "about such a judge.",
    ONE_VERDICT: "{names} gave one verdict on nearly every labelled item and {was} set aside: a "
    "constant judge knows nothing about a pair, but would leak how the items were ordered.",
    AGAINST: "{names} gave the verdict against the label on "
    f"{100 * CONTRARY:.0f} % or more of the items and {{was}} set aside: no judge is wrong that "
    "often, and with lopsided labels it would leak how the items were coded.",
    KNOWS: "{names} agreed (or disagreed) with every label and {was} set aside, as a column that "
    f"knows the labels would be. If it is a judge after all, name all judges {JUDGES}.",
}
_REDRAWS = 100
Counts = NDArray[np.int64]
Grades = NDArray[np.float64] | None
_LEAST_CLASS = 2
_NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Oriented:
    """Labelled items under one policy.

    Attributes
    ----------
    given : the votes as they were given, with all judges.
    votes : the labelled items with the participating judges, in order of judge name; under
        ``randomized`` items are flipped by a seeded coin.
    unlabelled : int8 (n, n_judges), votes of the same judges on the other items, flipped by a
        separate coin under ``randomized``.
    policy : the policy that ``auto`` resolved to.
    aside : requested judges that are left out, each with the reason: no vote on a labelled item; if
        items are swapped, also the same verdict on nearly every item or, if labels are lopsided,
        mostly wrong verdicts. If no judges were requested, also those that agree with every label,
        or with none.
    """

    given: VoteMatrix
    votes: VoteMatrix
    unlabelled: NDArray[np.int8]
    policy: Resolved
    aside: tuple[tuple[str, str], ...]

    @property
    def one_class(self) -> bool:
        """Whether all labels of the file are equal, as given."""
        return self.given.minority_share == 0.0

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user: lopsided labels, and judges that were set aside."""
        notices = []
        if self.given.task == "pairwise" and self.given.minority_share < BALANCED_SHARE:
            notices.append(_why_lopsided(self.given, self.policy))
        for reason, notice in _NOTICES.items():
            names = [name for name, why in self.aside if why == reason]
            if names:
                was = "was" if len(names) == 1 else "were"
                notices.append(notice.format(names=listed(names, 3), was=was))
        return tuple(notices)

    @property
    def set_aside(self) -> tuple[str, ...]:
        """Names of the judges that were left out."""
        return tuple(name for name, _ in self.aside)

    @property
    def symmetric(self) -> bool:
        return self.policy == "symmetric"

    @property
    def measures_coding(self) -> bool:
        """Whether lopsided labels of pairs are taken as given: the order gives answers away."""
        return (
            self.votes.task == "pairwise"
            and self.policy == "as_given"
            and self.votes.minority_share < BALANCED_SHARE
        )


@cached(1)
def counts_on_labelled(votes: VoteMatrix) -> tuple[Counts, Counts, Counts]:
    """int (n_judges,) each: votes on labelled items, right ones, and those for label 1."""
    known, truth = votes.votes[votes.labelled], votes.labels[votes.labelled]
    cells = (known != MISSING, known == truth[:, None], known == 1)
    cast, right, ones = (cell.sum(axis=0) for cell in cells)
    return cast, right, ones


def named(votes: VoteMatrix, flags: NDArray[np.bool_]) -> list[str]:
    """Return the names of the judges that are flagged."""
    return [name for name, flag in zip(votes.judges, flags, strict=True) if flag]


def constant_judges(votes: VoteMatrix) -> NDArray[np.bool_]:
    """bool (n_judges,): one verdict on (nearly) all of ``CONSTANT_VOTES`` or more labelled items.

    Up to ``CONSTANT_SLIP`` of the votes may differ: a broken run with a single slip leaks the item
    order just as well as one without. With fewer votes, agreement by chance is too likely to call a
    judge broken. Unlabelled items are not counted: they must not change any figure, and only
    labelled items can leak their order.
    """
    cast, _, ones = counts_on_labelled(votes)
    rare = np.minimum(ones, cast - ones)
    return np.asarray((cast >= CONSTANT_VOTES) & (rare <= CONSTANT_SLIP * cast))


def contrary_judges(votes: VoteMatrix) -> NDArray[np.bool_]:
    """bool (n_judges,): wrong on ``CONTRARY`` or more of ``CONSTANT_VOTES`` or more labelled items.

    No real judge is wrong that often. If labels are lopsided, such a judge (a run broken on all but
    a few items) only encodes how the file was coded: reversed, it would be an oracle.
    """
    cast, right, _ = counts_on_labelled(votes)
    return np.asarray((cast >= CONSTANT_VOTES) & (cast - right >= CONTRARY * cast))


def perfect_judges(votes: VoteMatrix) -> NDArray[np.bool_]:
    """bool (n_judges,): right on all labelled items, or wrong on all, as the label itself would be.

    They vote on ``PERFECT_VOTES`` or more labelled items and on nearly all there are, and both
    labels occur at least twice: a judge may well be right on a few items.
    """
    cast, right, _ = counts_on_labelled(votes)
    n_zeros, n_ones = np.bincount(votes.labels[votes.labelled], minlength=2)
    both = min(n_zeros, n_ones) >= _LEAST_CLASS
    whole = (cast >= PERFECT_VOTES) & (cast >= _NEARLY_ALL * (n_zeros + n_ones))
    return np.asarray(both & whole & ((right == cast) | (right == 0)))


def resolve(votes: VoteMatrix, policy: Policy, protocol: Protocol) -> Resolved:
    """Return what a policy means for these votes.

    Raises
    ------
    InputError
        An unknown policy or protocol; no labels; swapping although the order has a meaning
        (pointwise); one-class labels under which no honest estimate exists.
    """
    if policy not in POLICIES:
        raise InputError("unknown orientation", ", ".join(POLICIES), value=policy)
    if protocol not in PROTOCOLS:
        raise InputError("unknown protocol", ", ".join(PROTOCOLS), value=protocol)
    if not votes.labelled.any():
        raise InputError("no item has a label", "labels 0 or 1 on at least some items")
    if votes.task == "pointwise":
        if policy in ("randomized", "symmetric"):
            why = "swaps the two responses of a pair, and a pointwise item has only one"
            raise InputError(f"orientation {policy} {why}", "auto, as_given")
        if votes.minority_share == 0.0:
            why = "every label is the same, so nothing can be learned about a pointwise task"
            raise InputError(why, "items of both classes")
        return "as_given"
    if policy == "auto":
        lopsided = votes.minority_share < BALANCED_SHARE
        return "symmetric" if lopsided and protocol == "honest" else "as_given"
    if policy == "as_given" and votes.minority_share == 0.0 and protocol == "honest":
        raise InputError(
            "every label is the same: taken as given, a constant prediction would look perfect",
            "orientation auto, symmetric or randomized",
        )
    return policy


def orient(
    votes: VoteMatrix,
    policy: Policy = "auto",
    *,
    protocol: Protocol = "honest",
    seed: int = 0,
    judges: Sequence[str] | None = None,
) -> Oriented:
    """Return the labelled items of ``votes`` under a policy, with ``judges`` only (None: all).

    See :func:`resolve` for what is refused.
    """
    policy = resolve(votes, policy, protocol)
    suspected = judges is None and protocol == "honest"
    reasons = _reasons(votes, swapped=policy != "as_given", suspected=suspected)
    asked = votes.judges if judges is None else judges
    aside = {name: reasons[name] for name in asked if name in reasons}
    remaining = sorted(name for name in asked if name not in aside)
    if aside and not remaining:
        raise _no_judge_left(aside)
    selection = votes.with_judges(remaining)
    labelled, unlabelled = selection.with_items(votes.labelled), selection.votes[~votes.labelled]
    if policy == "randomized":
        labelled = _flipped(labelled, seed)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 5)))
        unlabelled, _ = turned_around(unlabelled, rng.random((len(unlabelled), 1)) < 0.5)
    return Oriented(votes, labelled, unlabelled, policy, tuple(aside.items()))


def _reasons(votes: VoteMatrix, *, swapped: bool, suspected: bool) -> dict[str, str]:
    """Return the reason for every judge that is to be set aside."""
    lopsided = votes.minority_share < BALANCED_SHARE
    flags = {SILENT: counts_on_labelled(votes)[0] == 0}
    if swapped:
        flags[ONE_VERDICT] = constant_judges(votes)
    if suspected:
        flags[KNOWS] = perfect_judges(votes)
    if swapped and lopsided:
        flags[AGAINST] = contrary_judges(votes)
    # The first reason counts.
    return {judge: why for why in reversed(flags) for judge in named(votes, flags[why])}


def _no_judge_left(aside: dict[str, str]) -> InputError:
    if set(aside.values()) == {SILENT}:
        allowed = "votes on at least some labelled items"
        return InputError("no judge has voted on a labelled item", allowed)
    return InputError(
        "every judge would be set aside, so none can be used",
        "one judge or more that votes on labelled items, and not always the same",
        f"if these are judges, name them {JUDGES}" if KNOWS in aside.values() else None,
        value="; ".join(f"{quote_value(name)} gave {why}" for name, why in list(aside.items())[:3]),
    )


def _why_lopsided(votes: VoteMatrix, policy: Resolved) -> str:
    text = f"Only {100 * votes.minority_share:.1f} % of the labels are of the rarer kind"
    if votes.minority_share == 0.0:
        text = f"Every label is {int(votes.labels[votes.labelled][0])}"
    text += ", and which response of a pair comes first is arbitrary."
    if policy == "as_given":
        return f"{text} Taken as given, these figures measure the coding, not the judges."
    swap = "used together with its swap" if policy == "symmetric" else "turned around by a coin"
    return (
        f"{text} Each item is therefore {swap}, so that no calibrator can learn the order. A "
        "judge that prefers one position still cannot be told from a good one (or a bad one): only "
        "both orders, or a random order, can show that."
    )


def _flipped(votes: VoteMatrix, seed: int) -> VoteMatrix:
    """Return the items swapped by a fair coin, redrawn if chance left the labels lopsided."""
    for attempt in range(_REDRAWS):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 4, attempt)))
        flip = rng.random(votes.n_items) < 0.5
        ones = float(np.mean(flip ^ (votes.labels == 1)))
        if min(ones, 1.0 - ones) >= BALANCED_SHARE:
            break
    labels, _ = turned_around(votes.labels, flip)
    cast, grades = turned_around(votes.votes, flip[:, None], votes.grades, votes.thresholds)
    return replace(votes, votes=cast, labels=labels, grades=grades)


def turned_around(
    votes: NDArray[np.int8], flip: NDArray[np.bool_], grades: Grades = None, cuts: Grades = None
) -> tuple[NDArray[np.int8], Grades]:
    """Return verdicts of the other response where ``flip`` says so; arguments broadcast.

    Grades are mirrored at their thresholds ``cuts``.
    """
    other = np.where(flip & (votes >= 0), 1 - votes, votes).astype(np.int8)
    if grades is None or cuts is None:
        return other, grades
    return other, np.where(flip, 2.0 * cuts - grades, grades)
