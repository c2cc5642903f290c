"""What a panel loses when its judges are absent: their votes missing, nothing refitted.

The judges of the panel are kept as they are and their pipeline is fitted on the calibration rows
of the first ``SPLITS`` splits. Evaluation rows are then scored with all votes, without each judge
in turn, and without random shares of the judges (``DRAWS`` draws a split). The judges themselves
were chosen on all labels, so that the NLL here may flatter; what is used is the difference to the
same panel with nobody absent, item by item.

Cost: ``SPLITS`` fits of one panel, and about ``_CELLS`` rows a split to score, whatever the number
of judges: fewer evaluation rows are used where there are many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.models.panel import PanelModel, fit_panel
from judgepanel.models.rules import JointSum
from judgepanel.scoring.inference import estimate
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes import MISSING

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Index = NDArray[np.int64]
Votes = NDArray[np.int8]

SPLITS = 5
DRAWS = 10
SHARES = (0.1, 0.25, 0.5)
_CELLS = 30_000
_STREAM = 61


@dataclass(frozen=True, slots=True)
class AbsenceFigures:
    """``n_absent`` judges (a ``share`` of the panel) absent: mean NLL, and how much it rose.

    ``delta`` = NLL - NLL with nobody absent, [``lo``, ``hi``] its 95 % interval on new items.
    """

    n_absent: int
    share: float
    nll: float
    delta: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Absence:
    """``single`` is each of the ``judges`` absent alone, in panel order; ``several`` are shares of
    them, ascending; ``nll`` is the mean NLL with nobody absent.
    """

    judges: tuple[str, ...]
    nll: float
    single: tuple[AbsenceFigures, ...]
    several: tuple[AbsenceFigures, ...]
    n_calibration: float
    n_evaluation: float
    n_splits: int


def measure_absence(prepared: Prepared, settings: Settings, model: PanelModel) -> Absence | None:
    """Measure the loss for a panel that is fitted on ``prepared``; None for a single judge."""
    if len(model.judges) < 2:
        return None
    ballots = _of_judges(prepared, sorted(model.judges))
    n_items, n_judges = ballots.n_items, len(model.judges)
    counts = _counts(n_judges)
    n_arms = 1 + n_judges + len(counts)
    sums, times = np.zeros((n_arms, n_items)), np.zeros(n_items)
    means, redrawn, sizes = [], [], []
    for number in range(min(SPLITS, settings.splits)):
        drawn = split(ballots.units, number, fraction=settings.fraction, seed=settings.seed)
        rng = np.random.default_rng(
            np.random.SeedSequence(settings.seed, spawn_key=(number, _STREAM))
        )
        rows = _some(drawn.evaluation, n_judges + DRAWS * len(counts), rng)
        nll, own = _losses(ballots, drawn, rows, model, tuple(sorted(model.judges)), counts, rng)
        sums[:, rows] += nll
        times[rows] += 1
        means.append(nll.mean(axis=1))
        redrawn.append(own)
        sizes.append((len(drawn.calibration), len(drawn.evaluation), len(rows)))
    return _figures(
        model,
        counts,
        sums,
        times,
        np.array(means),
        np.array(redrawn),
        np.array(sizes),
        ballots.units,
    )


def _figures(
    model: PanelModel,
    counts: list[int],
    sums: Floats,
    times: Floats,
    means: Floats,
    redrawn: Floats,
    sizes: Index,
    units: Index,
) -> Absence:
    seen = times > 0
    items = sums[:, seen] / times[seen]
    n_calibration, n_others, n_evaluation = sizes.mean(axis=0)
    rose = estimate(
        items[1:] - items[0],
        means[:, 1:] - means[:, :1],
        units[seen],
        n_calibration,
        n_evaluation,
        n_others=n_others,
        redrawn=redrawn.mean(axis=0),
        joint=False,
    )
    n_judges = len(model.judges)
    figures = [
        AbsenceFigures(
            n_absent=n_absent,
            share=n_absent / n_judges,
            nll=float(items[arm + 1].mean()),
            delta=float(rose.value[arm]),
            lo=float(rose.lo[arm]),
            hi=float(rose.hi[arm]),
        )
        for arm, n_absent in enumerate([1] * n_judges + counts)
    ]
    by_name = dict(zip(sorted(model.judges), figures[:n_judges], strict=True))
    return Absence(
        judges=model.judges,
        nll=float(items[0].mean()),
        single=tuple(by_name[name] for name in model.judges),
        several=tuple(figures[n_judges:]),
        n_calibration=float(n_calibration),
        n_evaluation=float(n_evaluation),
        n_splits=len(means),
    )


def _counts(n_judges: int) -> list[int]:
    """How many judges the shares are, each number once; somebody is absent, and somebody there."""
    found = {min(max(1, round(share * n_judges)), n_judges - 1) for share in SHARES}
    return sorted(found)


def _some(rows: Index, n_arms: int, rng: np.random.Generator) -> Index:
    """At most as many evaluation rows as ``_CELLS`` allows, at random."""
    most = max(_CELLS // n_arms, 50)
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _losses(
    ballots: Ballots,
    drawn: Split,
    rows: Index,
    model: PanelModel,
    names: tuple[str, ...],
    counts: list[int],
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """NLL (n_arms, n_rows): nobody absent, each judge by name, each number of judges; and the
    variance of each mean but the first, (n_arms - 1,), that the draw of absent judges makes.
    """
    fitted = fit_panel(
        _of_rows(ballots, drawn.calibration),
        names,
        len(names),
        aggregator=model.aggregator,
        calibrator=model.calibrator,
    )
    place = {name: column for column, name in enumerate(fitted.judges)}
    columns = [names.index(name) for name in fitted.judges]
    votes = _unsigned(ballots.votes[np.ix_(rows, np.array(columns))])
    absent = [[], *([place[name]] for name in names)]
    for n_absent in counts:
        absent += [rng.permutation(len(names))[:n_absent].tolist() for _ in range(DRAWS)]
    right = (ballots.signs[rows] + 1) // 2
    p = scores_without(fitted, votes, absent)
    nll = -np.log(np.where(right == 1, p, 1.0 - p))
    alone = 1 + len(names)
    draws = nll[alone:].reshape(len(counts), DRAWS, len(rows))
    spread = draws.mean(axis=-1).var(axis=-1, ddof=1) / DRAWS
    together = np.concatenate([nll[:alone], draws.mean(axis=1)])
    return together, np.concatenate([np.zeros(len(names)), spread])


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
