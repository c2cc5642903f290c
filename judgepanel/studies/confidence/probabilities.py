"""Out-of-sample probabilities of one panel, before and after calibration.

The panel is some of the judges under one pipeline, or the recommended average, whose members have
their own calibrators: before and after are then the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.kernels.recent import SHARED
from judgepanel.scoring.metrics import CLIP, item_scores
from judgepanel.scoring.splits import Split
from judgepanel.studies.common import check_known, check_panels, splits_of
from judgepanel.studies.confidence.repeats import Repeats, repeats
from judgepanel.studies.contest.recommended import (
    AVERAGE,
    Averaged,
    PanelAggregator,
    check_panel_aggregators,
    recommended,
    remembered,
)
from judgepanel.studies.contract import Chunk
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.partials import by_row, by_split, frozen
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

STAGES = ("raw", "calibrated")
"""Before and after the calibrator; the first axis of arrays here."""
RAW, CALIBRATED = range(len(STAGES))


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One panel and its pipeline, shared by the studies of confidence.

    ``panel`` is the number of judges, the best by ``ranking``; None uses all. Under ``average``,
    ``calibrator`` is always none.

    Raises
    ------
    InputError
        An unknown aggregator, calibrator or ranking, or a panel below 1; a panel size with the
        average, or the average under the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: PanelAggregator = field(
        default="one_coin",
        metadata={"help": "how votes become a raw score; average: the recommended panel"},
    )
    calibrator: Calibrator = field(
        default="beta",
        metadata={"help": "how the raw score becomes a probability (none for average)"},
    )
    panel: int | None = field(
        default=None, metadata={"help": "number of judges in the panel, best first (default: all)"}
    )
    ranking: Ranking = field(default="accuracy", metadata={"help": "how judges are ranked"})

    def __post_init__(self) -> None:
        check_panel_aggregators((self.aggregator,), self.settings)
        check_known("calibrator", CALIBRATORS, (self.calibrator,))
        check_known("ranking", RANKINGS, (self.ranking,))
        if self.panel is not None:
            check_panels((self.panel,))
        if self.aggregator == AVERAGE and self.panel is not None:
            raise InputError(
                "the average chooses its judges itself",
                value=self.panel,
                allowed="no panel",
                remedy="leave the panel out or take another aggregator",
            )
        if self.aggregator == AVERAGE:
            object.__setattr__(self, "calibrator", "none")

    @property
    def shared(self) -> PanelSpec:
        """The part of the spec that determines the probabilities, common to all studies."""
        return PanelSpec(self.settings, self.aggregator, self.calibrator, self.panel, self.ranking)

    def size(self, n_judges: int) -> int:
        """Return the number of judges in the panel."""
        return n_judges if self.panel is None else min(self.panel, n_judges)


@frozen
class OutOfSample:
    """Evaluations of S splits, E in total, grouped by split.

    ``numbers`` (S,) are the splits, ``n_calibration`` and ``n_evaluation`` (S,) their sizes;
    ``rows`` (E,) is the item of an evaluation, ``logits`` (2, E) its logit in the order of
    ``STAGES``. ``null`` (S,) is the logit of the base rate, ``constant_nll`` (S,) the NLL of a
    constant score through the same calibrator, ``replaced`` (S,) whether it fell back to
    temperature; for members of the average the recommendation reports this.
    """

    numbers: Ints = by_split()
    n_calibration: Ints = by_split()
    n_evaluation: Ints = by_split()
    rows: Ints = by_row()
    logits: Floats = by_row(1)
    null: Floats = by_split()
    constant_nll: Floats = by_split()
    replaced: Ints = by_split()

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return int(sum(getattr(self, array.name).nbytes for array in fields(self)))


def run_chunk(votes: VoteMatrix, spec: PanelSpec, chunk: Chunk) -> OutOfSample:
    """Evaluate the splits of one chunk, but for those that another study of the panel evaluated."""
    prepared = prepare(votes, spec.settings)
    splits = list(splits_of(prepared, spec.settings, chunk))
    return _together(splits, [_scored(votes, prepared, spec, split) for split in splits])


def _scored(votes: VoteMatrix, prepared: Prepared, spec: PanelSpec, split: Split) -> ScoredSplit:
    if spec.aggregator == AVERAGE:  # It is kept as such.
        return score_split(votes, prepared, spec, split)
    key = replace(spec.shared, settings=spec.settings.of_splits)
    scored: ScoredSplit | None = SHARED.find(split.number, key, votes.sha256)
    if scored is None:
        scored = score_split(votes, prepared, spec, split)
        SHARED.keep(split.number, key, scored, scored.logits.nbytes, votes.sha256)
    return scored


def known_splits(
    votes: VoteMatrix, settings: Settings, numbers: Iterable[int]
) -> OutOfSample | None:
    """Return the average in those of these splits that a recommendation cached; None if none."""
    averages = remembered(votes, settings, numbers)
    if not averages:
        return None
    prepared = prepare(votes, settings)
    splits = [
        split for number in averages for split in splits_of(prepared, settings, Chunk(0, number, 1))
    ]
    return _together(splits, [_of_average(averages[split.number]) for split in splits])


def _together(splits: list[Split], scored: list[ScoredSplit]) -> OutOfSample:
    return OutOfSample(
        numbers=np.array([split.number for split in splits]),
        n_calibration=np.array([len(split.calibration) for split in splits]),
        n_evaluation=np.array([len(split.evaluation) for split in splits]),
        rows=np.concatenate([split.evaluation for split in splits]),
        logits=np.concatenate([panel.logits for panel in scored], axis=1),
        null=np.array([panel.null for panel in scored]),
        constant_nll=np.array([panel.constant_nll for panel in scored]),
        replaced=np.array([panel.replaced for panel in scored]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSplit:
    """A panel on the held-out rows of a split: ``logits`` (2, n_eval) in the order of ``STAGES``.

    See :class:`OutOfSample` for the other fields.
    """

    logits: Floats
    null: float
    constant_nll: float
    replaced: int


def score_split(
    votes: VoteMatrix,
    prepared: Prepared,
    spec: PanelSpec,
    split: Split,
    average_on: Callable[[VoteMatrix, Settings, Split], Averaged] = recommended,
) -> ScoredSplit:
    """Fit the panel on the calibration rows of a split, and score the other rows.

    ``average_on`` fits the average; replace it if the split is not one of the analysis.
    """
    ballots, settings = prepared.ballots, spec.settings
    if spec.aggregator == AVERAGE:
        return _of_average(average_on(votes, settings, split))
    names: tuple[Calibrator, ...] = (
        ("none",) if spec.calibrator == "none" else ("none", spec.calibrator)
    )
    recipe = Recipe(
        spec.aggregator,
        names,
        spec.ranking,
        in_sample=settings.protocol == "paper",
        seed=settings.seed,
    )
    scores = evaluate_split(ballots, split, np.array([spec.size(ballots.n_judges)]), recipe)
    both = np.stack([scores.fitted.logits_of(names[i], slice(0, 1))[0] for i in (0, -1)])
    last = names[-1]
    return ScoredSplit(both, scores.fitted.null, scores.constant_nll[last], scores.replaced[last])


def _of_average(average: Averaged) -> ScoredSplit:
    both = np.stack([average.logits] * len(STAGES))
    return ScoredSplit(both, average.null, average.null_nll, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations(Repeats):
    """Repeats with the panel's predictions, (2, E) in the order of ``STAGES``.

    ``logits``, ``p`` (clipped probability of label 1), ``confidence`` max(p, 1 - p) and ``hit`` (1
    if the decision p >= .5 is right; a tie counts one half under ``symmetric``); ``null_nll`` (E,)
    is the NLL of the base rate.
    """

    logits: Floats
    p: Floats
    confidence: Floats
    hit: Floats
    null_nll: Floats


def evaluations(predictions: OutOfSample, prepared: Prepared) -> Evaluations:
    """Return the evaluations of these splits in a canonical order."""
    fields = repeats(
        prepared, predictions.rows, predictions.n_calibration, predictions.n_evaluation
    )
    ones = fields["signs"] > 0
    with np.errstate(over="ignore"):
        p = np.clip(1.0 / (1.0 + np.exp(-predictions.logits)), CLIP, 1.0 - CLIP)
    tie = 0.5 if prepared.ballots.symmetric else ones.astype(np.float64)
    return Evaluations(
        **fields,
        logits=predictions.logits,
        p=p,
        confidence=np.maximum(p, 1.0 - p),
        hit=np.where(p == 0.5, tie, (p > 0.5) == ones).astype(np.float64),
        null_nll=item_scores(
            np.repeat(predictions.null, predictions.n_evaluation), fields["signs"]
        ).nll,
    )


class Fitted(Protocol):
    """Data about the fits of the splits so far: label counts and fallbacks."""

    @property
    def n_calibration(self) -> Ints: ...

    @property
    def replaced(self) -> Ints: ...


def panel_notes(prepared: Prepared, spec: PanelSpec, fit: Fitted) -> list[str]:
    """Return the warnings common to all studies of one panel's probabilities."""
    warnings = [*prepared.notices]
    warnings += few_labels(prepared, float(fit.n_calibration.mean()))
    n_judges = prepared.ballots.n_judges
    if spec.panel is not None and spec.panel > n_judges:
        warnings.append(f"There are {n_judges} judges, so a panel of {spec.panel} is all of them.")
    silent = int((~prepared.ballots.votes.any(axis=1)).sum())
    if silent:
        warnings.append(
            f"{silent:,} labelled items have no vote: they get the base rate as their probability."
        )
    return warnings + stand_ins((spec.calibrator,), (int(fit.replaced.sum()),), len(fit.replaced))
