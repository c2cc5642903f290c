"""The same labelled items under three codings: one class, honest, and turned by a coin.

One-class coding (docs/claim.md) writes every item as 'label 1, vote = the judge was right'. Any
labelled votes can be written that way: V becomes V s, and s becomes 1. It loses nothing about the
judges, and it tells every calibrator with an intercept what the label is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgepanel.kernels.ballots import Ballots
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import VoteMatrix

Coding = Literal["one_class", "honest", "randomized"]
CODINGS: tuple[Coding, ...] = ("one_class", "honest", "randomized")


@dataclass(frozen=True, slots=True, eq=False)
class Codings:
    """Ballots by coding, all of the same items in the same order.

    ``one_class`` holds every judge that votes on them. ``honest`` is what the app does by default:
    labels as given where they are balanced, else each pair with its swap. ``randomized`` turns
    every pair by a coin; None where items have no order to turn, or where ``honest`` does just
    that.
    """

    one_class: Ballots
    honest: Prepared
    randomized: Prepared | None

    def ballots(self, coding: Coding) -> Ballots:
        """The ballots of a coding that there is."""
        if coding == "one_class":
            return self.one_class
        prepared = self.honest if coding == "honest" else self.randomized
        if prepared is None:
            raise ValueError(f"these votes have no coding {coding}")
        return prepared.ballots


def codings(votes: VoteMatrix, settings: Settings) -> Codings:
    """Every coding of the labelled items.

    The protocol and an ``as_given`` orientation of the settings change nothing: what is honest
    here is pinned.

    Raises
    ------
    InputError
        As :func:`judgepanel.studies.settings.prepare`: no labels, or a pointwise task with one
        class only.
    """
    pairs = votes.task == "pairwise"
    policy = "auto" if settings.orientation == "as_given" else settings.orientation
    honest = prepare(votes, replace(settings, orientation=policy, protocol="honest"))
    as_given = replace(settings, orientation="as_given", protocol="paper")
    coin = replace(settings, orientation="randomized", protocol="honest")
    turned = pairs and honest.oriented.policy != "randomized"
    return Codings(
        one_class(prepare(votes, as_given).ballots),
        honest,
        prepare(votes, coin) if turned else None,
    )


def one_class(ballots: Ballots) -> Ballots:
    """The same votes as 'was the judge right', every label 1."""
    return Ballots(
        votes=ballots.votes * ballots.signs[:, None],
        signs=np.ones_like(ballots.signs),
        units=ballots.units,
    )
