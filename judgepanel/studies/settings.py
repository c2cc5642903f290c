"""What all studies of one analysis share, and the labelled ballots that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import group_codes
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.checks import repeats_sentence
from judgepanel.votes.matrix import Keyed
from judgepanel.votes.orientation import Oriented, Policy, Protocol, orient
from judgepanel.votes.repeats import find_repeats, grouped

MAX_SPLITS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Shared options. ``judges`` None means every judge; ``fraction`` of the items calibrates.

    ``group_duplicates`` puts copies of an item into one group (:mod:`judgepanel.votes.repeats`),
    so that splits keep them together and variances count them once.

    Raises
    ------
    InputError
        Splits outside 2..10000, a fraction outside (0, 1), a negative seed.
    """

    orientation: Policy = "auto"
    protocol: Protocol = "honest"
    judges: tuple[str, ...] | None = None
    splits: int = 100
    fraction: float = 0.5
    seed: int = 0
    group_duplicates: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.splits <= MAX_SPLITS:
            raise InputError("number of splits out of range", value=self.splits, allowed="2..10000")
        if not 0.0 < self.fraction < 1.0:
            raise InputError(
                "calibration share out of range", value=self.fraction, allowed="between 0 and 1"
            )
        if self.seed < 0:
            raise InputError("the seed must not be negative", value=self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Votes as the kernels take them; ``judges`` names the columns of ``ballots``."""

    ballots: Ballots
    judges: tuple[str, ...]
    oriented: Oriented


def grouped_votes(votes: VoteMatrix, settings: Settings) -> VoteMatrix:
    """The votes, with copies of an item in one group where the settings ask for that."""
    return _grouped(Keyed(votes)) if settings.group_duplicates else votes


@lru_cache(maxsize=4)
def _grouped(keyed: Keyed) -> VoteMatrix:
    return grouped(keyed.votes, find_repeats(keyed.votes))


def prepare(votes: VoteMatrix, settings: Settings) -> Prepared:
    """Labelled items, oriented, judges in name order (the order in which ties are broken)."""
    return _prepare(Keyed(votes), settings)


@lru_cache(maxsize=4)
def _prepare(keyed: Keyed, settings: Settings) -> Prepared:
    votes = grouped_votes(keyed.votes, settings)
    repeats = find_repeats(votes).repeats
    if settings.judges is not None:
        votes = votes.with_judges(settings.judges)
    oriented = orient(votes, settings.orientation, protocol=settings.protocol, seed=settings.seed)
    if repeats.apart:
        notices = (*oriented.notices, repeats_sentence(repeats))
        oriented = replace(oriented, notices=notices)
    names = oriented.votes.judges
    by_name = sorted(range(len(names)), key=names.__getitem__)
    ordered = oriented.votes.with_judges([names[j] for j in by_name])
    unlabelled = oriented.unlabelled[:, by_name]
    ballots = Ballots(
        votes=_signed(ordered.votes),
        signs=(2 * ordered.labels - 1).astype(np.int8),
        units=group_codes(ordered.groups, ordered.n_items),
        symmetric=oriented.symmetric,
        unlabelled=_signed(unlabelled) if len(unlabelled) else None,
        ties=ordered.ties,
    )
    return Prepared(ballots, ordered.judges, oriented)


def _signed(votes: NDArray[np.int8]) -> NDArray[np.int8]:
    return np.where(votes < 0, 0, 2 * votes - 1).astype(np.int8)
