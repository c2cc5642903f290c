"""Jury study: the error of the k best judges compared with that of independent judges.

Judges are ranked, and one-coin weights fitted, on calibration rows. Errors are measured on
evaluation rows, and so are the accuracies for the theory: the difference is then due to the
dependence between judges, not to their selection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking, counts, prefix_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.judges.jury import (
    equivalent_jury,
    independent_error_slopes,
    independent_majority_error,
    jury_exponents,
    majority_errors,
)
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.common import check_known, check_panels, run_fields, splits_of
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.looks import steady
from judgepanel.studies.notes import few_labels
from judgepanel.studies.results import SplitResult, long_frame
from judgepanel.studies.robustness.value_tally import ValueTally, combine_values, tally_values
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import VoteMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_SIZES = 24
PRIOR_VOTES = 2.0
MOST_CELLS = 2_000_000
MOST_EXPONENT = 500.0
VALUES = (
    *("majority", "one_coin", "independent", "accuracy"),
    *("jury_bound", "hoeffding_weighted", "hoeffding_majority"),
    *("jury_exponent", "weighted_exponent", "majority_exponent"),
    "independent_by_item",
)


@dataclass(frozen=True, slots=True, eq=False)
class Jury(SplitResult):
    """Result of :data:`JURY`; arrays are (n_k,), panels of the ``k`` best judges.

    Errors are shares of wrong decisions on evaluation items, with 95 % intervals for new items:
    ``majority`` and ``one_coin`` are observed, ``independent`` is the exact error of a majority of
    independent judges of these accuracies. ``gap`` = ``majority`` - ``independent`` is the cost of
    dependence. ``jury_bound``, ``hoeffding_weighted`` and ``hoeffding_majority`` are upper bounds
    for independent judges, means over items; ``jury_exponent`` (the sum of C_k),
    ``weighted_exponent`` and ``majority_exponent`` (E) are the means of the exponents. ``accuracy``
    is the mean over items of that of the judges who voted, one half without votes; ``effective`` is
    the number of independent judges of that accuracy with the same majority error. ``null_error``
    is the error of deciding without votes.
    """

    k: Ints
    accuracy: Floats
    majority: Interval
    one_coin: Interval
    independent: Interval
    gap: Interval
    jury_bound: Floats
    hoeffding_weighted: Floats
    hoeffding_majority: Floats
    jury_exponent: Floats
    weighted_exponent: Floats
    majority_exponent: Floats
    effective: Interval
    null_error: float
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "accuracy": "Accuracy of the voters of an item, one half without any; mean over items.",
            "majority": "Share of wrong decisions of the majority.",
            "one_coin": "Share of wrong decisions of the one-coin score.",
            "independent": "Share of wrong decisions of a majority of independent judges.",
            "gap": (
                "Error of the majority minus that of independent judges: the cost of dependence."
            ),
            "effective": "Number of independent judges with the same majority error.",
            "jury_bound": "Upper bound on the error of independent judges with the best weights.",
            "hoeffding_weighted": "Hoeffding's bound on the error of a weighted vote.",
            "hoeffding_majority": "Hoeffding's bound on the error of a majority.",
            "jury_exponent": "Exponent of jury_bound.",
            "weighted_exponent": "Exponent of hoeffding_weighted.",
            "majority_exponent": "Exponent of hoeffding_majority.",
            "null_error": "Share of wrong decisions without votes.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per panel size."""
        return long_frame(
            self.k.shape,
            {
                "k": self.k,
                "n_splits": self.n_splits,
                "seed": self.seed,
                "accuracy": self.accuracy,
                "majority": self.majority,
                "one_coin": self.one_coin,
                "independent": self.independent,
                "gap": self.gap,
                "effective": self.effective,
                "jury_bound": self.jury_bound,
                "hoeffding_weighted": self.hoeffding_weighted,
                "hoeffding_majority": self.hoeffding_majority,
                "jury_exponent": self.jury_exponent,
                "weighted_exponent": self.weighted_exponent,
                "majority_exponent": self.majority_exponent,
                "null_error": self.null_error,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the error of all judges, that under independence, and the effective number."""
        whole = self.frame().iloc[-1]
        return {
            "majority_error": whole["majority"],
            "one_coin_error": whole["one_coin"],
            "independent_error": whole["independent"],
            **whole[["gap", "gap_lo", "gap_hi", "jury_bound"]],
            **whole[["effective", "effective_lo", "effective_hi"]],
        }


@dataclass(frozen=True, slots=True)
class JurySpec:
    """The panels to evaluate; ``panels`` None uses about 24 odd sizes up to all judges.

    Raises
    ------
    InputError
        An unknown ranking, or a panel below 1.
    """

    settings: Settings = Settings()
    panels: tuple[int, ...] | None = field(
        default=None, metadata={"help": "panel sizes, besides all judges"}
    )
    ranking: Ranking = field(default="accuracy", metadata={"help": "how judges are ranked"})

    def __post_init__(self) -> None:
        check_known("ranking", RANKINGS, (self.ranking,))
        check_panels(self.panels or ())

    def sizes(self, n_judges: int) -> Ints:
        """Return panel sizes (n_k,), all judges last."""
        if self.panels is not None:
            return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))
        wide = np.geomspace(1, n_judges, N_SIZES)
        odd = {min(int(2 * round((size - 1) / 2) + 1), n_judges) for size in wide}
        return np.array(sorted(odd | {n_judges}))


def run_chunk(votes: VoteMatrix, spec: JurySpec, chunk: Chunk) -> ValueTally:
    """Evaluate all panel sizes on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    ks = spec.sizes(ballots.n_judges)

    def scored() -> Iterator[tuple[int, Ints, int, Floats]]:
        for split in splits_of(prepared, spec.settings, chunk):
            rows = split.evaluation[:: thinning(ballots, len(split.evaluation))]
            values = _values(ballots, split, rows, ks, spec.ranking)
            yield split.number, rows, len(split.calibration), values.reshape(-1, len(rows))

    return tally_values(scored(), ballots.n_items, len(VALUES) * len(ks))


def thinning(ballots: Ballots, n_evaluation: int) -> int:
    """Return the step between evaluation items used: exact distributions take n x votes^2."""
    share = np.count_nonzero(ballots.votes) / max(ballots.votes.size, 1)
    cells = n_evaluation * ballots.n_judges * share
    return max(1, int(np.ceil(cells / MOST_CELLS)))


def _values(ballots: Ballots, split: Split, rows: Ints, ks: Ints, ranking: Ranking) -> Floats:
    """Return ``VALUES`` by panel size and item, (V, n_k, n_rows)."""
    narrow = Split(split.number, split.calibration, rows)
    scores = prefix_scores(ballots, split.calibration, rows, ks, ranking=ranking, own_label="seen")
    votes, signs = ballots.votes[rows][:, scores.order], ballots.signs[rows]
    accuracies, influence = (part[..., scores.order] for part in _accuracies(ballots, narrow))
    theory = jury_exponents(votes, accuracies, ks)
    voted = votes != 0
    cast = np.cumsum(voted, axis=1)[:, ks - 1].T
    known = np.cumsum(voted * accuracies, axis=1)[:, ks - 1].T
    exponents = [
        np.minimum(part, MOST_EXPONENT) for part in (theory.jury, theory.weighted, theory.majority)
    ]
    independent = independent_majority_error(votes, accuracies, ks)
    slopes = independent_error_slopes(votes, accuracies, ks)
    return np.stack(
        [
            majority_errors(votes, signs, ks),
            (1.0 - np.sign(scores.evaluation * signs)) / 2.0,
            independent,
            np.where(cast > 0, known / np.maximum(cast, 1), 0.5),
            *(scale * np.exp(-part) for scale, part in zip((0.5, 1, 1), exponents, strict=True)),
            *exponents,
            independent + slopes @ influence.T,
        ]
    )


def _accuracies(ballots: Ballots, split: Split) -> tuple[Floats, Floats]:
    """Accuracy (n_judges,) on the evaluation rows, inside (0, 1), and its influence values.

    ``PRIOR_VOTES`` votes at the panel's mean accuracy are added, which leaves the mean unchanged.
    The influence values (n_eval, n_judges) have mean 0; without them an item's effect on the
    accuracies would be ignored.
    """
    right, voted = counts(ballots, split.evaluation)
    mean = (right.sum() + 1.0) / (voted.sum() + 2.0)
    accuracies = np.asarray((right + PRIOR_VOTES * mean) / (voted + PRIOR_VOTES))
    votes = ballots.votes[split.evaluation]
    cast = (votes != 0).astype(np.float64)
    hit = (votes * ballots.signs[split.evaluation][:, None] > 0).astype(np.float64)
    own = hit - cast * (right / np.maximum(voted, 1))
    panel = (hit.sum(axis=1) - cast.sum(axis=1) * right.sum() / max(voted.sum(), 1)) / (
        voted.sum() + 2.0
    )
    influence = len(votes) * (own + PRIOR_VOTES * panel[:, None]) / (voted + PRIOR_VOTES)
    return accuracies, influence


def merge(votes: VoteMatrix, spec: JurySpec, partial: ValueTally) -> Jury:
    """Return errors, bounds and the number of independent judges from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, tally = prepared.ballots, partial.in_order()
    ks = spec.sizes(ballots.n_judges)
    units = ballots.units
    identity = np.eye(len(VALUES) * len(ks)).reshape(len(VALUES), len(ks), -1)

    def measured(weights: Floats) -> Interval:
        return Interval.of(tally.contrasts(weights, units), "share")

    by_name = {name: measured(weights) for name, weights in zip(VALUES, identity, strict=True)}
    majority, alone = by_name["majority"], by_name["independent"].value
    by_item = identity[VALUES.index("independent_by_item")]
    accuracy = by_name["accuracy"].value
    observed = majority.clip(0.0, 1.0)
    theory: dict[str, Any] = {name: by_name[name].value for name in VALUES[4:-1]}
    return Jury(
        k=ks,
        accuracy=accuracy,
        majority=observed,
        one_coin=by_name["one_coin"].clip(0.0, 1.0),
        independent=_around(alone, by_name["independent_by_item"]).clip(0.0, 1.0),
        gap=_around(majority.value - alone, measured(identity[0] - by_item)),
        **theory,
        effective=_equivalents(observed, accuracy, ks),
        null_error=_null_error(ballots),
        n_judges=ballots.n_judges,
        **run_fields(prepared, spec.settings, tally),
        warnings=_warnings(prepared, spec, tally),
    )


def _around(value: Floats, linear: Interval) -> Interval:
    """Return the interval of a linearised value, centred on the value itself."""
    moved = value - linear.value
    return replace(linear, value=value, lo=linear.lo + moved, hi=linear.hi + moved)


def _equivalents(errors: Interval, accuracy: Floats, ks: Ints) -> Interval:
    """Number of independent judges with the same error; it decreases with the error."""

    def worth(shares: Floats) -> Floats:
        panels = zip(shares.tolist(), accuracy.tolist(), ks.tolist(), strict=True)
        return np.array([equivalent_jury(*panel) for panel in panels])

    return Interval(worth(errors.value), worth(errors.hi), worth(errors.lo), unit="count")


def _null_error(ballots: Ballots) -> float:
    """Error of always choosing the majority label; one half if the order is arbitrary."""
    share = float(np.mean(ballots.signs > 0))
    return 0.5 if ballots.symmetric else min(share, 1.0 - share)


def _warnings(prepared: Prepared, spec: JurySpec, tally: ValueTally) -> tuple[str, ...]:
    warnings = list(prepared.notices)
    warnings += few_labels(prepared, float(tally.n_calibration.mean()))
    ballots = prepared.ballots
    n = round(ballots.n_items * (1.0 - spec.settings.fraction))
    every = thinning(ballots, n)
    if every > 1:
        warnings.append(
            f"Exact distributions are slow for this many votes: one in {every} evaluation items "
            "is used."
        )
    return tuple(warnings)


JURY: Study[JurySpec, ValueTally, Jury] = Study(
    name="jury",
    title="The jury bound",
    question="What does dependence between judges cost?",
    spec=JurySpec,
    result=Jury,
    partial=ValueTally,
    run_chunk=run_chunk,
    combine=combine_values,
    merge=merge,
    settled=steady(merge, lambda jury: [(jury.gap[-1], 0.0)]),
)
