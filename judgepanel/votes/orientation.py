"""Which way round are the items? Policies for the arbitrary order of a pair (METHODS, section 2).

Swapping the two responses of a pair flips its label and every vote. A file whose labels are all 1
therefore does not say that option 1 is always better: it says how the file was coded. Policies
affect fitting and evaluation only; scoring new votes never flips anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.matrix import MISSING, VoteMatrix

Policy = Literal["auto", "as_given", "randomized", "symmetric"]
Resolved = Literal["as_given", "randomized", "symmetric"]
Protocol = Literal["honest", "paper"]

POLICIES: tuple[Policy, ...] = ("auto", "as_given", "randomized", "symmetric")
PROTOCOLS: tuple[Protocol, ...] = ("honest", "paper")
BALANCED_SHARE = 0.20
CONSTANT_VOTES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Oriented:
    """Labelled items under one policy.

    Attributes
    ----------
    votes : the labelled items with the judges that take part; under ``randomized`` items are
        flipped by a seeded coin.
    policy : what ``auto`` came to.
    set_aside : judges left out because they gave one verdict on every labelled item.
    one_class : whether all labels of the file are equal, as it was given.
    notices : full sentences for the user.
    """

    votes: VoteMatrix
    policy: Resolved
    set_aside: tuple[str, ...]
    one_class: bool
    notices: tuple[str, ...]

    @property
    def symmetric(self) -> bool:
        return self.policy == "symmetric"


def constant_judges(votes: VoteMatrix) -> NDArray[np.bool_]:
    """bool (n_judges,): one verdict on every labelled item voted on, ``CONSTANT_VOTES`` or more.

    Fewer votes agree by chance too often to call a judge broken. Items without a label are not
    counted: they must change no figure, and only labelled ones can leak how they were ordered.
    """
    known = votes.votes[votes.labelled]
    cast = (known != MISSING).sum(axis=0)
    ones = (known == 1).sum(axis=0)
    return np.asarray((cast >= CONSTANT_VOTES) & ((ones == 0) | (ones == cast)))


def resolve(votes: VoteMatrix, policy: Policy, protocol: Protocol) -> Resolved:
    """What a policy means for these votes.

    Raises
    ------
    InputError
        An unknown policy or protocol; no labels; swapping where the order has a meaning
        (pointwise); one-class labels where nothing honest can be said.
    """
    if policy not in POLICIES:
        raise InputError("unknown orientation", value=policy, allowed=", ".join(POLICIES))
    if protocol not in PROTOCOLS:
        raise InputError("unknown protocol", value=protocol, allowed=", ".join(PROTOCOLS))
    if not votes.labelled.any():
        raise InputError("no item has a label", allowed="labels 0 or 1 on at least some items")
    one_class = votes.minority_share == 0.0
    if votes.task == "pointwise":
        if policy in ("randomized", "symmetric"):
            raise InputError(
                f"orientation {policy} swaps the two responses of a pair, and a pointwise item "
                "has only one",
                allowed="auto, as_given",
            )
        if one_class:
            raise InputError(
                "every label is the same, so nothing can be learnt about a pointwise task",
                allowed="items of both classes",
            )
        return "as_given"
    if policy == "auto":
        balanced = votes.minority_share >= BALANCED_SHARE
        return "as_given" if balanced or protocol == "paper" else "symmetric"
    if policy == "as_given" and one_class and protocol == "honest":
        raise InputError(
            "every label is the same: taken as given, a constant prediction would look perfect",
            allowed="orientation auto, symmetric or randomized",
        )
    return policy


def orient(
    votes: VoteMatrix,
    policy: Policy = "auto",
    *,
    protocol: Protocol = "honest",
    seed: int = 0,
) -> Oriented:
    """Labelled items of ``votes`` under a policy; see :func:`resolve` for what is refused."""
    resolved = resolve(votes, policy, protocol)
    labelled = votes.with_items(votes.labelled)
    share = votes.minority_share
    notices = []
    if resolved == "symmetric" and policy == "auto":
        notices.append(_why_symmetric(votes, share))
    if protocol == "paper" and share == 0.0:
        notices.append(
            "Every label is the same: under the paper's protocol these figures measure the coding, "
            "not the judges."
        )
    set_aside: tuple[str, ...] = ()
    if resolved != "as_given":
        constant = constant_judges(votes)
        set_aside = tuple(np.array(votes.judges, dtype=object)[constant])
        if set_aside:
            notices.append(_why_set_aside(set_aside))
            kept = [name for name in votes.judges if name not in set(set_aside)]
            if not kept:
                raise InputError("every judge gives one verdict on all items; none can be used")
            labelled = labelled.with_judges(kept)
    if resolved == "randomized":
        labelled = _flipped(labelled, seed)
    return Oriented(labelled, resolved, set_aside, share == 0.0, tuple(notices))


def _why_symmetric(votes: VoteMatrix, share: float) -> str:
    if share == 0.0:
        label = int(votes.labels[votes.labelled][0])
        found = f"Every label is {label}"
    else:
        found = f"Only {share:.1%} of the labels are of the rarer kind"
    return (
        f"{found}, and which response of a pair comes first is arbitrary. Each item is therefore "
        "used together with its swap, so that no figure can profit from the coding."
    )


def _why_set_aside(names: tuple[str, ...]) -> str:
    return (
        f"{listed(names, 3)} gave one verdict on every labelled item and was set aside: a constant "
        "judge knows nothing about a pair, but would leak how the items were ordered."
    )


def _flipped(votes: VoteMatrix, seed: int) -> VoteMatrix:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 4)))
    flip = rng.random(votes.n_items) < 0.5
    swapped = np.where(votes.votes == MISSING, MISSING, 1 - votes.votes)
    return replace(
        votes,
        votes=np.where(flip[:, None], swapped, votes.votes).astype(np.int8),
        labels=np.where(flip, 1 - votes.labels, votes.labels).astype(np.int8),
    )
