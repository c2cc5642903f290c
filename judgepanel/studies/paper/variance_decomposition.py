"""Variance decomposition: do judges' abilities or items' difficulties vary more?

A two-parameter logistic model of correctness on all labelled items (paper, section 2.4 and appendix
"IRT Variance Decomposition"). Correctness does not depend on the order of a pair, so the result is
the same under every orientation, except for judges set aside as constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.irt import TwoPLFit, fit_two_pl, logit_variance, variance_shares
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Chunk, Study, prepare
from judgepanel.studies.options import StudySpec
from judgepanel.studies.results import Declared, column, frozen, json_values
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import VoteMatrix

Verdict = Literal["judges", "items", "undecided"]


@dataclass(frozen=True, slots=True)
class VarianceDecompositionSpec(StudySpec):
    """Options of the decomposition; the number of splits is not used."""


@frozen
class VarianceDecomposition(Declared):
    """Result of :data:`VARIANCE_DECOMPOSITION`.

    ``judge_share`` is Var(ability) / (Var(ability) + Var(difficulty)), in [0, 1], with a 95 %
    interval for a population of judges and items like these; neither share includes the
    interaction, Var(discrimination) times squared distance. ``logit_judges``, ``logit_items`` and
    ``logit_interaction`` sum to 1: components of the variance of the fitted logits of these judges,
    including the interaction.

    Arrays are (n_judges,), in the order of ``judges``; ``ability`` and ``discrimination`` have 95 %
    intervals. Abilities are in standard deviations of item difficulty, 0 is the mean difficulty.
    ``accuracy`` is (correct + 1) / (voted + 2). ``mu``, ``sigma`` and ``m``, ``t`` are mean and
    standard deviation of ability and of log discrimination over the population of judges.
    ``ability_accuracy`` is the correlation of ability and accuracy, None if either is constant.
    ``log_likelihood`` is in nats.
    """

    judges: tuple[str, ...] = column(heading="judge", name="judge")
    ability: Interval = column(heading="ability")
    discrimination: Interval = column(heading="discrimination")
    accuracy: Floats = column("(correct + 1) / (voted + 2).", "accuracy", "share")
    correct: Ints = column()
    voted: Ints = column(heading="of")
    judge_share: Interval
    logit_judges: float
    logit_items: float
    logit_interaction: float
    mu: float
    sigma: float
    m: float
    t: float
    ability_accuracy: float | None
    log_likelihood: float
    orientation: str
    protocol: str
    n_items: int
    n_groups: int
    iterations: int
    converged: bool
    seed: int
    warnings: tuple[str, ...]

    @property
    def item_share(self) -> float:
        """1 minus the judges' share."""
        return 1.0 - float(self.judge_share.value)

    @property
    def verdict(self) -> Verdict:
        """Whose share is above one half with its whole interval, if the logits agree."""
        return "undecided" if self.disagree else self._by_shares()

    @property
    def disagree(self) -> bool:
        """Whether the shares and the fitted logits, with interaction, decide for different sides.

        A few judges with nearly no slope have extreme abilities, which count fully in the shares.
        """
        larger = "judges" if self.logit_judges > self.logit_items else "items"
        return self._by_shares() not in (larger, "undecided")

    def _by_shares(self) -> Verdict:
        if self.judge_share.above(0.5):
            return "judges"
        return "items" if self.judge_share.below(0.5) else "undecided"

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, highest ability first."""
        frame = Declared.frame(self)
        return frame.sort_values("ability", ascending=False, kind="stable", ignore_index=True)

    def decisions(self) -> dict[str, Any]:
        """Return shares, verdict and population."""
        return {
            **json_values({"judge_share": self.judge_share}),
            "item_share": self.item_share,
            "verdict": self.verdict,
            "ability_accuracy": self.ability_accuracy,
            "n_judges": len(self.judges),
        }


def run_chunk(votes: VoteMatrix, spec: VarianceDecompositionSpec, chunk: Chunk) -> TwoPLFit:
    """Return the single fit; ``chunk`` holds one round."""
    ballots = prepare(votes, spec.settings).ballots
    return fit_two_pl(ballots.votes * ballots.signs[:, None])


def merge(
    votes: VoteMatrix, spec: VarianceDecompositionSpec, partial: TwoPLFit
) -> VarianceDecomposition:
    """Return shares and intervals of the fit."""
    prepared = prepare(votes, spec.settings)
    families = families_of(prepared.oriented.votes.with_judges(prepared.judges))
    shares = variance_shares(partial, prepared.ballots.units, _codes(families))
    parts = logit_variance(partial)
    whole = parts.judges + parts.items + parts.interaction
    accuracy = (partial.n_right + 1.0) / (partial.n_voted + 2.0)
    return VarianceDecomposition.from_run(
        prepared,
        spec,
        1,
        partial,
        partial.population,
        correct=partial.n_right.astype(np.int64),
        voted=partial.n_voted.astype(np.int64),
        accuracy=accuracy,
        ability=Interval(partial.theta, *partial.theta_interval(), unit=""),
        discrimination=Interval(partial.alpha, *partial.alpha_interval(), unit=""),
        judge_share=Interval.single(shares.judges, shares.lo, shares.hi, "share"),
        logit_judges=parts.judges / whole,
        logit_items=parts.items / whole,
        logit_interaction=parts.interaction / whole,
        ability_accuracy=_correlation(partial.theta, accuracy),
        n_groups=len(np.unique(prepared.ballots.units)),
        warnings=(*prepared.notices, *partial.warnings),
    )


def _correlation(entry: Floats, other: Floats) -> float | None:
    if min(np.ptp(entry), np.ptp(other)) < 1e-9:
        return None
    return float(np.corrcoef(entry, other)[0, 1])


def _codes(families: tuple[str, ...]) -> Ints:
    """Return one code per family; a judge without one is a family of one."""
    own = [f"family {name}" if name else f"judge {j}" for j, name in enumerate(families)]
    return np.unique(np.array(own, dtype=object), return_inverse=True)[1].astype(np.int64)


VARIANCE_DECOMPOSITION: Study[VarianceDecompositionSpec, TwoPLFit, VarianceDecomposition] = Study(
    name="variance_decomposition",
    title="Judges or items?",
    question="Which varies more: judges, or items?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda _: 1,
)
