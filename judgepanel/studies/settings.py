"""Settings shared by all studies of an analysis, and the labelled ballots that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.checks import repeats_sentence
from judgepanel.votes.matrix import cached
from judgepanel.votes.orientation import Oriented, Policy, Protocol, orient
from judgepanel.votes.repeats import find_repeats, group_copies

MAX_SPLITS = 10_000
AUTO_SPLITS = "auto"
MOST_SPLITS = 100
"""Splits that are used at most if their number is left to the answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Shared options. ``judges`` None means all judges; ``fraction`` of the items calibrates.

    ``splits`` None (the word ``auto``) means as many as the answer needs, at most ``MOST_SPLITS``
    (:mod:`judgepanel.studies.looks`).

    ``group_duplicates`` puts copies of an item into one group (:mod:`judgepanel.votes.repeats`), so
    that splits keep them together and variances count them once.

    Raises
    ------
    InputError
        Splits outside 2..10000, a fraction outside (0, 1), a negative seed.
    """

    orientation: Policy = "auto"
    protocol: Protocol = "honest"
    judges: tuple[str, ...] | None = None
    splits: int | None = field(default=None, metadata={"words": {AUTO_SPLITS: None}})
    fraction: float = 0.5
    seed: int = 0
    group_duplicates: bool = False

    def __post_init__(self) -> None:
        if self.splits is not None and not 2 <= self.splits <= MAX_SPLITS:
            raise InputError(
                "number of splits out of range", value=self.splits, allowed="auto, or 2..10000"
            )
        if not 0.0 < self.fraction < 1.0:
            raise InputError(
                "calibration share out of range", value=self.fraction, allowed="between 0 and 1"
            )
        if self.seed < 0:
            raise InputError("the seed must not be negative", value=self.seed)

    @property
    def most_splits(self) -> int:
        """Number of splits, or the most that the answer may need."""
        return MOST_SPLITS if self.splits is None else self.splits

    @property
    def of_splits(self) -> Settings:
        """The settings without the number of splits, on which no split depends."""
        return replace(self, splits=None)

    @property
    def splits_text(self) -> str:
        """The number of splits as text, ``auto`` where it is left to the answer."""
        return AUTO_SPLITS if self.splits is None else f"{self.splits:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Votes, oriented votes, and ballots for the kernels."""

    oriented: Oriented
    ballots: Ballots

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the columns of ``ballots``."""
        return self.oriented.votes.judges

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences about these votes that must accompany every figure."""
        repeats = find_repeats(self.oriented.given).repeats
        return (*self.oriented.notices, *([repeats_sentence(repeats)] if repeats.apart else []))


def grouped_votes(votes: VoteMatrix, settings: Settings) -> VoteMatrix:
    """Return the votes, with copies of an item in one group if the settings say so."""
    return group_copies(votes) if settings.group_duplicates else votes


@cached(4)
def prepare(votes: VoteMatrix, settings: Settings) -> Prepared:
    """Return labelled items, oriented, with judges in name order, which breaks ties.

    The votes are those of an analysis, in which copies are grouped (:func:`grouped_votes`).
    """
    oriented = orient(
        votes,
        settings.orientation,
        protocol=settings.protocol,
        seed=settings.seed,
        judges=settings.judges,
    )
    votes = oriented.votes
    ballots = Ballots(
        votes=_signed(votes.votes),
        signs=(2 * votes.labels - 1).astype(np.int8),
        units=votes.units,
        symmetric=oriented.symmetric,
        unlabelled=_signed(oriented.unlabelled) if len(oriented.unlabelled) else None,
        ties=votes.ties,
        margins=votes.margins,
    )
    return Prepared(oriented, ballots)


def _signed(votes: NDArray[np.int8]) -> NDArray[np.int8]:
    return np.where(votes < 0, 0, 2 * votes - 1).astype(np.int8)
