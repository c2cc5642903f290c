"""The pipelines between the paper's protocol and the honest one: each changes one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.prefixes import OwnLabel
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.claim.codings import Coding

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
"""Every step by name, in the order in which they are told."""

LAST: tuple[str, str] = ("honest", "joint")
"""The steps that are compared on their own, because ``joint`` costs a fit for every panel."""


def one_coin_steps(*, randomized: bool) -> tuple[Step, ...]:
    """All steps with closed-form scores; ``randomized`` is whether items have an order to turn."""
    return tuple(
        step
        for step in _ALL
        if step.aggregator == "one_coin" and (randomized or step.coding != "randomized")
    )
