"""Label permutation: the result of the whole pipeline when labels are unrelated to votes.

Labels are assigned to items at random, votes stay, and everything is refitted and scored on the
same splits. An honest pipeline then scores no better than the base rate. If votes say nothing about
labels, the real labels are one more such assignment, so the rank of the real NLL among the permuted
ones is a p-value without further assumptions (Fisher 1935; Phipson and Smyth 2010,
doi:10.2202/1544-6115.1585). A permutation moves the labels of all items, and every split is fitted
and scored with them: shuffling again within each split would make the reference distribution too
narrow.

Result of :data:`PERMUTATION`: the NLL of the real labels among those of permuted ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import SplitScores
from judgepanel.kernels.maps import softplus
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split, split, stream
from judgepanel.studies import codec, common, contract, options
from judgepanel.studies.accumulate import Arms, Estimator, Tally, grid_estimates, tally
from judgepanel.studies.panel.recommended import AverageSpec, all_judges
from judgepanel.studies.results import RunResult, by_split, frozen, long_frame, summed
from judgepanel.votes import VoteMatrix

LEAK = 0.005
"""Margin, as a share of the null NLL, by which a permuted panel must beat it to count as a leak."""


@dataclass(frozen=True, slots=True, eq=False)
class Permutation(RunResult):
    """Result of :data:`PERMUTATION`; NLLs are in nats per item, out of sample.

    ``nll``, with a 95 % interval, and ``accuracy`` are those of the real labels, ``null_nll`` is
    the NLL of their base rate and ``constant_nll`` that of a constant score through the same
    calibrator. ``permuted_nll``, ``permuted_null`` and ``permuted_accuracy`` (B,) are those of the
    permutations, which ``action`` describes; ``planned`` is the requested number. ``movable`` is
    the share of items whose labels can be exchanged; ``identical`` means that all labels are equal
    and used as given, so permuting them changes nothing. Real figures are NaN until they have been
    computed.
    """

    aggregator: str
    calibrator: str
    action: str
    nll: Interval
    accuracy: float
    null_nll: float
    constant_nll: float
    permuted_nll: Floats
    permuted_null: Floats
    permuted_accuracy: Floats
    planned: int
    movable: float
    identical: bool
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "permutation": "Number of the permutation; 0 has the real labels.",
        "labels": "Real, or how they were permuted.",
    }

    @property
    def partial(self) -> bool:
        """Whether permutations are still missing."""
        return len(self.permuted_nll) < self.planned or not np.isfinite(self.nll.value)

    @property
    def p(self) -> float:
        """(1 + permutations at least as good as the real labels) / (1 + permutations), or NaN."""
        if not len(self.permuted_nll) or not np.isfinite(self.nll.value):
            return float("nan")
        as_good = np.count_nonzero(self.permuted_nll <= self.nll.value)
        return float((1 + as_good) / (1 + len(self.permuted_nll)))

    @property
    def spread(self) -> Interval:
        """Mean of the permuted NLLs, and their central 95 %."""
        if not len(self.permuted_nll):
            return Interval.full((), np.nan)
        ends = np.quantile(self.permuted_nll, (0.025, 0.975))
        return Interval.single(self.permuted_nll.mean(), *ends)

    @property
    def excess(self) -> Interval:
        """Mean of permuted NLL - permuted null, with its 95 % Monte Carlo interval."""
        over = self.permuted_nll - self.permuted_null
        if len(over) < 2:
            return Interval.full((), np.nan)
        mean, reach = over.mean(), 1.96 * over.std(ddof=1) / len(over) ** 0.5
        return Interval.single(mean, mean - reach, mean + reach)

    @property
    def leaks(self) -> bool:
        """Whether permuted labels are predicted better than by their base rate: a leak."""
        return bool(self.excess.below(-LEAK * self.mean_null))

    @property
    def mean_null(self) -> float:
        """Mean base rate of the permuted labels; NaN without any."""
        return float(self.permuted_null.mean()) if len(self.permuted_null) else float("nan")

    def frame(self) -> pd.DataFrame:
        """The real labels in row 0, then one row per permutation."""
        n = len(self.permuted_nll)
        return long_frame(
            {
                "permutation": np.arange(n + 1),
                "labels": ["real", *["permuted"] * n],
                "nll": np.append(self.nll.value, self.permuted_nll),
                "null_nll": np.append(self.null_nll, self.permuted_null),
                "accuracy": np.append(self.accuracy, self.permuted_accuracy),
            }
        )

    def decisions(self) -> dict[str, Any]:
        """Return the p-value, and the distance of permuted panels from their null."""
        nll, lo, hi = self.nll
        mean, *ends = self.spread
        return {
            **codec.to_plain({"nll": nll, "nll_lo": lo, "nll_hi": hi, "p": self.p}),
            "leaks": self.leaks,
            "permuted_nll_mean": codec.to_plain(mean),
            "permuted_nll_range": codec.to_plain(ends),
            "permuted_null_mean": codec.to_plain(self.mean_null),
            "excess": codec.to_plain(tuple(self.excess)),
            "permutations": len(self.permuted_nll),
        }


MOST = 100_000
_KEY = 41
_FEW_MOVE = 0.5


@dataclass(frozen=True, slots=True)
class PermutationSpec(AverageSpec):
    """Options of the permutation test.

    ``permutations`` are run besides the real labels, each scored on ``splits_each`` splits, or on
    all if there are fewer.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; numbers out of range.
    """

    calibrator: Calibrator = options.option("beta", "the calibrator (none for average)")
    permutations: int = options.option(
        199,
        "number of label permutations",
        check=options.check_count("number of permutations out of range", 1, MOST),
    )
    splits_each: int = options.option(
        10,
        "number of splits on which each permutation is scored",
        check=options.valid("a permutation needs 2 splits or more", lambda n: n >= 2, "2 or more"),
    )

    @property
    def n_splits(self) -> int:
        """Number of splits on which a permutation is scored."""
        return min(self.splits_each, self.settings.most_splits)


@frozen
class PermutationTally:
    """Scores of rounds ``numbers`` (B,); round 0 has the real labels, whose tally is ``real``.

    ``nll``, ``null_nll`` and ``accuracy`` (B,) are means over the items; ``replaced`` counts fits
    that fell back to temperature.
    """

    numbers: Ints = by_split()
    nll: Floats = by_split()
    null_nll: Floats = by_split()
    accuracy: Floats = by_split()
    replaced: int = summed()
    real: Tally | None


def run_chunk(votes: VoteMatrix, spec: PermutationSpec, chunk: contract.Chunk) -> PermutationTally:
    """Score the permutations of one chunk."""
    ballots, settings = contract.prepare(votes, spec.settings).ballots, spec.settings
    units, fraction, seed = ballots.units, settings.fraction, settings.seed
    splits = [split(units, s, fraction=fraction, seed=seed) for s in range(spec.n_splits)]
    pipeline = spec.aggregator, spec.calibrator, settings
    real: Tally | None = None
    rows, replaced = [], 0
    numbers = np.arange(chunk.first, chunk.first + chunk.count)
    for number in numbers.tolist():
        turned = permuted(ballots, number, seed)
        results = [(drawn, all_judges(turned, drawn, *pipeline)) for drawn in splits]
        if number == 0:
            scored = ((entry, Arms.of([result])) for entry, result in results)
            real = tally(scored, n_items=ballots.n_items, seed=seed)
        rows.append(_levels(results, ballots.n_items, spec.calibrator))
        replaced += sum(result.replaced[spec.calibrator] for _, result in results)
    nll, null, accuracy = np.array(rows).T
    return PermutationTally(numbers, nll, null, accuracy, replaced, real)


def permuted(ballots: Ballots, number: int, seed: int) -> Ballots:
    """Return the same votes with uninformative labels; number 0 has the real labels.

    If items are used with their swaps, the order of a pair is arbitrary and the two responses are
    exchangeable: each group's labels are flipped together by a fair coin. Otherwise labels move
    between items: groups of equal size exchange all their labels, and within a group they are put
    in a random order. The stream is ``SeedSequence(seed, spawn_key=(number, 41))``.
    """
    if number == 0:
        return ballots
    rng = stream(seed, number, _KEY)
    _, codes, sizes = np.unique(ballots.units, return_inverse=True, return_counts=True)
    if ballots.symmetric:
        coin = rng.integers(0, 2, len(sizes)) * 2 - 1
        return replace(ballots, signs=(ballots.signs * coin[codes]).astype(np.int8))
    giver = np.arange(len(sizes))
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        giver[alike] = rng.permutation(alike)
    by_group = np.argsort(codes, kind="stable")
    given = np.lexsort((rng.random(len(codes)), codes))
    starts = np.cumsum(sizes) - sizes
    within = np.arange(len(codes)) - np.repeat(starts, sizes)
    labels = ballots.signs[given[np.repeat(starts[giver], sizes) + within]]
    signs = np.empty_like(ballots.signs)
    signs[by_group] = labels
    return replace(ballots, signs=signs)


def movable(ballots: Ballots) -> float:
    """Share of the items whose group can exchange its labels with another, in [0, 1]."""
    if ballots.symmetric:
        return 1.0
    _, codes, sizes = np.unique(ballots.units, return_inverse=True, return_counts=True)
    levels, counts = np.unique(sizes, return_counts=True)
    peers = counts[np.searchsorted(levels, sizes)] > 1
    return float(np.mean(peers[codes]))


def _levels(
    scored: list[tuple[Split, SplitScores]], n_items: int, calibrator: Calibrator
) -> Floats:
    """NLL, null NLL and accuracy (3,): means over items of each item's mean over the splits."""
    total, times = np.zeros((3, n_items)), np.zeros(n_items)
    for one_split, split_scores in scored:
        scores, fitted = split_scores.evaluation[calibrator], split_scores.fitted
        null = softplus(-fitted.signs * fitted.null)
        total[:, one_split.evaluation] += np.stack([scores.nll[0], null, scores.hit[0]])
        times[one_split.evaluation] += 1
    seen = times > 0
    return np.asarray((total[:, seen] / times[seen]).mean(axis=1))


def merge(votes: VoteMatrix, spec: PermutationSpec, partial: PermutationTally) -> Permutation:
    """Return the real NLL compared with the permuted ones so far."""
    prepared = contract.prepare(votes, spec.settings)
    real, permuted = (np.flatnonzero(part) for part in (partial.numbers == 0, partial.numbers > 0))
    nll, constant = Interval.full((), np.nan), float("nan")
    if partial.real is not None:
        tally = partial.real
        level = grid_estimates(tally, Estimator.of(tally, prepared.ballots.units))["nll"][0, 0]
        nll = replace(level, value=partial.nll[real][0])
        constant = float(partial.real.constant_nll.mean())
    warnings = list(prepared.notices)
    if partial.real is not None:
        warnings += common.few_labels(prepared, float(partial.real.n_calibration.mean()))
    share = movable(prepared.ballots)
    if share < _FEW_MOVE:
        warnings.append(
            f"Only {share:.0%} of the items are in groups that have another of their size to "
            "exchange labels with: the permutation test has little to go by."
        )
    fits = len(partial.numbers) * spec.n_splits
    return Permutation.from_run(
        prepared,
        spec,
        spec.n_splits,
        planned_splits=spec.n_splits,
        action=_action(prepared),
        nll=nll,
        accuracy=_only(partial.accuracy[real]),
        null_nll=_only(partial.null_nll[real]),
        constant_nll=constant,
        permuted_nll=partial.nll[permuted],
        permuted_null=partial.null_nll[permuted],
        permuted_accuracy=partial.accuracy[permuted],
        planned=spec.permutations,
        movable=share,
        identical=len(np.unique(prepared.ballots.signs)) == 1 and not prepared.ballots.symmetric,
        warnings=(*warnings, *common.stand_ins((spec.calibrator,), (partial.replaced,), fits)),
    )


def _only(values: Floats) -> float:
    return float(values[0]) if len(values) else float("nan")


def _action(prepared: contract.Prepared) -> str:
    ballots = prepared.ballots
    groups = len(np.unique(ballots.units)) < ballots.n_items
    if ballots.symmetric:
        return "groups of " * groups + "items turned around by a coin"
    if groups:
        return "labels exchanged between groups of one size, and within groups"
    return "labels permuted among the items"


PERMUTATION: contract.Study[PermutationSpec, PermutationTally, Permutation] = contract.Study(
    name="permutation",
    title="Permuted labels",
    question="What does the pipeline find where there is nothing to find?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda spec: spec.permutations + 1,
)
