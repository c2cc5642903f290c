"""Distortion: which calibrators repair which distortions of the raw score?

The raw logits of all judges are distorted on calibration and evaluation rows alike, then calibrated
as usual. Most distortions favour one of the two labels. If the order of a pair is arbitrary
(``symmetric``), each item is therefore used twice, as given and swapped, each with its own
distorted score, and counts as the mean of the two: a score that leans to one side gains nothing
from how the file was coded.

Cost per split: one aggregation, and the calibrators on ``DRAWS`` times eight columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import SplitScores, calibrate, evaluate
from judgepanel.kernels.maps import CHANGES, DISTORTIONS, UNDISTORTED, Noise
from judgepanel.kernels.prefixes import PrefixScores
from judgepanel.scoring import descriptive, inference, splits
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.studies import accumulate, common, contract, options
from judgepanel.studies.results import NllResult, column, frozen
from judgepanel.votes import InputError, VoteMatrix

ROWS = (UNDISTORTED, *DISTORTIONS)
SHOWN: tuple[Calibrator, ...] = ("none", "temperature", "platt", "beta", "beta_clipped", "isotonic")
DRAWS = 2
_STREAM = 22


@frozen
class Distortion(NllResult):
    """Result of :data:`DISTORTION`.

    Arrays are (n_distortions + 1, n_calibrators): rows follow ``distortions``, whose first is the
    undistorted score. ``nll`` (nats) and ``accuracy`` have 95 % intervals for new items. ``change``
    is NLL - NLL of the same calibrator on undistorted scores, with a 95 % interval; ``p`` is from
    two one-sided tests of |change| < ``margin``, 2 % of the latter NLL, and ``outcomes`` are
    ``repaired``, ``harmed``, ``better`` or ``undecided``.
    """

    aggregator: str = column(key=True)
    distortions: tuple[str, ...] = column(
        "How the score was distorted.", name="distortion", axis=-2, key=True
    )
    calibrators: tuple[str, ...] = column(name="calibrator", key=True)
    nll: Interval = column()
    accuracy: Interval = column()
    change: Interval = column(
        "NLL minus that of the same calibrator on undistorted scores, in nats."
    )
    p: Floats = column("p-value of two one-sided tests that the change is within the margin.")
    margin: Floats = column("2 % of the NLL on undistorted scores, in nats.")
    outcomes: tuple[tuple[str, ...], ...] = column(
        "Repaired, harmed, better or undecided.", name="outcome"
    )
    null_nll: float = column()
    constant_nll: Floats = column()
    n_judges: int

    def repaired_by(self, calibrator: str) -> tuple[str, ...]:
        """Return the distortions that a calibrator repairs."""
        c = self.calibrators.index(calibrator)
        rows = zip(self.distortions[1:], self.outcomes[1:], strict=True)
        return tuple(name for name, row in rows if row[c] == "repaired")

    def decisions(self) -> dict[str, Any]:
        """Return the distortions that each calibrator repairs."""
        return {"repaired": {name: list(self.repaired_by(name)) for name in self.calibrators}}


@dataclass(frozen=True, slots=True)
class DistortionSpec(options.StudySpec):
    """The distorted scores, and the amount of noise.

    Noise is normal on the scale of the raw probability, with standard deviations ``weak`` and
    ``strong``; binary noise inverts a share ``turned`` of the scores.

    Raises
    ------
    InputError
        An unknown aggregator or calibrator, or one given twice; noise that is not above 0; a share
        outside (0, 1).
    """

    aggregator: Aggregator = options.option("one_coin")
    calibrators: tuple[Calibrator, ...] = options.option(
        SHOWN, "calibrators that may repair the score", once=True
    )
    weak: float = options.option(0.1, "standard deviation of weak noise")
    strong: float = options.option(0.3, "standard deviation of strong noise")
    turned: float = options.option(
        0.2,
        "share of scores that binary noise inverts",
        check=options.check_share("the share of scores turned around is out of range"),
    )

    def __post_init__(self) -> None:
        options.StudySpec.__post_init__(self)
        if not 0.0 < self.weak <= self.strong <= 10.0:
            why = "the levels of noise must rise"
            allowed = "above 0 and at most 10, the weak one first"
            raise InputError(why, value=f"{self.weak:g}, {self.strong:g}", allowed=allowed)


def run_chunk(votes: VoteMatrix, spec: DistortionSpec, chunk: contract.Chunk) -> accumulate.Tally:
    """Evaluate every distortion on the splits of one chunk."""
    prepared = contract.prepare(votes, spec.settings)
    ballots = prepared.ballots
    recipe = common.recipe_of(spec.settings, spec.aggregator, spec.calibrators, "accuracy")

    def arms(split: splits.Split) -> accumulate.Arms:
        scores = recipe.scores(ballots, split, np.array([ballots.n_judges]), (split.number, 4))
        return _arms(_evaluated(ballots, split, scores, spec), ballots.symmetric)

    return common.tally_of(prepared, spec.settings, chunk, arms)


def _evaluated(
    ballots: Ballots, split: splits.Split, scores: PrefixScores, spec: DistortionSpec
) -> SplitScores:
    """Scores of every draw of every distortion, one column each; with swaps, twice the rows."""
    swapped = ballots.symmetric
    if swapped:
        ballots, split, scores = _with_swaps(ballots, split, scores)
    sides = [
        np.stack(
            [
                _distorted(raw[0], spec, name, (split.number, draw, number, side), swapped=swapped)
                for draw in range(DRAWS)
                for number, name in enumerate(ROWS)
            ]
        )
        for side, raw in enumerate((scores.calibration, scores.evaluation))
    ]
    n_columns = len(sides[0])
    wide = replace(
        scores,
        ks=np.full(n_columns, ballots.n_judges),
        calibration=sides[0],
        calibration_empty=np.repeat(scores.calibration_empty, n_columns, axis=0),
        evaluation=sides[1],
        evaluation_empty=np.repeat(scores.evaluation_empty, n_columns, axis=0),
    )
    in_sample = spec.settings.protocol == "paper"
    fitted = calibrate(ballots, split, wide, spec.calibrators, in_sample=in_sample)
    return evaluate(ballots, split, fitted)


def _with_swaps(
    ballots: Ballots, split: splits.Split, scores: PrefixScores
) -> tuple[Ballots, splits.Split, PrefixScores]:
    """Return all items followed by all items with their responses swapped."""

    def twice(rows: Ints) -> Ints:
        return np.concatenate([rows, rows + ballots.n_items])

    return (
        replace(
            ballots,
            votes=np.concatenate([ballots.votes, -ballots.votes]),
            signs=np.concatenate([ballots.signs, -ballots.signs]),
            units=np.tile(ballots.units, 2),
            symmetric=False,
            margins=None,
        ),
        splits.Split(split.number, twice(split.calibration), twice(split.evaluation)),
        replace(
            scores,
            calibration=np.concatenate([scores.calibration, -scores.calibration], axis=1),
            calibration_empty=np.tile(scores.calibration_empty, 2),
            evaluation=np.concatenate([scores.evaluation, -scores.evaluation], axis=1),
            evaluation_empty=np.tile(scores.evaluation_empty, 2),
            fold=None if scores.fold is None else np.tile(scores.fold, 2),
        ),
    )


def _distorted(
    raw: Floats, spec: DistortionSpec, name: str, key: tuple[int, ...], *, swapped: bool
) -> Floats:
    """One column (n,); split, draw, distortion and side have separate random streams."""
    if name == UNDISTORTED:
        return raw
    number, *rest = key
    rng = splits.stream(spec.settings.seed, number, _STREAM, *rest)
    if swapped:
        # A shuffled score comes from an item or its swap; otherwise it would carry the file's
        # coding, in which every label may be 1.
        n = len(raw) // 2
        order, other = rng.permutation(n), n * (rng.random(n) < 0.5)
        donors = np.concatenate([order + other, order + n - other])
    else:
        donors = rng.permutation(len(raw))
    return CHANGES[name](raw, Noise(spec.weak, spec.strong, spec.turned, donors), rng)


def _arms(scores: SplitScores, symmetric: bool) -> accumulate.Arms:
    """Return arms (draws by distortions) for every calibrator; an item and its swap are one."""

    def items(name: str) -> Floats:
        held = scores.evaluation.values()
        values = np.stack([getattr(item_scores, name) for item_scores in held])
        if name == "ece" or not symmetric:
            return values
        n = values.shape[-1] // 2
        return np.asarray((values[..., :n] + values[..., n:]) / 2.0)

    return accumulate.Arms.gathered(
        items,
        null_nll=scores.null_nll,
        constant_nll=np.array(list(scores.constant_nll.values())),
        replaced=np.array(list(scores.replaced.values())),
    )


def merge(votes: VoteMatrix, spec: DistortionSpec, partial: accumulate.Tally) -> Distortion:
    """Return levels, changes and outcomes from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial
    estimated, identity = accumulate.Estimator.of(totals, ballots.units), np.eye(len(ROWS))

    def estimates(weights: Floats, metric: str = "nll") -> list[inference.Estimate]:
        return [
            accumulate.contrasts(totals, estimated, weights, metric=metric, pipeline=c, draws=DRAWS)
            for c in range(len(spec.calibrators))
        ]

    def levels(metric: str, unit: Unit) -> Interval:
        return _side_by_side(estimates(identity, metric), unit).clip(*accumulate.RANGES[metric])

    nll = levels("nll", "nats")
    margin = inference.MARGIN * nll.value[0]
    changes = estimates(identity - identity[:1])
    p, outcomes = zip(*map(_tested, changes, margin.tolist()), strict=True)
    return Distortion.from_splits(
        prepared,
        spec,
        totals,
        distortions=ROWS,
        nll=nll,
        accuracy=levels("accuracy", "share"),
        change=_side_by_side(changes),
        p=np.stack(p, axis=1),
        margin=margin,
        outcomes=tuple(zip(*outcomes, strict=True)),
        warnings=common.run_warnings(
            prepared, totals, *common.replaced_fits(spec.calibrators, totals)
        ),
    )


def _side_by_side(estimates: list[inference.Estimate], unit: Unit = "nats") -> Interval:
    """One column per calibrator."""
    return Interval.stacked((Interval.of(entry, unit) for entry in estimates), axis=1)


def _tested(change: inference.Estimate, margin: float) -> tuple[Floats, tuple[str, ...]]:
    """Return p-values (n,) of the equivalence tests and outcomes; the first row is reference."""
    tested = descriptive.equivalence(change, margin)
    words = {"equivalent": "repaired", "inconclusive": "undecided"}
    pairs = zip(tested.outcomes, change.value, strict=True)
    sentences = [words.get(result, "harmed" if value > 0 else "better") for result, value in pairs]
    return tested.p, ("reference", *sentences[1:])


DISTORTION: contract.Study[DistortionSpec, accumulate.Tally, Distortion] = contract.Study(
    name="distortion",
    title="Distorted scores",
    question="Which calibrators repair which distortions of the raw score?",
    run_chunk=run_chunk,
    merge=merge,
    settled=contract.steady(merge, lambda result: contract.inside(result.change, result.margin)),
)
