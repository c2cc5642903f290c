"""Difficulty transfer: panels fitted on easy or on hard items only, scored on both.

In every split the calibration side has easy and hard items; each source, and a mixture of all
items, provides the same number of labels, so panels differ in the kind of their labels and not in
the number. Evaluation items are those of the other side, so within-stratum cells (easy on easy) are
held out like all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.transfer import (
    FEWEST_IN_STRATUM,
    METHODS,
    Method,
    TargetScores,
    TransferRecipe,
    transferred,
)
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split, nested_rows
from judgepanel.studies.accumulate import Arms, Tally, only, tally
from judgepanel.studies.common import check_each_once, check_known, fields_of_run, splits_of
from judgepanel.studies.contest.recommended import (
    AVERAGE,
    PanelAggregator,
    as_scores,
    average_on,
    check_panel_aggregators,
)
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.looks import Deciding, at_level, steady
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.partials import by_split, frozen, summed
from judgepanel.studies.robustness.difficulty_transfer_result import (
    ABROAD,
    SOURCES,
    TARGETS,
    DifficultyTransfer,
    no_estimates,
    transfer_estimates,
)
from judgepanel.studies.robustness.slices import FEWEST_OF_A_CLASS, Strata, difficulty_strata
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

FEWEST = 20
NO_SPLIT = (
    "Nothing is scored, because every split has the easy or the hard items all on one side: that "
    "takes more labelled items, or smaller groups."
)
_KEY = 31


@dataclass(frozen=True, slots=True)
class DifficultyTransferSpec:
    """Options of the transfer between easy and hard items.

    A ``share`` of the items is easy and an equal share is hard, by the disagreement of the votes,
    or by the numeric item feature ``by``, where larger means harder. ``strata`` and ``most`` are
    options of the calibration methods, see
    :class:`judgepanel.kernels.evaluate.transfer.TransferRecipe`.

    Raises
    ------
    InputError
        An unknown name, no calibrator or one given twice, a share outside (0, .5], fewer than 2
        strata, a weight bound not above the mean; the average under the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: PanelAggregator = field(
        default="one_coin",
        metadata={"help": "how votes are summed; average: the recommended panel"},
    )
    calibrators: tuple[Calibrator, ...] = field(
        default=("beta", "platt"), metadata={"help": "calibrators to transfer (none for average)"}
    )
    share: float = field(
        default=1.0 / 3.0,
        metadata={"help": "share of the items that are easy, and share that are hard"},
    )
    by: str | None = field(
        default=None,
        metadata={"help": "numeric item feature that measures difficulty (default: disagreement)"},
    )
    strata: int = field(
        default=2, metadata={"help": "number of strata of the stratified calibrators"}
    )
    most: float = field(
        default=10.0, metadata={"help": "largest importance weight, as a multiple of the mean"}
    )

    def __post_init__(self) -> None:
        check_panel_aggregators((self.aggregator,), self.settings)
        check_known("calibrator", CALIBRATORS, self.calibrators)
        check_each_once("a transfer", "calibrator", CALIBRATORS, self.calibrators)
        if not 0.0 < self.share <= 0.5:
            raise InputError(
                "the share of easy and of hard items is out of range",
                value=self.share,
                allowed="above 0, at most .5",
            )
        if self.strata < 2:
            raise InputError("strata must be 2 or more", value=self.strata)
        if not 1.0 < self.most < np.inf:
            raise InputError(
                "the largest importance weight must be above the mean",
                value=self.most,
                allowed="a number above 1",
            )
        if self.aggregator == AVERAGE:
            object.__setattr__(self, "calibrators", ("none",))

    @property
    def methods(self) -> tuple[Method, ...]:
        """Calibration methods; members of the average are calibrated by the plain one."""
        return METHODS[:1] if self.aggregator == AVERAGE else METHODS

    def recipe(self, aggregator: Aggregator) -> TransferRecipe:
        """Return the recipe for every source of every split."""
        return TransferRecipe(
            aggregator,
            self.calibrators,
            self.strata,
            self.most,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )


@frozen
class TransferTally:
    """One tally per target (none before the first usable split); arms are sources by methods.

    ``effective`` and ``clipped`` (S, n_sources, n_targets) describe the importance weights of the
    splits ``numbers`` (S,); ``skipped`` counts splits that left a stratum without items. ``kept``
    of ``strata`` strata of stratified calibrators use the plain fit, and ``fits`` is the number of
    fits per calibrator name.
    """

    tallies: tuple[Tally, ...]
    numbers: Ints = by_split()
    effective: Floats = by_split()
    clipped: Floats = by_split()
    skipped: int = summed()
    fits: int = summed()
    kept: int = summed()
    strata: int = summed()


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """One split: its source rows, target rows, and scores by source and target."""

    split: Split
    labels: Ints
    targets: tuple[Ints, ...]
    scores: list[list[TargetScores]]


def run_chunk(votes: VoteMatrix, spec: DifficultyTransferSpec, chunk: Chunk) -> TransferTally:
    """Fit every source and score every target on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    strata = _strata(prepared, spec)
    rounds = [
        result
        for split in splits_of(prepared, spec.settings, chunk)
        if (result := _round(prepared, spec, strata, split)) is not None
    ]
    tallies = []
    if rounds:
        tallies = [
            tally(
                _of_target(rounds, t),
                n_items=prepared.ballots.n_items,
                seed=spec.settings.seed,
            )
            for t in range(len(TARGETS))
        ]

    def gathered(name: str) -> Floats:
        rows = [
            [[getattr(cell, name) for cell in row] for row in one_round.scores]
            for one_round in rounds
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, len(SOURCES), len(TARGETS))

    return TransferTally(
        tallies=tuple(tallies),
        numbers=np.array([one_round.split.number for one_round in rounds], dtype=np.int64),
        effective=gathered("effective"),
        clipped=gathered("clipped"),
        skipped=chunk.count - len(rounds),
        fits=int(gathered("fits").sum()),
        kept=int(gathered("kept").sum()),
        strata=int(gathered("strata").sum()),
    )


def source_rows(split: Split, strata: Strata, units: Ints, seed: int) -> list[Ints] | None:
    """Return calibration rows of every source, equally many; None if a stratum has none."""
    pools = [
        np.intersect1d(split.calibration, strata.easy),
        np.intersect1d(split.calibration, strata.hard),
        split.calibration,
    ]
    n = min(len(pool) for pool in pools)
    if n == 0:
        return None
    return [
        nested_rows(units, pool, [n], seed=seed, key=(split.number, _KEY, s))[0]
        for s, pool in enumerate(pools)
    ]


def _round(
    prepared: Prepared, spec: DifficultyTransferSpec, strata: Strata, split: Split
) -> _Round | None:
    ballots = prepared.ballots
    sources = source_rows(split, strata, ballots.units, spec.settings.seed)
    targets = tuple(np.intersect1d(split.evaluation, rows) for rows in (strata.easy, strata.hard))
    if sources is None or any(len(rows) == 0 for rows in targets):
        return None
    both = np.concatenate(targets)
    scores = [
        _from_source(ballots, Split(split.number, rows, both), targets, spec, s)
        for s, rows in enumerate(sources)
    ]
    return _Round(split, sources[0], targets, scores)


def _from_source(
    ballots: Ballots,
    source: Split,
    targets: tuple[Ints, ...],
    spec: DifficultyTransferSpec,
    s: int,
) -> list[TargetScores]:
    if spec.aggregator == AVERAGE:
        return _averaged(ballots, source, targets, spec.settings.seed)
    key = (source.number, _KEY, s, 1)
    return transferred(ballots, source, targets, spec.recipe(spec.aggregator), key)


def _averaged(
    ballots: Ballots, source: Split, targets: tuple[Ints, ...], seed: int
) -> list[TargetScores]:
    """Scores of the average, recommended on the source rows; they have no other method."""
    average = average_on(ballots, source, seed)
    ends = np.cumsum([len(rows) for rows in targets])[:-1]
    result = []
    for rows, logits in zip(targets, np.split(average.logits, ends), strict=True):
        part = Split(source.number, source.calibration, rows)
        scores = as_scores(ballots, part, replace(average, logits=logits))
        items = only(scores.evaluation)
        result.append(
            TargetScores(
                ItemScores(items.nll[None], items.brier[None], items.hit[None], items.ece[None]),
                null_nll=scores.null_nll,
                constant_nll=np.array([only(scores.constant_nll)]),
                effective=float(len(source.calibration)),
                clipped=0.0,
                replaced=np.zeros(1, dtype=np.int64),
                fits=1,
                kept=0,
                strata=0,
            )
        )
    return result


def _of_target(rounds: list[_Round], t: int) -> Iterator[tuple[Split, Arms]]:
    """Yield scores on one target: pipelines are calibrators, arms sources by methods (fastest)."""
    for one_round in rounds:
        cells = [row[t] for row in one_round.scores]

        def stacked(name: str, cells: list[TargetScores] = cells) -> Floats:
            return np.concatenate([getattr(cell.scores, name) for cell in cells], axis=1)

        ece = stacked("ece")
        yield (
            Split(one_round.split.number, one_round.labels, one_round.targets[t]),
            Arms(
                nll=stacked("nll"),
                brier=stacked("brier"),
                hit=stacked("hit"),
                ece=ece,
                chosen_on=np.zeros(ece.shape),
                null_nll=np.array([cell.null_nll for cell in cells]),
                constant_nll=np.stack([cell.constant_nll for cell in cells], axis=-1),
                replaced=np.stack([cell.replaced for cell in cells], axis=-1),
            ),
        )


def _strata(prepared: Prepared, spec: DifficultyTransferSpec) -> Strata:
    strata = difficulty_strata(prepared, spec.share, spec.by)
    ballots = prepared.ballots
    units = ballots.units
    for name, rows in (("easy", strata.easy), ("hard", strata.hard)):
        n = len(np.unique(units[rows]))
        if n < FEWEST:
            raise InputError(
                f"too few {name} items with labels (or groups of them) to learn from some and "
                "score others",
                value=n,
                allowed=f"{FEWEST} or more; that takes about {int(np.ceil(FEWEST / spec.share))} "
                "labelled items",
            )
        ones = int(np.count_nonzero(ballots.signs[rows] > 0))
        rarer = min(ones, len(rows) - ones)
        if not ballots.symmetric and rarer < FEWEST_OF_A_CLASS:
            raise InputError(
                f"too few {name} items of the rarer label: scores on items of nearly one label "
                "measure how they are coded",
                value=rarer,
                allowed=f"{FEWEST_OF_A_CLASS} or more of each label among the {name} items; more "
                "labelled items, a larger share, or items that are symmetric",
            )
    return strata


def merge(
    votes: VoteMatrix, spec: DifficultyTransferSpec, partial: TransferTally
) -> DifficultyTransfer:
    """Return the transfer matrix from the splits so far."""
    prepared = prepare(votes, spec.settings)
    strata = _strata(prepared, spec)
    tallies = partial.tallies
    scores = no_estimates(len(spec.calibrators), len(spec.methods))
    if tallies:
        n_labels = float(tallies[0].n_calibration.mean())
        scores = {
            "n_labels": n_labels,
            **transfer_estimates(tallies, prepared.ballots.units, strata),
            "effective": partial.effective.mean(axis=0) / n_labels,
            "clipped": partial.clipped.mean(axis=0),
        }
    return DifficultyTransfer(
        calibrators=spec.calibrators,
        methods=spec.methods,
        aggregator=spec.aggregator,
        by=strata.by,
        share=spec.share,
        easy_to=strata.easy_to,
        hard_from=strata.hard_from,
        n_target=np.array([len(strata.easy), len(strata.hard)]),
        **scores,
        n_judges=prepared.ballots.n_judges,
        **fields_of_run(prepared, spec.settings, len(partial.numbers) + partial.skipped),
        warnings=_warnings(prepared, spec, tallies, partial),
    )


def _warnings(
    prepared: Prepared,
    spec: DifficultyTransferSpec,
    tallies: tuple[Tally, ...],
    partial: TransferTally,
) -> tuple[str, ...]:
    if not tallies:
        return (*prepared.notices, NO_SPLIT)
    warnings = [
        *prepared.notices,
        *few_labels(prepared, float(tallies[0].n_calibration.mean())),
    ]
    if partial.skipped:
        warnings.append(
            f"{partial.skipped} splits left the easy or the hard items all on one side."
        )
    replaced = np.sum([totals.replaced.sum(axis=-1) for totals in tallies], axis=0)
    warnings += stand_ins(spec.calibrators, replaced.tolist(), partial.fits)
    if partial.kept:
        warnings.append(
            f"{partial.kept} of {partial.strata} strata of the stratified calibrators have fewer "
            f"than {FEWEST_IN_STRATUM} labelled source items and keep the plain fit."
        )
    if prepared.ballots.symmetric and {"platt", "temperature"} <= set(spec.calibrators):
        warnings.append("Platt scaling and temperature are the same where items are swapped.")
    return tuple(warnings)


def _deciding(result: DifficultyTransfer) -> Deciding:
    """Effects of both transfers and of the methods; Holm tests the larger of two at 2.5 %."""
    for s, t in ABROAD:
        delta = result.delta[..., s, t]
        yield from ((delta, 0.0), (at_level(delta, 0.975), 0.0), (result.gain[..., s, t], 0.0))


DIFFICULTY_TRANSFER: Study[DifficultyTransferSpec, TransferTally, DifficultyTransfer] = Study(
    name="difficulty_transfer",
    title="Easy and hard items",
    question="Does a panel calibrated on easy items hold on hard ones?",
    spec=DifficultyTransferSpec,
    result=DifficultyTransfer,
    partial=TransferTally,
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=steady(merge, _deciding),
)
