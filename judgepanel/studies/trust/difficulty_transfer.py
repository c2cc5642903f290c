"""Difficulty transfer: panels fitted on easy or on hard items only, scored on both.

In every split the calibration side has easy and hard items; each source, and a mixture of all
items, provides the same number of labels, so panels differ in the kind of their labels and not in
the number. Evaluation items are those of the other side, so within-stratum cells (easy on easy) are
held out like all others.

Result of :data:`DIFFICULTY_TRANSFER`: estimates from every source to every target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import aggregation, calibration, evaluation
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.inference import estimate, holm
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split, nested_rows
from judgepanel.studies import codec, common, results
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, RANGES, Arms, Tally, only, tally
from judgepanel.studies.contract import Chunk, Deciding, Prepared, Study, at_level, prepare, steady
from judgepanel.studies.options import option, valid
from judgepanel.studies.panel.recommended import AVERAGE, AverageSpec, as_scores, average_on
from judgepanel.studies.slices import FEWEST_OF_A_CLASS, EasyAndHard, difficulty_strata
from judgepanel.votes import InputError, VoteMatrix

Source = Literal["easy", "hard", "all"]
Target = Literal["easy", "hard"]
SOURCES: tuple[Source, ...] = ("easy", "hard", "all")
TARGETS: tuple[Target, ...] = ("easy", "hard")
ABROAD: tuple[tuple[int, int], ...] = ((0, 1), (1, 0))
"""Cells with transfer: easy to hard, hard to easy."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One cell in words and numbers; see :class:`DifficultyTransfer`."""

    calibrator: str
    method: str
    source: str
    target: str
    nll: Interval
    accuracy: Interval
    null_nll: float
    constant_nll: float
    delta: Interval
    p_holm: float
    gain: Interval
    effective: float


@results.frozen
class DifficultyTransfer(results.RunResult):
    """Result of :data:`DIFFICULTY_TRANSFER`.

    Cells are (n_calibrators, n_methods, n_sources, n_targets) in the order of ``calibrators``,
    ``methods``, ``SOURCES`` and ``TARGETS``. ``nll`` is in nats per item, ``accuracy`` in [0, 1],
    with 95 % intervals for new items of the target and panels fitted on ``n_labels`` labels of the
    source. ``null_nll`` (n_sources, n_targets) is the NLL of the source's base rate on the target;
    ``constant_nll`` (n_calibrators, n_sources, n_targets) that of a constant score through the
    plain calibrator.

    ``delta`` is NLL(source to target) - NLL(target to itself) under the same method, above 0 if the
    source is the worse training set; 0 within a stratum. ``p_holm`` is its p-value adjusted over
    both transfers (easy to hard, hard to easy) and NaN elsewhere. ``gain`` is NLL(method) -
    NLL(plain) in the same cell, below 0 if the method helps. ``effective`` (n_sources, n_targets)
    is the effective number of labels under importance weights as a share of ``n_labels``,
    ``clipped`` the share of clipped weights.

    While no split has easy and hard items on both sides, all of these are NaN.

    Items up to ``easy_to`` are easy and those from ``hard_from`` on are hard, in units of ``by``;
    ``n_target`` (n_targets,) counts them.
    """

    calibrators: tuple[str, ...] = results.column(name="calibrator", axis=-4, key=True)
    methods: tuple[str, ...] = results.column(
        "How the calibrator is transferred to the other kind of items.",
        name="method",
        axis=-3,
        key=True,
    )
    aggregator: str = results.column(key=True)
    by: str
    share: float
    easy_to: float
    hard_from: float
    n_target: Ints
    n_labels: float = results.column(name="labels")
    nll: Interval = results.column()
    accuracy: Interval = results.column()
    null_nll: Floats = results.column("NLL of the base rate of the source's labels on the target.")
    constant_nll: Floats = results.column(expand=1)
    delta: Interval = results.column(
        "NLL from source to target minus that with the target's own labels, in nats."
    )
    p: Floats = results.column()
    p_holm: Floats = results.column()
    gain: Interval = results.column(
        "NLL of the method minus that of plain fitting, in nats; below 0 it helps."
    )
    effective: Floats
    clipped: Floats
    n_judges: int

    source = results.constant(
        SOURCES, "Items whose labels the panel is fitted on.", axis=-2, key=True
    )
    target = results.constant(TARGETS, "Items on which it is scored.", key=True)
    skill = results.NllResult.skill

    @results.derived(
        "Effective number of labels under importance weights, as a share.", name="effective"
    )
    def remaining(self) -> Any:
        """Share of the labels that importance weights leave, by method; 1 without weights."""
        return np.where(np.array(self.methods)[:, None, None] == "weighted", self.effective, 1.0)

    def cell(self, calibrator: str, method: str, source: str, target: str) -> Cell:
        """Return one cell by name."""
        c, m = self.calibrators.index(calibrator), self.methods.index(method)
        s, t = SOURCES.index(source), TARGETS.index(target)
        names = ("nll", "accuracy", "delta", "p_holm", "gain")
        return Cell(
            *(calibrator, method, source, target),
            null_nll=float(self.null_nll[s, t]),
            constant_nll=float(self.constant_nll[c, s, t]),
            effective=float(self.remaining[m, s, t]),
            **{name: getattr(self, name)[c, m, s, t] for name in names},
        )

    def decisions(self) -> dict[str, Any]:
        """Return both transfers under every calibrator and method."""
        cells = self.frame().drop(columns=["aggregator", "labels", "skill", "n_splits", "seed"])
        abroad = cells[(cells["source"] != "all") & (cells["source"] != cells["target"])]
        return {
            "abroad": codec.to_plain(abroad.to_dict(orient="records")),
            "n_easy": int(self.n_target[0]),
            "n_hard": int(self.n_target[1]),
            "null_nll": self.null_nll.tolist(),
        }


def transfer_estimates(
    tallies: tuple[Tally, ...], units: Ints, strata: EasyAndHard
) -> dict[str, Any]:
    """Return the score-based fields of :class:`DifficultyTransfer`; NaN ends from a single split.

    Labels are sampled from the source's items and scores from the target's: the variance of the
    former depends on how many other labels the source has (docs/inference.md).
    """
    n_c = tallies[0].item_sums.shape[1]
    # TARGETS are the first of SOURCES.
    readers = [
        [_Reader(scores, units, strata, c, home) for home, scores in enumerate(tallies)]
        for c in range(n_c)
    ]
    losses = [[reader.loss() for reader in row] for row in readers]
    p = np.stack([np.stack([values for _, values in row], axis=-1) for row in losses])
    nll = _matrix([[reader.level("nll") for reader in row] for row in readers])
    accuracy = _matrix([[reader.level("accuracy", "share") for reader in row] for row in readers])
    # Holm over both transfers, for every calibrator and method; NaN in the other cells.
    abroad = np.full(p.shape, np.nan)
    for c, m in np.ndindex(p.shape[:2]):
        for (s, t), value in zip(ABROAD, holm([p[c, m, s, t] for s, t in ABROAD]), strict=True):
            abroad[c, m, s, t] = value
    return {
        "nll": nll.clip(*RANGES["nll"]),
        "accuracy": accuracy.clip(*RANGES["accuracy"]),
        "delta": _matrix([[delta for delta, _ in row] for row in losses]),
        "p": p,
        "p_holm": abroad,
        "gain": _matrix([[reader.gain() for reader in row] for row in readers]),
        "null_nll": np.stack([scores.null_nll.mean(axis=0) for scores in tallies], axis=-1),
        "constant_nll": np.stack([scores.constant_nll.mean(axis=0) for scores in tallies], axis=-1),
    }


def no_estimates(n_calibrators: int, n_methods: int) -> dict[str, Any]:
    """Return the score-based fields of :class:`DifficultyTransfer` while no split has scores."""
    matrix = (len(SOURCES), len(TARGETS))
    cells = (n_calibrators, n_methods, *matrix)
    return {
        "n_labels": np.nan,
        **{name: Interval.full(cells, np.nan) for name in ("nll", "delta", "gain")},
        "accuracy": Interval.full(cells, np.nan, "share"),
        **{name: np.full(cells, np.nan) for name in ("p", "p_holm")},
        "constant_nll": np.full((n_calibrators, *matrix), np.nan),
        **{name: np.full(matrix, np.nan) for name in ("null_nll", "effective", "clipped")},
    }


def _matrix(rows: list[list[Interval]]) -> Interval:
    """Return one array: calibrators first, targets last, (methods, sources) in between."""
    return Interval.stacked([Interval.stacked(row, axis=-1) for row in rows])


class _Reader:
    """Reads the arms of one target and calibrator as (methods, sources, ...)."""

    def __init__(self, scores: Tally, units: Ints, strata: EasyAndHard, c: int, home: int) -> None:
        item_means, seen = scores.item_means()
        self.items = item_means[:, c, :-1]
        self.splits = scores.split_means[:, :, c, :-1]
        self.units = units[seen]
        self.home = home
        self.n_labels = float(scores.n_calibration.mean())
        self.n_scored = float(scores.n_evaluation.mean())
        pools = np.array([len(strata.easy), len(strata.hard), len(units)], dtype=np.float64)
        self.others = np.maximum(pools - self.n_labels, 1.0)

    def level(self, metric: str, unit: Unit = "nats") -> Interval:
        """Return the scores of every cell."""
        return self._estimated(*self._arms(metric), self.others, unit)[0]

    def loss(self) -> tuple[Interval, Floats]:
        """Return NLL minus that of the target's own source under the same method, and p-values."""
        items, splits = (arms - arms[:, [self.home]] for arms in self._arms("nll"))
        loss, p = self._estimated(items, splits, np.minimum(self.others, self.others[self.home]))
        p[:, self.home] = np.nan  # no test within a stratum
        return loss, p

    def gain(self) -> Interval:
        """Return NLL minus that of the first method from the same source."""
        items, splits = (arms - arms[[0]] for arms in self._arms("nll"))
        return self._estimated(items, splits, self.others)[0]

    def _arms(self, metric: str) -> tuple[Floats, Floats]:
        """Return item means (methods, sources, n) and split means (methods, sources, S)."""
        both = self.items[ITEM_METRICS.index(metric)], self.splits[:, METRICS.index(metric)].T
        items, splits = (
            values.reshape(len(SOURCES), -1, values.shape[-1]).swapaxes(0, 1) for values in both
        )
        return items, splits

    def _estimated(
        self, items: Floats, splits: Floats, others: Floats, unit: Unit = "nats"
    ) -> tuple[Interval, Floats]:
        """Return intervals and p-values, (methods, sources) each."""
        shape = items.shape[:2]
        items, splits = items.reshape(-1, items.shape[-1]), splits.reshape(-1, splits.shape[-1]).T
        n_others, sizes = np.broadcast_to(others, shape).ravel(), (self.n_labels, self.n_scored)
        fitted = estimate(items, splits, self.units, *sizes, n_others=n_others, joint=False)
        return Interval.of(fitted, unit).reshape(*shape), fitted.p.reshape(shape)


FEWEST = 20
NO_SPLIT = (
    "Nothing is scored, because every split has the easy or the hard items all on one side: that "
    "takes more labelled items, or smaller groups."
)
_KEY = 31


@dataclass(frozen=True, slots=True)
class DifficultyTransferSpec(AverageSpec):
    """Options of the transfer between easy and hard items.

    A ``share`` of the items is easy and an equal share is hard, by the disagreement of the votes,
    or by the numeric item feature ``by``, where larger means harder. ``strata`` and ``most`` are
    options of the calibration methods, see
    :class:`judgepanel.kernels.evaluation.TransferRecipe`.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; no calibrator or one given twice, a share outside (0, .5],
        fewer than 2 strata, a weight bound not above the mean.
    """

    calibrators: tuple[calibration.Calibrator, ...] = option(
        ("beta", "platt"), "calibrators to transfer (none for average)", once=True
    )
    share: float = option(
        1.0 / 3.0,
        "share of the items that are easy, and share that are hard",
        check=valid(
            "the share of easy and of hard items is out of range",
            lambda share: 0.0 < share <= 0.5,
            "above 0, at most .5",
        ),
    )
    by: str | None = option(
        None, "numeric item feature that measures difficulty (default: disagreement)"
    )
    strata: int = option(
        2,
        "number of strata of the stratified calibrators",
        check=valid("strata must be 2 or more", lambda n: n >= 2),
    )
    most: float = option(
        10.0,
        "largest importance weight, as a multiple of the mean",
        check=valid(
            "the largest importance weight must be above the mean",
            lambda most: 1.0 < most < np.inf,
            "a number above 1",
        ),
    )

    @property
    def methods(self) -> tuple[evaluation.Method, ...]:
        """Calibration methods; members of the average are calibrated by the plain one."""
        return evaluation.METHODS[:1] if self.aggregator == AVERAGE else evaluation.METHODS

    def recipe(self, aggregator: aggregation.Aggregator) -> evaluation.TransferRecipe:
        """Return the recipe for every source of every split."""
        return evaluation.TransferRecipe(
            aggregator,
            self.calibrators,
            strata=self.strata,
            most=self.most,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )


@results.frozen
class TransferTally:
    """One tally per target (none before the first usable split); arms are sources by methods.

    ``effective`` and ``clipped`` (S, n_sources, n_targets) describe the importance weights of the
    splits ``numbers`` (S,); ``skipped`` counts splits that left a stratum without items. ``kept``
    of ``strata`` strata of stratified calibrators use the plain fit, and ``fits`` is the number of
    fits per calibrator name.
    """

    tallies: tuple[Tally, ...]
    numbers: Ints = results.by_split()
    effective: Floats = results.by_split()
    clipped: Floats = results.by_split()
    skipped: int = results.summed()
    fits: int = results.summed()
    kept: int = results.summed()
    strata: int = results.summed()


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """One split: its source rows, target rows, and scores by source and target."""

    split: Split
    labels: Ints
    targets: tuple[Ints, ...]
    scores: list[list[evaluation.TargetScores]]


def run_chunk(votes: VoteMatrix, spec: DifficultyTransferSpec, chunk: Chunk) -> TransferTally:
    """Fit every source and score every target on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    strata = _strata(prepared, spec)
    splits = common.splits_of(prepared, spec.settings, chunk)
    results_by_split = [_round(prepared, spec, strata, split) for split in splits]
    rounds = [result for result in results_by_split if result is not None]
    tallies = [
        tally(_of_target(rounds, t), n_items=prepared.ballots.n_items, seed=spec.settings.seed)
        for t in range(len(TARGETS) if rounds else 0)
    ]

    def gathered(name: str) -> Floats:
        rows = [[[getattr(cell, name) for cell in row] for row in part.scores] for part in rounds]
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


def source_rows(split: Split, strata: EasyAndHard, units: Ints, seed: int) -> list[Ints] | None:
    """Return calibration rows of every source, equally many; None if a stratum has none."""
    pools = [np.intersect1d(split.calibration, rows) for rows in (strata.easy, strata.hard)]
    pools.append(split.calibration)
    n = min(len(pool) for pool in pools)
    if n == 0:
        return None
    return [
        nested_rows(units, pool, [n], seed=seed, key=(split.number, _KEY, s))[0]
        for s, pool in enumerate(pools)
    ]


def _round(
    prepared: Prepared, spec: DifficultyTransferSpec, strata: EasyAndHard, split: Split
) -> _Round | None:
    ballots = prepared.ballots
    sources = source_rows(split, strata, ballots.units, spec.settings.seed)
    targets = tuple(np.intersect1d(split.evaluation, rows) for rows in (strata.easy, strata.hard))
    if sources is None or any(len(rows) == 0 for rows in targets):
        return None
    both = np.concatenate(targets)
    pieces = [Split(split.number, rows, both) for rows in sources]
    scores = [_from_source(ballots, piece, targets, spec, s) for s, piece in enumerate(pieces)]
    return _Round(split, sources[0], targets, scores)


def _from_source(
    ballots: Ballots, source: Split, targets: tuple[Ints, ...], spec: DifficultyTransferSpec, s: int
) -> list[evaluation.TargetScores]:
    if spec.aggregator == AVERAGE:
        return _averaged(ballots, source, targets, spec.settings.seed)
    key = (source.number, _KEY, s, 1)
    return evaluation.transferred(ballots, source, targets, spec.recipe(spec.aggregator), key)


def _averaged(
    ballots: Ballots, source: Split, targets: tuple[Ints, ...], seed: int
) -> list[evaluation.TargetScores]:
    """Scores of the average, recommended on the source rows; they have no other method."""
    average = average_on(ballots, source, seed)
    ends = np.cumsum([len(rows) for rows in targets])[:-1]
    result = []
    for rows, logits in zip(targets, np.split(average.logits, ends), strict=True):
        part = Split(source.number, source.calibration, rows)
        scores = as_scores(ballots, part, replace(average, logits=logits))
        items = only(scores.evaluation)
        result.append(
            evaluation.TargetScores(
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

        def stacked(name: str, cells: list[evaluation.TargetScores] = cells) -> Floats:
            return np.concatenate([getattr(cell.scores, name) for cell in cells], axis=1)

        yield (
            Split(one_round.split.number, one_round.labels, one_round.targets[t]),
            Arms.gathered(
                stacked,
                null_nll=np.array([cell.null_nll for cell in cells]),
                constant_nll=np.stack([cell.constant_nll for cell in cells], axis=-1),
                replaced=np.stack([cell.replaced for cell in cells], axis=-1),
            ),
        )


def _strata(prepared: Prepared, spec: DifficultyTransferSpec) -> EasyAndHard:
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
    return DifficultyTransfer.from_run(
        prepared,
        spec,
        len(partial.numbers) + partial.skipped,
        strata,
        methods=spec.methods,
        n_target=np.array([len(strata.easy), len(strata.hard)]),
        **scores,
        warnings=_warnings(prepared, spec, partial),
    )


def _warnings(
    prepared: Prepared, spec: DifficultyTransferSpec, partial: TransferTally
) -> tuple[str, ...]:
    if not partial.tallies:
        return (*prepared.notices, NO_SPLIT)
    notes = [*common.run_warnings(prepared, partial.tallies[0])]
    if partial.skipped:
        notes.append(f"{partial.skipped} splits left the easy or the hard items all on one side.")
    replaced = np.sum([totals.replaced.sum(axis=-1) for totals in partial.tallies], axis=0)
    notes += common.stand_ins(spec.calibrators, replaced.tolist(), partial.fits)
    if partial.kept:
        notes.append(
            f"{partial.kept} of {partial.strata} strata of the stratified calibrators have fewer "
            f"than {evaluation.FEWEST_IN_STRATUM} labelled source items and keep the plain fit."
        )
    if prepared.ballots.symmetric and {"platt", "temperature"} <= set(spec.calibrators):
        notes.append("Platt scaling and temperature are the same where items are swapped.")
    return tuple(notes)


def _deciding(result: DifficultyTransfer) -> Deciding:
    """Effects of both transfers and of the methods; Holm tests the larger of two at 2.5 %."""
    for s, t in ABROAD:
        delta = result.delta[..., s, t]
        yield from ((delta, 0.0), (at_level(delta, 0.975), 0.0), (result.gain[..., s, t], 0.0))


DIFFICULTY_TRANSFER: Study[DifficultyTransferSpec, TransferTally, DifficultyTransfer] = Study(
    name="difficulty_transfer",
    title="Easy and hard items",
    question="Does a panel calibrated on easy items hold on hard ones?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=steady(merge, _deciding),
)
