"""Jury study: the error of the k best judges compared with that of independent judges.

Judges are ranked, and one-coin weights fitted, on calibration rows. Errors are measured on
evaluation rows, and so are the accuracies for the theory: the difference is then due to the
dependence between judges, not to their selection.

Juries of judges with independent errors: exact errors and theoretical bounds.

All functions take signed votes (n_items, n_judges), best judge first, and consider the k best
judges who voted on an item; missing votes are ignored. Ties, and items without votes, count as half
an error. The results are what independence implies, for comparison with a panel's observed errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import Ranking, counts, prefix_scores
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, common, contract, options
from judgepanel.studies.results import SplitResult, column, frozen, json_values
from judgepanel.votes import VoteMatrix

_MOST_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class JuryExponents:
    """Exponents of error bounds, each (n_k, n_items) and at least 0.

    ``jury`` is sum C_k: the best weighting errs with probability at most exp(-jury) / 2 (the
    paper's calibrated jury theorem). ``weighted`` and ``majority`` are Hoeffding's E: those votes
    err with probability at most exp(-E).
    """

    jury: Floats
    weighted: Floats
    majority: Floats


def independent_majority_error(votes: Votes, accuracies: Floats, ks: Ints) -> Floats:
    """Exact error (n_k, n_items) of a majority vote of independent judges, by item.

    The number of right votes is Poisson-binomial over the judges who voted; its distribution is
    updated judge by judge for all items at once. Time is O(votes x votes per item), memory
    O(n_items x votes per item).

    Parameters
    ----------
    accuracies : float (n_judges,) in [0, 1].
    ks : int (n_k,), increasing, in 1..n_judges.
    """
    voted = votes != 0
    n, most = len(votes), int(voted.sum(axis=1).max(initial=0))
    state = np.zeros((n, most + 1))
    state[:, 0] = 1.0
    cast = np.zeros(n, dtype=np.int64)
    errors = np.empty((len(ks), n))
    start = 0
    for j, p in enumerate(accuracies[: int(ks[-1])]):
        rows: slice | Ints = slice(None) if voted[:, j].all() else np.flatnonzero(voted[:, j])
        part = state[rows]
        right = part[:, :-1] * p
        part = part * (1.0 - p)
        part[:, 1:] += right
        state[rows] = part
        cast[rows] += 1
        if j + 1 == ks[start]:
            errors[start] = _half_tail(state, cast)
            start += 1
    return errors


def independent_error_slopes(votes: Votes, accuracies: Floats, ks: Ints) -> Floats:
    """Mean over items of d error / d accuracy of every judge, (n_k, n_judges), at most 0.

    The error of :func:`independent_majority_error` is affine in each accuracy: its slope is minus
    the probability that the other votes leave the decision to that judge, P(Y = t) among 2 t + 1
    votes and (P(Y = t - 1) + P(Y = t)) / 2 among 2 t. These come from the characteristic function
    of all votes with that judge divided out (Hong 2013, doi:10.1016/j.csda.2012.10.006, gives the
    transform), at an odd number of frequencies, among which a judge at 1/2 has no zero. Slopes are
    0 for judges beyond a prefix and on items they did not vote on. Memory is bounded; time is
    O(n_items x n_judges x votes per item) per prefix.
    """
    n, n_judges = votes.shape
    voted = votes != 0
    n_frequencies = int(voted.sum(axis=1).max(initial=0)) | 1
    angles = 2.0 * np.pi * np.arange((n_frequencies + 1) // 2) / n_frequencies
    one_vote = 1.0 + accuracies[:, None] * (np.exp(1j * angles) - 1.0)
    logs, halves = np.log(one_vote), np.where(angles > 0, 2.0, 1.0) / n_frequencies
    values = np.zeros((len(ks), n_judges))
    block = max(1, _MOST_CELLS // max(n_judges, len(angles)))
    for start in range(0, n, block):
        cast = voted[start : start + block].astype(np.float64)
        total = np.zeros((len(cast), len(angles)), dtype=np.complex128)
        n_before = 0
        for row, k in enumerate(ks):
            total += cast[:, n_before:k] @ logs[n_before:k]
            n_before = int(k)
            number = cast[:, :k].sum(axis=1)[:, None]
            upper, lower = number // 2, (number - 1) // 2
            turns = (np.exp(-1j * upper * angles) + np.exp(-1j * lower * angles)) / 2.0
            decided = np.exp(total) * turns * halves
            values[row, :k] -= ((cast[:, :k].T @ decided) / one_vote[:k]).real.sum(axis=1)
    return np.asarray(values / max(n, 1))


def _half_tail(state: Floats, cast: Ints) -> Floats:
    """P(right < wrong) + P(tie) / 2 of distributions (n, most + 1) of right votes."""
    twice = 2 * np.arange(state.shape[1])
    fewer = np.vecdot(state, (twice < cast[:, None]).astype(np.float64))
    tied = np.vecdot(state, (twice == cast[:, None]).astype(np.float64))
    return np.asarray(np.clip(fewer + tied / 2.0, 0.0, 1.0))


def jury_exponents(votes: Votes, accuracies: Floats, ks: Ints) -> JuryExponents:
    """Exponents by item and prefix; ``accuracies`` (n_judges,) lie inside (0, 1).

    C_k = -log(1 - (2 p_k - 1)^2) / 2, for weights log(p / (1 - p)) (the paper, theorem 1). E = (sum
    (2 p - 1) w)^2 / (2 sum w^2), w those weights or 1 (the paper's appendix; Hoeffding 1963,
    doi:10.2307/2282952); a majority of judges that are wrong on average has no such bound, so its E
    is 0.
    """
    voted = (votes != 0).astype(np.float64)
    edge = 2.0 * accuracies - 1.0
    weight = np.log(accuracies) - np.log1p(-accuracies)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.cumsum(voted * values, axis=1)[:, ks - 1].T)

    return JuryExponents(
        jury=sums(-0.5 * np.log1p(-(edge**2))),
        weighted=_hoeffding(sums(edge * weight), sums(weight**2)),
        majority=_hoeffding(sums(edge), sums(np.ones(len(edge)))),
    )


def _hoeffding(lean: Floats, squares: Floats) -> Floats:
    """lean^2 / (2 squares) if the lean is to the right side, else 0."""
    square = np.maximum(lean, 0.0) ** 2
    return np.asarray(np.divide(square, 2.0 * squares, out=np.zeros_like(lean), where=squares > 0))


def majority_errors(votes: Votes, signs: Votes, ks: Ints) -> Floats:
    """Observed error (n_k, n_items) in {0, 1/2, 1} of a majority of the first k judges."""
    lean = np.cumsum(votes * signs[:, None], axis=1, dtype=np.int64)[:, ks - 1].T
    return np.asarray((1.0 - np.sign(lean)) / 2.0)


def equivalent_jury(error: float, accuracy: float, most: int) -> float:
    """Number of independent judges of one ``accuracy`` with this majority error, in [1, ``most``].

    The logarithm of the error is interpolated linearly between odd numbers (an even number errs as
    often as one judge fewer). NaN if the accuracy is not above 1/2: more judges do not help then.
    """
    if not accuracy > 0.5 or not np.isfinite(error):
        return float("nan")
    sizes = np.arange(1, max(most, 1) + 1, 2)
    tails = np.asarray(scipy.stats.binom.logcdf((sizes - 1) // 2, sizes, accuracy))
    if error <= 0.0:
        return float(most)
    size = float(np.interp(-np.log(error), -tails, sizes))
    return float(most) if -np.log(error) >= -tails[-1] else size


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
        last = {name: getattr(self, name)[-1] for name in ("gap", "jury_bound", "effective")}
        return errors | json_values(last)


@dataclass(frozen=True, slots=True)
class JurySpec(options.StudySpec):
    """The panels to evaluate; ``panels`` None uses about 24 odd sizes up to all judges.

    Raises
    ------
    InputError
        An unknown ranking, or a panel below 1.
    """

    panels: tuple[int, ...] | None = options.option(
        None, "panel sizes, besides all judges", check=options.check_panels
    )
    ranking: Ranking = options.option("accuracy")

    def sizes(self, n_judges: int) -> Ints:
        """Return panel sizes (n_k,), all judges last."""
        if self.panels is not None:
            return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))
        wide = np.geomspace(1, n_judges, N_SIZES)
        odd = {min(int(2 * round((size - 1) / 2) + 1), n_judges) for size in wide}
        return np.array(sorted(odd | {n_judges}))


def run_chunk(votes: VoteMatrix, spec: JurySpec, chunk: contract.Chunk) -> accumulate.ValueTally:
    """Evaluate all panel sizes on the splits of one chunk."""
    prepared = contract.prepare(votes, spec.settings)
    ballots = prepared.ballots
    ks = spec.sizes(ballots.n_judges)

    def scored() -> Iterator[tuple[Split, Floats]]:
        for split in common.splits_of(prepared, spec.settings, chunk):
            rows = split.evaluation[:: thinning(ballots, len(split.evaluation))]
            narrow = Split(split.number, split.calibration, rows)
            yield narrow, _values(ballots, narrow, ks, spec.ranking).reshape(-1, len(rows))

    return accumulate.tally_values(scored(), ballots.n_items, len(VALUES) * len(ks))


def thinning(ballots: Ballots, n_evaluation: int) -> int:
    """Return the step between evaluation items used: exact distributions take n x votes^2."""
    share = np.count_nonzero(ballots.votes) / max(ballots.votes.size, 1)
    return max(1, int(np.ceil(n_evaluation * ballots.n_judges * share / MOST_CELLS)))


def _values(ballots: Ballots, split: Split, ks: Ints, ranking: Ranking) -> Floats:
    """Return ``VALUES`` by panel size and item, (V, n_k, n_rows)."""
    rows = split.evaluation
    scores = prefix_scores(ballots, split, ks, ranking=ranking, own_label="seen")
    votes, signs = ballots.votes[rows][:, scores.order], ballots.signs[rows]
    accuracies, influence = (part[..., scores.order] for part in _accuracies(ballots, split))
    theory = jury_exponents(votes, accuracies, ks)
    voted = votes != 0
    cast = np.cumsum(voted, axis=1)[:, ks - 1].T
    known = np.cumsum(voted * accuracies, axis=1)[:, ks - 1].T
    parts = theory.jury, theory.weighted, theory.majority
    exponents = [np.minimum(part, MOST_EXPONENT) for part in parts]
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
    n_votes = voted.sum()
    mean = (right.sum() + 1.0) / (n_votes + 2.0)
    accuracies = np.asarray((right + PRIOR_VOTES * mean) / (voted + PRIOR_VOTES))
    votes = ballots.votes[split.evaluation]
    cast = (votes != 0).astype(np.float64)
    hit = (votes * ballots.signs[split.evaluation][:, None] > 0).astype(np.float64)
    own = hit - cast * (right / np.maximum(voted, 1))
    panel = (hit.sum(axis=1) - cast.sum(axis=1) * right.sum() / max(n_votes, 1)) / (n_votes + 2.0)
    influence = len(votes) * (own + PRIOR_VOTES * panel[:, None]) / (voted + PRIOR_VOTES)
    return accuracies, influence


def merge(votes: VoteMatrix, spec: JurySpec, partial: accumulate.ValueTally) -> Jury:
    """Return errors, bounds and the number of independent judges from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
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
    # Error of always choosing the majority label; one half if the order is arbitrary.
    share = float(np.mean(ballots.signs > 0))
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
        null_error=0.5 if ballots.symmetric else min(share, 1.0 - share),
        warnings=common.run_warnings(prepared, partial, thinned if every > 1 else ""),
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


JURY: contract.Study[JurySpec, accumulate.ValueTally, Jury] = contract.Study(
    name="jury",
    title="The jury bound",
    question="What does dependence between judges cost?",
    run_chunk=run_chunk,
    merge=merge,
    settled=contract.steady(merge, lambda jury: [(jury.gap[-1], 0.0)]),
)
