"""From the paper's protocol to the honest one: the codings of the labels, and every step between.

One-class coding (docs/claim.md) writes every item as 'label 1, vote = the judge was right'. Any
labelled votes can be written that way: V becomes V s, and s becomes 1. Nothing about the judges is
lost, but every calibrator with an intercept is told what the label is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.prefixes import OwnLabel
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import VoteMatrix

Coding = Literal["one_class", "honest", "randomized"]


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


CODING = "the coding, not the judges"
JUDGES = "the judges"


@dataclass(frozen=True, slots=True)
class Step:
    """One pipeline, and the step ``before`` it from which it differs in one thing.

    ``clipped`` clips raw probabilities to [.001, .999] before a map with bounded signs sees them;
    ``beta_clipped``, the paper's, does so by itself and leaves signs free.
    """

    name: str
    before: str | None
    coding: Coding
    calibrator: Calibrator
    own_label: OwnLabel = "seen"
    clipped: bool = False
    aggregator: Aggregator = "one_coin"

    @property
    def measures(self) -> str:
        """What its figures measure."""
        return CODING if self.coding == "one_class" else JUDGES

    @property
    def clips(self) -> bool:
        """Whether raw probabilities are clipped before the calibrator's logs."""
        return self.clipped or self.calibrator == "beta_clipped"


_ALL = (
    Step("raw_one_class", None, "one_class", "none"),
    Step("paper", "raw_one_class", "one_class", "beta_clipped"),
    Step("paper_monotone", "paper", "one_class", "beta", clipped=True),
    Step("paper_unclipped", "paper_monotone", "one_class", "beta"),
    Step("paper_temperature", "paper_unclipped", "one_class", "temperature"),
    Step("raw_honest", "raw_one_class", "honest", "none"),
    Step("honest_clipped", "paper", "honest", "beta_clipped"),
    Step("honest_random", "honest_clipped", "randomized", "beta_clipped"),
    Step("honest_monotone", "honest_clipped", "honest", "beta", clipped=True),
    Step("honest_beta", "honest_monotone", "honest", "beta"),
    Step("honest_temperature", "honest_beta", "honest", "temperature"),
    Step("honest", "honest_beta", "honest", "beta", own_label="removed"),
    Step("joint", "honest", "honest", "beta", own_label="removed", aggregator="joint"),
)
STEPS: Mapping[str, Step] = MappingProxyType({step.name: step for step in _ALL})
"""Every step by name, in the order in which they are presented."""

LAST: tuple[str, str] = ("honest", "joint")
"""The steps that are compared on their own, because ``joint`` costs a fit for every panel."""


def one_coin_steps(*, randomized: bool) -> tuple[Step, ...]:
    """All steps with closed-form scores; ``randomized`` is whether items have an order to turn."""
    return tuple(
        step
        for step in _ALL
        if step.aggregator == "one_coin" and (randomized or step.coding != "randomized")
    )
