"""What a panel loses when its judges are absent: their votes missing, nothing refitted.

The judges of the panel are kept as they are, and their pipeline and the fallback are fitted
``FOLDS`` times, each time without one fold of the items: on most of the labels, since what a
panel loses depends on how many labels it was fitted to. The fold is then scored with all votes,
without each judge in turn, without each family and each cluster of judges that err together
(:mod:`decision.absence_arms`), and without random shares of the judges (``DRAWS`` draws a fold).
The judges themselves were chosen on all labels, so that the NLL here may flatter; what is used is
the difference to the same panel with nobody absent, item by item.

From which share of absent weight on the fallback scores is decided on the same rows
(:mod:`decision.absence_threshold`), and the figures are those of the rule that results: one half of
the items is scored under the threshold that the other half chose.

Cost: ``FOLDS`` fits of one panel, O(K^2) for the clusters, and about ``_CELLS`` rows a fold to
score for single judges, and as many for all other absences, whatever the number of judges: fewer
evaluation rows are used where there are many. At most ``MOST_GROUPS`` groups are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judgepanel.decision.absence_arms import JudgeGroup, Kind, groups_of, numbers_absent
from judgepanel.decision.absence_threshold import NEVER, Losses, Scored, threshold
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.models.fallback import Fallback, fit_fallback, in_order
from judgepanel.models.panel import PanelModel, fit_panel
from judgepanel.models.rules import JointSum
from judgepanel.scoring.inference import LEVEL, sampling_variance
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split, folds
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes import MISSING

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.int64]
Votes = NDArray[np.int8]

FOLDS = 5
DRAWS = 10
FIT_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
_FIT_ROWS = 2_000
_CELLS = 30_000
_STREAM = 61


@dataclass(frozen=True, slots=True)
class AbsenceFigures:
    """``n_absent`` judges (a ``share`` of the panel) absent: mean NLL, and how much it rose.

    ``delta`` = NLL - NLL with nobody absent, [``lo``, ``hi``] its 95 % interval on ever so many
    new items, under Student's law with ``df``. A file of m items adds ``item_sd``^2 / m to the
    variance (:func:`decision.absence_nearest.on_items`). ``main_nll`` is the NLL of the panel's own
    rule, had it no fallback.
    """

    n_absent: int
    share: float
    nll: float
    delta: float
    lo: float
    hi: float
    df: float
    item_sd: float
    main_nll: float


@dataclass(frozen=True, slots=True)
class GroupAbsence:
    """A family or a cluster absent: ``judges`` are positions in panel order."""

    kind: Kind
    name: str
    judges: tuple[int, ...]
    figures: AbsenceFigures


@dataclass(frozen=True, slots=True)
class Absence:
    """``single`` is each of the ``judges`` absent alone, in panel order; ``groups`` are families
    and clusters; ``several`` are numbers of them at random, ascending; ``nll`` is the mean NLL with
    nobody absent. ``fallback`` is None where nothing scores absences better than the panel itself.
    """

    judges: tuple[str, ...]
    nll: float
    single: tuple[AbsenceFigures, ...]
    groups: tuple[GroupAbsence, ...]
    several: tuple[AbsenceFigures, ...]
    fallback: Fallback | None
    n_calibration: float
    n_evaluation: float
    n_splits: int


@dataclass(frozen=True, slots=True, eq=False)
class _Arms:
    """Absences that are scored together, as positions in ``names`` order; the first is nobody.

    ``owner`` (n_arms,) says which figure an arm belongs to (0 is nobody's): draws share one.
    """

    absent: list[list[int]]
    owner: Index

    @property
    def n_figures(self) -> int:
        return int(self.owner[-1]) + 1


def measure_absence(
    prepared: Prepared, settings: Settings, model: PanelModel, families: Sequence[str] = ()
) -> Absence | None:
    """Measure the loss for a panel that is fitted on ``prepared``; None for a single judge.

    ``families`` name those of ``prepared.judges``, '' where none is known.
    """
    if len(model.judges) < 2:
        return None
    names = sorted(model.judges)
    groups = groups_of(prepared, names, families or [""] * len(prepared.judges))
    ballots = _of_judges(prepared, names)
    alone: list[Losses] = []
    together: list[Losses] = []
    everyone, n_folds = np.arange(ballots.n_items), min(FOLDS, settings.splits)
    for drawn in folds(ballots.units, everyone, n_folds, seed=settings.seed, key=(_STREAM,)):
        rng = _stream(settings.seed, drawn.number)
        fitted = _fitted(_of_rows(ballots, drawn.calibration), model, names, groups, rng)
        for arms, losses in (
            (_one_by_one(len(names)), alone),
            (_at_once(names, groups, rng), together),
        ):
            losses.append(_losses(ballots, drawn, fitted, names, arms, rng))
    return _figures(prepared, ballots, model, names, groups, (alone, together), settings.seed)


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, _STREAM)))


def _one_by_one(n_judges: int) -> _Arms:
    return _Arms([[], *([j] for j in range(n_judges))], np.arange(n_judges + 1))


def _at_once(names: Sequence[str], groups: Sequence[JudgeGroup], rng: np.random.Generator) -> _Arms:
    place = {name: j for j, name in enumerate(names)}
    absent = [[], *([place[name] for name in group.judges] for group in groups)]
    owner = list(range(len(absent)))
    for n_absent in numbers_absent(len(names)):
        absent += [rng.permutation(len(names))[:n_absent].tolist() for _ in range(DRAWS)]
        owner += [owner[-1] + 1] * DRAWS
    return _Arms(absent, np.array(owner))


def _fitted(
    ballots: Ballots,
    model: PanelModel,
    names: Sequence[str],
    groups: Sequence[JudgeGroup],
    rng: np.random.Generator,
) -> PanelModel:
    """The panel on some rows, with the fallback beside it, which scores nothing yet."""
    fitted = fit_panel(
        ballots,
        tuple(names),
        len(names),
        aggregator=model.aggregator,
        calibrator=model.calibrator,
    )
    fallback = _fallback(ballots, names, groups, rng)
    if fallback is None:
        return fitted
    places = np.array([names.index(name) for name in fitted.judges])
    return replace(fitted, fallback=in_order(fallback, places, NEVER))


def _fallback(
    ballots: Ballots,
    names: Sequence[str],
    groups: Sequence[JudgeGroup],
    rng: np.random.Generator,
) -> Fallback | None:
    """Fitted to rows with nobody, each group and random shares of the judges absent."""
    place = {name: j for j, name in enumerate(names)}
    absent = [[], *([place[name] for name in group.judges] for group in groups)]
    absent += [rng.permutation(len(names))[: round(q * len(names))].tolist() for q in FIT_SHARES]
    masks = np.zeros((len(absent), len(names)), dtype=bool)
    for mask, positions in zip(masks, absent, strict=True):
        mask[positions] = True
    return fit_fallback(ballots, masks, _some(np.arange(ballots.n_items), _FIT_ROWS, rng))


def _some(rows: Index, most: int, rng: np.random.Generator) -> Index:
    """At most so many rows, at random."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _losses(
    ballots: Ballots,
    drawn: Split,
    fitted: PanelModel,
    names: Sequence[str],
    arms: _Arms,
    rng: np.random.Generator,
) -> Losses:
    """NLL of evaluation rows under every arm, by the panel's own rule and by the fallback."""
    most = max(_CELLS // len(arms.absent), 50)
    rows = _some(drawn.evaluation, most, rng)
    shared = _some(np.arange(ballots.n_items), most, _stream(0, FOLDS))
    scored = np.concatenate([rows, shared])
    place = {name: column for column, name in enumerate(fitted.judges)}
    columns = np.array([names.index(name) for name in fitted.judges])
    votes = _unsigned(ballots.votes[np.ix_(scored, columns)])
    absent = [[place[names[j]] for j in positions] for positions in arms.absent]
    right = ballots.signs[scored] > 0
    own = replace(fitted, fallback=None)
    main = _nll(scores_without(own, votes, absent), right)
    other, missing = main, np.zeros_like(main)
    if fitted.fallback is not None:
        p, missing = fallback_without(fitted.fallback, own, votes, absent)
        other = _nll(p, right)
    n = len(rows)
    return Losses(
        rows=rows,
        shared=shared,
        owner=arms.owner,
        new=Scored(main[:, :n], other[:, :n], missing[:, :n]),
        common=Scored(main[:, n:], other[:, n:], missing[:, n:]),
        n_calibration=len(drawn.calibration),
    )


def _nll(p: Floats, right: Bools) -> Floats:
    return np.asarray(-np.log(np.where(right, p, 1.0 - p)))


def _figures(
    prepared: Prepared,
    ballots: Ballots,
    model: PanelModel,
    names: list[str],
    groups: tuple[JudgeGroup, ...],
    measured: tuple[list[Losses], list[Losses]],
    seed: int,
) -> Absence:
    alone, together = measured
    limits = threshold(together, ballots.units, seed)
    singles, nobody = _of_arms(alone, limits.cross, ballots.units, [1] * len(names), len(names))
    sizes = [len(group.judges) for group in groups] + numbers_absent(len(names))
    others, _ = _of_arms(together, limits.cross, ballots.units, sizes, len(names))
    at = {name: j for j, name in enumerate(model.judges)}
    fallback = None
    if limits.beyond < NEVER:
        fallback = _fallback(ballots, names, groups, _stream(seed, FOLDS))
    if fallback is not None:
        order = np.array([names.index(name) for name in model.judges])
        fallback = in_order(fallback, order, limits.beyond)
    by_name = dict(zip(names, singles, strict=True))
    return Absence(
        judges=model.judges,
        nll=nobody,
        single=tuple(by_name[name] for name in model.judges),
        groups=tuple(
            GroupAbsence(
                group.kind, group.name, tuple(sorted(at[name] for name in group.judges)), found
            )
            for group, found in zip(groups, others, strict=False)
        ),
        several=tuple(others[len(groups) :]),
        fallback=fallback,
        n_calibration=float(np.mean([one.n_calibration for one in alone])),
        n_evaluation=float(np.mean([len(one.rows) for one in alone])),
        n_splits=len(alone),
    )


def _of_arms(
    losses: list[Losses],
    limits: Floats,
    units: Index,
    sizes: Sequence[int],
    n_judges: int,
) -> tuple[list[AbsenceFigures], float]:
    """Figures of every absence, and the NLL with nobody absent; ``limits`` (n_items,)."""
    n_figures = int(losses[0].owner[-1]) + 1
    sums, mains = np.zeros((2, n_figures, len(limits)))
    times = np.zeros(len(limits))
    of_panels, draws = [], []
    for one in losses:
        nll = one.new.under(limits[one.rows])
        sums[:, one.rows] += one.averaged(nll)
        mains[:, one.rows] += one.averaged(one.new.main)
        times[one.rows] += 1
        common = one.common.under(limits[one.shared])
        of_panels.append(one.averaged(common - common[0]).mean(axis=1))
        draws.append(one.between_draws(nll - nll[0]))
    seen = times > 0
    items, mains = sums[:, seen] / times[seen], mains[:, seen] / times[seen]
    rises = items[1:] - items[0]
    spread = _Spread.of(
        rises,
        np.array(of_panels)[:, 1:],
        units[seen],
        draws=np.mean(draws, axis=0)[1:],
        n_draws=np.bincount(losses[0].owner)[1:] * len(losses),
    )
    value = rises.mean(axis=1)
    found = [
        AbsenceFigures(
            n_absent=size,
            share=size / n_judges,
            nll=float(items[arm + 1].mean()),
            delta=float(value[arm]),
            lo=float(value[arm] - spread.reach[arm]),
            hi=float(value[arm] + spread.reach[arm]),
            df=float(spread.df[arm]),
            item_sd=float(spread.item_sd[arm]),
            main_nll=float(mains[arm + 1].mean()),
        )
        for arm, size in enumerate(sizes)
    ]
    return found, float(items[0].mean())


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """What makes a rise uncertain, (n,) each: 95 % ``reach`` on ever so many new items, degrees of
    freedom, and the standard deviation of the rise of a single item.
    """

    reach: Floats
    df: Floats
    item_sd: Floats

    @classmethod
    def of(
        cls, rises: Floats, of_panels: Floats, units: Index, *, draws: Floats, n_draws: Index
    ) -> _Spread:
        """From ``rises`` (n, n_items) of new items, and ``of_panels`` (n_folds, n), the mean rises
        that the panels of all folds have on the same items.

        The latter differ by the labels alone that panels were fitted to. Two panels of K folds
        share K - 2 of K - 1 parts of their labels, so that the variance between panels of labels
        of their own is K - 1 times that between these. The panel that scores new items is one more
        draw of its labels. Judges that are absent at random are one draw of such judges: ``draws``
        is the variance of one, and ``n_draws`` of them were averaged.
        """
        n_folds, n_items = of_panels.shape[0], rises.shape[1]
        v = sampling_variance(rises, units)
        labels = (n_folds - 1) * of_panels.var(axis=0, ddof=1)
        known = v + draws / n_draws
        unknown = labels + draws
        total = known + unknown
        df_items, df_folds = max(len(np.unique(units)) - 1, 1), max(n_folds - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            df = total**2 / (known**2 / df_items + unknown**2 / df_folds)
        df = np.where(np.isfinite(df), np.minimum(df, df_items), df_items)
        quantile = stats.t.ppf(0.5 + LEVEL / 2.0, df)
        return cls(np.asarray(quantile * np.sqrt(total)), df, np.sqrt(v * n_items))


def scores_without(model: PanelModel, votes: Votes, absent: list[list[int]]) -> Floats:
    """P(label = 1), (n_arms, n_items), of votes (n_items, n_judges) in panel order, with the judges
    at the positions of each arm absent; as ``model.score`` of votes set missing, up to rounding.
    """
    found = np.empty((len(absent), len(votes)))
    likeness = _Likeness.of(model, votes) if isinstance(model.rule, JointSum) else None
    for arm, positions in enumerate(absent):
        cast = votes.copy()
        cast[:, positions] = MISSING
        if likeness is None:
            found[arm] = model.score(cast)
            continue
        logits = likeness.linear(positions) + likeness.without(positions)
        empty = (cast == MISSING).all(axis=1)
        found[arm] = np.where(empty, model.prior, model.probabilities(logits))
    return found


def fallback_without(
    fallback: Fallback, model: PanelModel, votes: Votes, absent: list[list[int]]
) -> tuple[Floats, Floats]:
    """P(label = 1) by the fallback alone, and the share of its weight that is missing, each
    (n_arms, n_items); arms as in :func:`scores_without`, up to rounding.
    """
    weights = np.array(fallback.weights)
    signs = np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)
    there = np.ones((len(weights), len(absent)))
    for arm, positions in enumerate(absent):
        there[positions, arm] = 0.0
    present = ((np.abs(weights) * np.abs(signs)) @ there / np.abs(weights).sum()).T
    logits = ((weights * signs) @ there).T / fallback.temperature(present)
    p = np.clip(sigmoid(logits), CLIP, 1.0 - CLIP)
    empty = (np.abs(signs) @ there == 0.0).T
    return np.where(empty, model.prior, p), 1.0 - present


@dataclass(frozen=True, slots=True, eq=False)
class _Likeness:
    """A joint rule whose sums are made once, so that a judge's part can be taken away again."""

    rule: JointSum
    signs: Floats
    past: Floats
    alike: Floats
    total: Floats

    @classmethod
    def of(cls, model: PanelModel, votes: Votes) -> _Likeness:
        rule = model.rule
        if not isinstance(rule, JointSum):
            raise TypeError("only a joint rule compares items with past ones")
        signs = np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)
        signs_of = {"1": 1.0, "0": -1.0, ".": 0.0}
        rows = [[signs_of[mark] for mark in row] for row in rule.prototypes]
        past = np.array(rows).reshape(-1, votes.shape[1]) * np.array(rule.shares)
        total = signs @ np.array(rule.weights) + rule.intercept
        return cls(rule, signs, past, signs @ past.T, total)

    def linear(self, positions: list[int]) -> Floats:
        weights = np.array(self.rule.weights)[positions]
        return np.asarray(self.total - self.signs[:, positions] @ weights)

    def without(self, positions: list[int]) -> Floats:
        d = self.alike - self.signs[:, positions] @ self.past[:, positions].T
        square = d * d
        return np.asarray((0.5 * d * square * (1.0 + square)) @ np.array(self.rule.pull))


def _of_judges(prepared: Prepared, names: list[str]) -> Ballots:
    place = {name: column for column, name in enumerate(prepared.judges)}
    columns = [place[name] for name in names]
    whole = prepared.ballots
    others = whole.unlabelled
    return Ballots(
        votes=whole.votes[:, columns],
        signs=whole.signs,
        units=whole.units,
        symmetric=whole.symmetric,
        unlabelled=None if others is None else others[:, columns],
    )


def _of_rows(ballots: Ballots, rows: Index) -> Ballots:
    return Ballots(
        votes=ballots.votes[rows],
        signs=ballots.signs[rows],
        units=np.unique(ballots.units[rows], return_inverse=True)[1].astype(np.int64),
        symmetric=ballots.symmetric,
        unlabelled=ballots.unlabelled,
    )


def _unsigned(signs: Votes) -> Votes:
    return np.where(signs == 0, MISSING, (signs + 1) // 2).astype(np.int8)
