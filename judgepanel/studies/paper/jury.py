"""Jury study: the error of the k best judges compared with that of independent judges.

Judges are ranked, and one-coin weights fitted, on calibration rows. Errors are measured on
evaluation rows, and so are the accuracies for the theory: the difference is then due to the
dependence between judges, not to their selection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.jury import (
    equivalent_jury,
    independent_error_slopes,
    independent_majority_error,
    jury_exponents,
    majority_errors,
)
from judgepanel.kernels.prefixes import Ranking, counts, prefix_scores
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import ValueTally, tally_values
from judgepanel.studies.common import run_warnings, splits_of
from judgepanel.studies.contract import Chunk, Study, prepare, steady
from judgepanel.studies.options import StudySpec, check_panels, option
from judgepanel.studies.results import SplitResult, column, frozen
from judgepanel.votes import VoteMatrix

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


@frozen
class Jury(SplitResult):
    """Result of :data:`JURY`; arrays are (n_k,), panels of the ``k`` best judges.

    Errors are shares of wrong decisions on evaluation items, with 95 % intervals for new items.
    Bounds and exponents, for independent judges, are means over items.
    """

    k: Ints = column(heading="judges", form="whole")
    accuracy: Floats = column(
        "Accuracy of the voters of an item, one half without any; mean over items.",
        *("judges' accuracy", "share"),
    )
    majority: Interval = column("Share of wrong decisions of the majority.", "majority errs")
    one_coin: Interval = column("Share of wrong decisions of the one-coin score.", "one-coin errs")
    independent: Interval = column(
        "Share of wrong decisions of a majority of independent judges of these accuracies.",
        "independent judges would",
    )
    gap: Interval = column(
        "Error of the majority minus that of independent judges: the cost of dependence.",
        "dependence costs",
    )
    effective: Interval = column(
        "Number of independent judges of the mean accuracy with the same majority error.",
        *("worth", "estimate"),
    )
    jury_bound: Floats = column(
        "Upper bound on the error of independent judges with the best weights.",
        *("jury bound", "share"),
    )
    hoeffding_weighted: Floats = column(
        "Hoeffding's bound on the error of a weighted vote.", "Hoeffding, weighted", "share"
    )
    hoeffding_majority: Floats = column(
        "Hoeffding's bound on the error of a majority.", "Hoeffding, majority", "share"
    )
    jury_exponent: Floats = column("Exponent of jury_bound: the sum of C_k.", "sum of C_k")
    weighted_exponent: Floats = column("Exponent of hoeffding_weighted.", "E, weighted")
    majority_exponent: Floats = column("Exponent of hoeffding_majority.", "E, majority")
    null_error: float = column("Share of wrong decisions without votes.", "no votes", "share")
    n_judges: int

    def decisions(self) -> dict[str, Any]:
        """Return the error of all judges, that under independence, and the effective number."""
        names = ("majority", "one_coin", "independent")
        errors = {f"{name}_error": float(getattr(self, name).value[-1]) for name in names}
        return errors | self.last("gap", "jury_bound", "effective")


@dataclass(frozen=True, slots=True)
class JurySpec(StudySpec):
    """The panels to evaluate; ``panels`` None uses about 24 odd sizes up to all judges.

    Raises
    ------
    InputError
        An unknown ranking, or a panel below 1.
    """

    panels: tuple[int, ...] | None = option(
        None, "panel sizes, besides all judges", check=check_panels
    )
    ranking: Ranking = option("accuracy")

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
    ballots, ks = prepared.ballots, spec.sizes(prepared.ballots.n_judges)
    identity = np.eye(len(VALUES) * len(ks)).reshape(len(VALUES), len(ks), -1)
    weights = dict(zip(VALUES, identity, strict=True))

    def measured(rows: Floats) -> Interval:
        return Interval.of(partial.contrasts(rows, ballots.units), "share")

    figures = {name: measured(rows) for name, rows in weights.items()}
    theory: dict[str, Any] = {name: figures[name].value for name in VALUES[2:-1]}
    alone, accuracy = theory.pop("independent"), theory["accuracy"]
    majority, linear = figures["majority"], figures["independent_by_item"]
    gap = measured(weights["majority"] - weights["independent_by_item"])
    every = thinning(ballots, round(ballots.n_items * (1.0 - spec.settings.fraction)))
    thinned = (
        f"Exact distributions are slow for this many votes: one in {every} evaluation items is "
        "used."
    )
    return Jury.from_splits(
        prepared,
        spec,
        partial,
        k=ks,
        majority=majority.clip(0.0, 1.0),
        one_coin=figures["one_coin"].clip(0.0, 1.0),
        independent=_around(alone, linear).clip(0.0, 1.0),
        gap=_around(majority.value - alone, gap),
        **theory,
        effective=_equivalents(majority.clip(0.0, 1.0), accuracy, ks),
        null_error=_null_error(ballots),
        warnings=run_warnings(prepared, partial, thinned if every > 1 else ""),
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


JURY: Study[JurySpec, ValueTally, Jury] = Study(
    name="jury",
    title="The jury bound",
    question="What does dependence between judges cost?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, lambda jury: [(jury.gap[-1], 0.0)]),
)
