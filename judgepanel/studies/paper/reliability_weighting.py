"""Should some comparisons count for more than others when judges are weighed?

Each calibration comparison gets an importance from a signal of its reliability, used for the
judges' counts and for the calibrator; scores of evaluation items are what that panel says. The
effect is held against the unweighted panel by two one-sided tests: a difference that is not
significant is not yet none.

Cost per split: one one-coin fit of all judges and one calibration per signal.

Signals that may say how reliable a comparison is, without its label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import calibration, evaluation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring import descriptive, inference, splits
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, band, contrasts
from judgepanel.studies.common import replaced_fits, run_warnings, tally_of
from judgepanel.studies.contract import Chunk, Prepared, Study, inside, prepare, steady
from judgepanel.studies.options import StudySpec, option, valid
from judgepanel.studies.results import SplitResult, column, derived, frozen
from judgepanel.votes import VoteMatrix
from judgepanel.votes.errors import listed

MOST_FEATURES = 5
AGREEMENT, COVERAGE, RANDOM = "agreement", "votes", "random"
HIGH, LOW = "high", "low"
_STREAM = (7, 23)


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """``values`` (n_items,) of a signal, NaN where unknown; where it is high (or low) a comparison
    counts for more. ``feature`` marks item features, whose names are the user's.
    """

    name: str
    favours: str
    values: Floats
    feature: bool = False

    def importance(self, rows: Ints, strength: float) -> Floats:
        """How much every row counts, (n,), from 1 - strength to 1 + strength with mean 1.

        Linear in the rank among the rows, so that only the order of the signal matters; unknown
        values count 1.
        """
        seen = self.values[rows]
        known = np.isfinite(seen)
        importance = np.ones(len(rows))
        if known.any():
            centred = (2.0 * distributions.ranks(seen[known]) - 1.0) / known.sum() - 1.0
            importance[known] += strength * (centred if self.favours == HIGH else -centred)
        return importance


def signals(
    ballots: Ballots, features: pd.DataFrame | None, seed: int
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    """Signals of the labelled items, both ways round, and numeric features that were left out.

    Agreement is |sum of votes| / votes on the item; ``votes`` how many there are, where that
    differs; ``random`` is a placebo. Swapping the responses of an item changes none of them.
    """
    cast = np.count_nonzero(ballots.votes, axis=1)
    sums = np.abs(ballots.votes.sum(axis=1, dtype=np.int64))
    agreement = np.where(cast > 0, sums / np.maximum(cast, 1), np.nan)
    raw = [(AGREEMENT, agreement, False), (COVERAGE, cast.astype(np.float64), False)]
    numeric: list[str] = []
    if features is not None:
        numeric = [str(name) for name in features.select_dtypes("number").columns]
        raw += [
            (name, features[name].to_numpy(dtype=np.float64, na_value=np.nan), True)
            for name in numeric[:MOST_FEATURES]
        ]
    result = [
        Signal(name, favours, values, feature)
        for name, values, feature in raw
        if len(np.unique(values[np.isfinite(values)])) > 1
        for favours in (HIGH, LOW)
    ]
    placebo = Signal(RANDOM, HIGH, splits.stream(seed, *_STREAM).random(ballots.n_items))
    return (*result, placebo), tuple(numeric[MOST_FEATURES:])


MARGIN = 0.005
RELATIVE = 0.01
check_margin = valid("a margin must be above 0", lambda margin: 0.0 < margin < math.inf)


@frozen
class ReliabilityWeighting(SplitResult):
    """Result of :data:`RELIABILITY_WEIGHTING`.

    Arrays are (n_signals,): ``signals`` and ``favours`` (``high`` or ``low``) say which comparisons
    count for more, ``features`` which signals are item features. ``delta`` is NLL(weighted) -
    NLL(unweighted) in nats with a 95 % interval (``band`` for all signals together) and the
    two-sided ``p``; ``delta_90`` has the 90 % interval that two one-sided tests look at:
    ``p_absolute`` and ``absolute`` are for ``margin`` nats (the paper's
    .005), ``p_relative`` and ``relative`` for ``relative_margin`` nats, 1 % of the unweighted NLL.
    ``p_plain`` is the paired test over items with ``margin`` alone, which takes the fitted panels
    as given. ``base_nll`` is the unweighted NLL with a 95 % interval.
    """

    calibrator: str = column(key=True)
    strength: float = column("How strongly the signal weighs.", key=True)
    signals: tuple[str, ...] = column(
        "What says how much a comparison counts.", name="signal", key=True
    )
    favours: tuple[str, ...] = column(
        "Whether high or low values of the signal count for more.", key=True
    )
    features: tuple[bool, ...] = column(
        "Whether the signal is an item feature.", name="feature", key=True
    )
    nll: Floats = column("NLL with weights, in nats.")
    delta: Interval = column("NLL with weights less that without, in nats.", bounds=("lo", "hi"))
    band: Interval = column(
        ends=" for all signals together", name="delta", bounds=("band_lo", "band_hi")
    )
    p: Floats = column()
    delta_90: Interval = column(name="delta", bounds=("lo_90", "hi_90"), level=90)
    margin: float = column()
    p_absolute: Floats = column(
        "p-value of two one-sided tests that delta is within the margin.", name="tost_p"
    )
    absolute: tuple[str, ...] = column("What those tests say.", name="tost")
    relative_margin: float = column("1 % of the unweighted NLL, in nats.")
    p_relative: Floats = column("The same p-value for the relative margin.", name="relative_tost_p")
    relative: tuple[str, ...] = column(
        "What the tests say for the relative margin.", name="relative_tost"
    )
    p_plain: Floats = column(
        "The same p-value by a paired test that takes the panels as given.", name="plain_tost_p"
    )
    base_nll: Interval
    null_nll: float = column()
    n_judges: int

    @derived("NLL without weights, in nats.")
    def unweighted_nll(self) -> Any:
        """The unweighted NLL."""
        return self.base_nll.value

    def decisions(self) -> dict[str, Any]:
        """Which effects are shown to be nil."""
        return {
            "equivalent": self.absolute.count("equivalent"),
            "equivalent_to_1_percent": self.relative.count("equivalent"),
            "signals": len(self.signals),
            "unweighted_nll": float(self.base_nll.value),
        }


@dataclass(frozen=True, slots=True)
class ReliabilityWeightingSpec(StudySpec):
    """How far weights go, and what counts as no effect.

    A comparison counts from 1 - ``strength`` to 1 + ``strength`` times. ``margin`` is in nats,
    ``relative`` a share of the unweighted NLL.

    Raises
    ------
    InputError
        A calibrator that is not known; a strength outside (0, 1], a margin that is not above 0.
    """

    calibrator: calibration.Calibrator = option("beta")
    strength: float = option(
        1.0,
        "how much more the most reliable comparisons count",
        check=valid(
            "the strength of weights is out of range",
            lambda strength: 0.0 < strength <= 1.0,
            "above 0 and at most 1",
        ),
    )
    margin: float = option(MARGIN, "NLL below which an effect counts as none", check=check_margin)
    relative: float = option(RELATIVE, "the same, as a share of the NLL", check=check_margin)


def run_chunk(votes: VoteMatrix, spec: ReliabilityWeightingSpec, chunk: Chunk) -> Tally:
    """The unweighted panel and one per signal, on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    result, _ = _signals(prepared, spec)

    def arms(split: splits.Split) -> Arms:
        rows = split.calibration
        weighted = [signal.importance(rows, spec.strength) for signal in result]
        return Arms.of([_panel(ballots, split, spec, weights) for weights in (None, *weighted)])

    return tally_of(prepared, spec.settings, chunk, arms)


def _signals(
    prepared: Prepared, spec: ReliabilityWeightingSpec
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    return signals(prepared.ballots, prepared.oriented.votes.features, spec.settings.seed)


def _panel(
    ballots: Ballots, split: splits.Split, spec: ReliabilityWeightingSpec, importance: Floats | None
) -> evaluation.SplitScores:
    """All judges, weighed and calibrated with this importance of the calibration rows."""
    in_sample = spec.settings.protocol == "paper"
    weights = np.ones(len(split.calibration)) if importance is None else importance
    own_label: prefixes.OwnLabel = "seen" if in_sample else "removed"
    scores = prefixes.weighted_one_coin(ballots, split, weights, own_label=own_label)
    fitted = evaluation.calibrate(
        ballots, split, scores, (spec.calibrator,), in_sample=in_sample, importance=importance
    )
    return evaluation.evaluate(ballots, split, fitted)


def merge(
    votes: VoteMatrix, spec: ReliabilityWeightingSpec, partial: Tally
) -> ReliabilityWeighting:
    """Effects and what the tests say of them from whatever splits are in."""
    prepared = prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial
    result, left_out = _signals(prepared, spec)
    estimated, identity = Estimator.of(totals, ballots.units), np.eye(len(result) + 1)
    level = contrasts(totals, estimated, identity)
    effect = contrasts(totals, estimated, identity[1:] - identity[:1])
    base = float(level.value[0])
    notes = replaced_fits((spec.calibrator,), totals)
    if left_out:
        first = f"The first {MOST_FEATURES} numeric item features are signals"
        notes.insert(0, f"{first}; left out: {listed(left_out, 3)}.")
    absolute = descriptive.equivalence(effect, spec.margin)
    relative = descriptive.equivalence(effect, spec.relative * base)
    return ReliabilityWeighting.from_splits(
        prepared,
        spec,
        totals,
        relative_margin=spec.relative * base,
        signals=tuple(signal.name for signal in result),
        favours=tuple(signal.favours for signal in result),
        features=tuple(signal.feature for signal in result),
        nll=level.value[1:],
        delta=Interval.of(effect),
        band=band(effect, spec.settings.seed),
        p=effect.p,
        delta_90=replace(Interval.of(effect), lo=absolute.lo, hi=absolute.hi, level=0.9),
        p_absolute=absolute.p,
        absolute=absolute.outcomes,
        p_relative=relative.p,
        relative=relative.outcomes,
        p_plain=plain_tost((identity[1:] - identity[:1]) @ totals.nll()[0], spec.margin),
        base_nll=Interval.of(level).clip(*RANGES["nll"])[0],
        warnings=run_warnings(prepared, totals, *notes),
    )


def plain_tost(differences: Floats, margin: float) -> Floats:
    """P-values (n,) of paired equivalence tests of ``differences`` (n, n_items).

    They take the mean differences over items as all there is, and so the panels as given.
    """
    n = differences.shape[1]
    value = differences.mean(axis=1)
    se = differences.std(axis=1, ddof=1) / math.sqrt(n)
    blank, df = np.zeros(len(value)), np.full(len(value), n - 1.0)
    fitted = inference.Estimate(value, se, df, blank, blank, blank, np.zeros((0, 0)))
    return descriptive.equivalence(fitted, margin).p


RELIABILITY_WEIGHTING: Study[ReliabilityWeightingSpec, Tally, ReliabilityWeighting] = Study(
    name="reliability_weighting",
    title="Reliability weighting",
    question="Should some comparisons count for more than others?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(
        merge,
        lambda result: [
            *inside(result.delta_90, result.margin),
            *inside(result.delta_90, result.relative_margin),
            (result.band, 0.0),
        ],
    ),
)
